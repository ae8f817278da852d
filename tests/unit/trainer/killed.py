"""A run to kill: `python killed.py FOLDER DEVICE`; what it prints at its end is a digest of all weights and states.

Dropout, momentum, shuffling, augmentation, accumulation, a schedule and validation, so that whatever is not resumed
shows.
"""

import hashlib
import sys

import polyad as torch
from polyad.trainer import LightningModule, ModelCheckpoint, Trainer
from polyad.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        x = torch.full((6,), index / 40) + 0.1 * torch.rand(6)
        return x, x.sum().reshape(1)


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        )

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = (self.layers(x) - y).square().mean()
        self.log("loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", (self.layers(x) - y).square().mean())

    def on_train_batch_end(self, outputs, batch, batch_idx):
        print("step", self.global_step, flush=True)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": "val_loss"}}


def digest(module, trainer):
    """All numbers of a run, as text."""
    found = hashlib.sha256()
    for value in [*module.state_dict().values(), *(
        value for state in trainer.optimizers[0].state_dict()["state"].values() for value in state.values()
    )]:  # fmt: skip
        found.update(value.cpu().numpy().tobytes())
    found.update(repr((trainer.global_step, trainer.optimizers[0].param_groups[0]["lr"])).encode())
    found.update(torch.get_rng_state().numpy().tobytes())
    found.update(repr(sorted((n, float(v)) for n, v in trainer.callback_metrics.items())).encode())
    return found.hexdigest()


def run(folder, device, epochs=4):
    """Train, from the last checkpoint in *folder* where there is one."""
    torch.manual_seed(0)
    module = Model()
    trainer = Trainer(
        max_epochs=epochs, accelerator=device, accumulate_grad_batches=2, gradient_clip_val=1.0, enable_progress_bar=False,
        callbacks=ModelCheckpoint(folder, monitor="val_loss", every_n_train_steps=1), val_check_interval=3,
    )  # fmt: skip
    trainer.fit(module, DataLoader(Noisy(), 4, shuffle=True), DataLoader(Noisy(), 10), ckpt_path="last")
    return module, trainer


if __name__ == "__main__":
    print("digest", digest(*run(*sys.argv[1:3])))
