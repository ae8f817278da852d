"""Lightning: a Trainer that fits, validates, tests, predicts, keeps checkpoints and resumes; Fabric's loop."""

from __future__ import annotations

from typing import Any

import lightning
from lightning.fabric import Fabric
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from ..job import Run, job

PACKAGE = "lightning"


def made(run: Run) -> tuple[Any, Any]:
    """A module and a loader."""
    torch = run.torch

    class Net(lightning.LightningModule):
        def __init__(self, rate: float = 0.05) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

        def loss(self, batch: Any) -> Any:
            return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.loss(batch)
            self.log("loss", loss, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("validated", self.loss(batch))

        def test_step(self, batch: Any, index: int) -> None:
            self.log("tested", self.loss(batch))

        def predict_step(self, batch: Any, index: int) -> Any:
            return self.layers(batch[0])

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.rate)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]

    model = Net()
    run.same(model.layers)
    dataset = torch.utils.data.TensorDataset(run.normal(32, 6), run.integers(3, 32))
    return model, torch.utils.data.DataLoader(dataset, batch_size=8)


OPTIONS = {"accelerator": "cpu", "devices": 1, "enable_progress_bar": False, "enable_model_summary": False}


@job("Trainer: fit, validate, test, predict, checkpoint, resume")
def trainer(run: Run) -> None:
    model, loader = made(run)
    folder = str(run.folder)
    kept = ModelCheckpoint(dirpath=folder, monitor="validated", save_last=True, filename="best")
    callbacks = [kept, EarlyStopping("validated"), LearningRateMonitor()]
    options = {**OPTIONS, "default_root_dir": folder, "log_every_n_steps": 1}
    first = lightning.Trainer(
        max_epochs=2, callbacks=callbacks, logger=CSVLogger(folder), gradient_clip_val=1.0, **options
    )
    first.fit(model, loader, loader)
    run.record("validated", first.validate(model, loader, verbose=False)[0], depth=8)
    run.record("tested", first.test(model, loader, verbose=False)[0], depth=8)
    run.record("predicted", first.predict(model, loader), depth=8)
    run.record("parameters", dict(model.named_parameters()), depth=16)
    loaded = type(model).load_from_checkpoint(f"{folder}/last.ckpt", weights_only=False)
    run.record("loaded", dict(loaded.named_parameters()), depth=16)
    resumed = lightning.Trainer(max_epochs=4, logger=False, enable_checkpointing=False, **options)
    resumed.fit(loaded, loader, loader, ckpt_path=f"{folder}/last.ckpt", weights_only=False)
    run.record("resumed", dict(loaded.named_parameters()), depth=32)
    run.record("steps", resumed.global_step)


@job("Trainer: bfloat16, gradients added up, two batches to try")
def mixed(run: Run) -> None:
    model, loader = made(run)
    options = {**OPTIONS, "logger": False, "enable_checkpointing": False, "default_root_dir": str(run.folder)}
    lightning.Trainer(max_epochs=1, accumulate_grad_batches=2, **options).fit(model, loader)
    run.record("parameters", dict(model.named_parameters()), depth=8)
    precise = lightning.Trainer(max_epochs=1, precision="bf16-mixed", **options)
    precise.fit(model, loader)
    run.record("steps", precise.global_step)
    lightning.Trainer(fast_dev_run=2, **OPTIONS).fit(model, loader, loader)


@job("Fabric: a loop of one's own")
def fabric(run: Run) -> None:
    torch = run.torch
    one = Fabric(accelerator="cpu", devices=1)
    one.launch()
    layer = run.same(torch.nn.Linear(4, 2))
    model, optimizer = one.setup(layer, torch.optim.SGD(layer.parameters(), lr=0.1))
    loader = one.setup_dataloaders(
        torch.utils.data.DataLoader(torch.utils.data.TensorDataset(run.normal(8, 4)), batch_size=4)
    )
    for number, (batch,) in enumerate(loader):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        one.backward(loss)
        optimizer.step()
        run.record(f"loss {number}", loss)
    one.save(run.folder / "state.ckpt", {"model": model, "optimizer": optimizer})
    run.record("parameters", dict(model.named_parameters()))
