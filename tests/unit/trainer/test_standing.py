"""What a trainer says of itself in Lightning's names."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

import polyad as torch
from polyad.trainer import EarlyStopping, LightningModule, ModelCheckpoint, Trainer


class Module(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = {}

    def training_step(self, batch, batch_idx):
        self.seen["training"] = (self.trainer.training, self.trainer.validating, self.trainer.evaluating)
        return self.layer(batch[0]).square().mean()

    def validation_step(self, batch, batch_idx):
        key = "sanity" if self.trainer.sanity_checking else "validating"
        self.seen[key] = (self.trainer.training, self.trainer.validating, self.trainer.evaluating)
        self.log("val_loss", 0.5, prog_bar=True)

    def test_step(self, batch, batch_idx):
        self.seen["testing"] = (self.trainer.testing, self.trainer.num_test_batches)

    def configure_optimizers(self):
        self.seen["steps"] = self.trainer.estimated_stepping_batches
        optimizer = torch.optim.SGD(self.parameters(), lr=0.5)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)]


def loader(batches=5):
    data = torch.utils.data.TensorDataset(torch.ones(2 * batches, 1))
    return torch.utils.data.DataLoader(data, batch_size=2)


def trainer_of(tmp_path, **options):
    defaults = {"max_epochs": 3, "enable_progress_bar": False, "default_root_dir": tmp_path, "lint": False}
    return Trainer(**{**defaults, **options})


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, 15),
        ({"accumulate_grad_batches": 2}, 9),
        ({"max_steps": 4, "max_epochs": -1}, 4),
        ({"max_steps": 7}, 7),
        ({"limit_train_batches": 2}, 6),
        ({"max_epochs": 1, "accumulate_grad_batches": 10}, 1),
    ],
)
def test_estimated_steps_are_those_that_are_taken(tmp_path, options, steps):
    module, trainer = Module(), trainer_of(tmp_path, enable_checkpointing=False, **options)
    trainer.fit(module, loader())
    assert module.seen["steps"] == steps == trainer.global_step


def test_a_run_without_an_end_has_no_number_of_steps(tmp_path):
    trainer = trainer_of(tmp_path, max_epochs=-1, enable_checkpointing=False)
    assert trainer.estimated_stepping_batches == math.inf


def test_what_it_is_doing(tmp_path):
    module, trainer = Module(), trainer_of(tmp_path, max_epochs=1)
    assert not any((trainer.training, trainer.validating, trainer.testing, trainer.predicting))
    trainer.fit(module, loader(), loader(3))
    assert module.seen["training"] == (True, False, False)
    assert module.seen["validating"] == (False, True, True)
    assert module.seen["sanity"] == (False, False, False)
    assert trainer.enable_validation
    assert (trainer.num_val_batches, trainer.num_sanity_val_batches) == ([3], [2])
    assert trainer.progress_bar_metrics == {"val_loss": 0.5}
    trainer.test(module, loader(2), verbose=False)
    assert module.seen["testing"] == (True, [2])
    assert not trainer.testing
    assert len(trainer.test_dataloaders) == 1


def test_what_it_has(tmp_path):
    stop, save = EarlyStopping("val_loss"), ModelCheckpoint(tmp_path / "saved")
    trainer = trainer_of(tmp_path, callbacks=[stop, save], max_epochs=1, logger=False)
    trainer.fit(Module(), loader(), loader())
    assert trainer.is_global_zero
    assert (trainer.world_size, trainer.global_rank, trainer.local_rank, trainer.node_rank) == (1, 0, 0, 0)
    assert (trainer.num_devices, trainer.num_nodes, trainer.device_ids) == (1, 1, [0])
    assert (trainer.early_stopping_callbacks, trainer.checkpoint_callbacks) == ([stop], [save])
    assert trainer.log_dir == str(tmp_path)
    (schedule,) = trainer.lr_schedulers
    assert isinstance(schedule, torch.optim.lr_scheduler.ExponentialLR)
    assert trainer.lr_scheduler_configs[0].interval == "epoch"
    assert trainer.scaler is None


def test_the_folder_of_the_logger(tmp_path):
    class Tracker:
        log_dir = tmp_path / "there"

    assert trainer_of(tmp_path, logger=Tracker()).log_dir == str(tmp_path / "there")


def test_the_line_of_an_epoch_has_the_learning_rate(tmp_path):
    trainer = trainer_of(tmp_path, enable_progress_bar=True, max_epochs=2, enable_checkpointing=False)
    text = io.StringIO()
    trainer.bar.console = Console(file=text, width=200)
    trainer.fit(Module(), loader(), loader())
    lines = text.getvalue().splitlines()
    assert [line for line in lines if "lr 0.5" in line and line.startswith("epoch 1")]
    assert [line for line in lines if "lr 0.05" in line and line.startswith("epoch 2")]
