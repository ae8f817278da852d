"""Training runs killed at random steps and resumed: `python -m fuzz.training --kills=20 --device=opencl`.

A run is a program of its own, which saves a checkpoint after each step and is killed by SIGKILL. It is started again
until it ends. Its weights, its optimizer's and its generators' states, and what it logged must then be those of a run
that was not killed, bit for bit. It has dropout, momentum, shuffling, augmentation, accumulation, a schedule and
validation in the middle of epochs, so that whatever is not resumed shows.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import signal
import subprocess
import sys
import tempfile

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
            torch.nn.Linear(6, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.Dropout(0.3),
            torch.nn.Tanh(),
            torch.nn.Linear(8, 1),
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
        max_epochs=epochs, accelerator=device, accumulate_grad_batches=2, gradient_clip_val=1.0,
        enable_progress_bar=False,
        callbacks=ModelCheckpoint(folder, monitor="val_loss", every_n_train_steps=1), val_check_interval=3,
    )  # fmt: skip
    trainer.fit(module, DataLoader(Noisy(), 4, shuffle=True), DataLoader(Noisy(), 10), ckpt_path="last")
    return module, trainer


def _program(folder, device, kill_after=None):
    """The digest that a run of its own prints; None where it was killed after so many steps."""
    command = [sys.executable, "-m", "fuzz.training", f"--folder={folder}", f"--device={device}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        steps = 0
        for line in process.stdout:
            if line.startswith("digest"):
                return line
            steps += line.startswith("step")
            if steps == kill_after:
                process.send_signal(signal.SIGKILL)
    if kill_after is None or process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the run ended with {process.returncode}")
    return None


def kills(count, device, seed=0):
    """Kill *count* times, in as many runs as that takes; what was found, in words."""
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        expected = _program(folder, device)
    findings, done = [], 0
    while done < count:
        with tempfile.TemporaryDirectory() as folder:
            after, found = [], None
            while found is None:
                after.append(chosen.randint(1, 25) if done < count else None)
                found = _program(folder, device, after[-1])
                done += found is None
            if found != expected:
                findings.append(f"{device}: killed after {after} batches, it ends elsewhere")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", help="be the run itself")
    options = parser.parse_args()
    if options.folder:
        print("digest", digest(*run(options.folder, options.device)), flush=True)
        return
    findings = kills(options.kills, options.device)
    print(f"{options.kills} kills on {options.device}: {len(findings)} findings", *findings, sep="\n")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
