"""Runs that are not the plain one: data without length, LBFGS, accumulation that is cut, several validation loaders."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import polyad
import polyad as torch
from polyad.errors import ArgumentError
from polyad.metrics import MeanAbsoluteError
from polyad.trackers import CSVTracker, Tracker, read_csv
from polyad.trainer import Callback, LightningModule, ModelCheckpoint, Trainer
from polyad.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

X = torch.linspace(-1, 1, 40).reshape(20, 2)
Y = X.sum(1, keepdim=True) + X[:, :1].square()


class Line(LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layer(x), y)
        self.log("loss", loss, on_step=True, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


class Endless(IterableDataset):
    """The same samples as the data with a length, which do not say how many they are."""

    def __iter__(self):
        return iter(zip(X, Y, strict=True))


class Nameless:
    """Batches without a length, and without a state."""

    def __iter__(self):
        return iter(data())


def data(batch_size=4, **options):
    return DataLoader(TensorDataset(X, Y), batch_size=batch_size, **options)


def quiet(**options):
    return Trainer(**{"enable_progress_bar": False, "enable_checkpointing": False, "max_epochs": 2, **options})


def same(one, other):
    return all(
        bool((a == b).all()) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    )


class Saved(Callback):
    """Saves after a batch, counted from 1, in the first epoch."""

    def __init__(self, path, after):
        self.path, self.after = path, after

    def on_safe_point(self, trainer, pl_module):
        if trainer.current_epoch == 0 and trainer.batches_done == self.after and not os.path.exists(self.path):
            trainer.save_checkpoint(self.path)


# -------------------------------------------------------------------------------------------------- data without length


@pytest.mark.parametrize("accumulate", [1, 2, 3])
@pytest.mark.parametrize("make", [lambda: DataLoader(Endless(), batch_size=4), Nameless])
def test_data_without_length_are_learned_as_data_with_one(make, accumulate):
    one, other = Line(), Line()
    with_length, without = (quiet(accumulate_grad_batches=accumulate) for _ in range(2))
    with_length.fit(one, data())
    without.fit(other, make())
    assert same(one, other)
    assert with_length.global_step == without.global_step
    assert with_length.callback_metrics["loss_epoch"] == without.callback_metrics["loss_epoch"]


def test_a_limit_is_kept_on_data_without_length_and_may_be_more_than_there_is():
    one, other, third = Line(), Line(), Line()
    quiet(limit_train_batches=3, accumulate_grad_batches=2).fit(one, Nameless())
    quiet(limit_train_batches=3, accumulate_grad_batches=2).fit(other, data())
    assert same(one, other)
    trainer = quiet(limit_train_batches=100, accumulate_grad_batches=2)
    trainer.fit(third, Nameless())
    assert trainer.global_step == 6


@pytest.mark.parametrize("after", [1, 3, 5])
@pytest.mark.parametrize("make", [lambda: DataLoader(Endless(), batch_size=4), Nameless])
def test_data_without_length_are_resumed_in_an_epoch(tmp_path, make, after):
    whole, resumed = Line(), Line()
    options = {"accumulate_grad_batches": 2}
    quiet(callbacks=Saved(tmp_path / "a.polyad", after), **options).fit(whole, make())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        quiet(**options).fit(resumed, make(), ckpt_path=tmp_path / "a.polyad")
    assert same(whole, resumed)
    assert len([one for one in told if "passed over" in str(one.message)]) == (make is Nameless)


def test_data_that_are_read_once_are_told_of():
    trainer = quiet(max_epochs=4)
    with pytest.warns(UserWarning, match="epoch 2 had no batches") as told:
        trainer.fit(Line(), iter(data()))
    assert trainer.global_step == 5
    assert len([one for one in told if "no batches" in str(one.message)]) == 1


def test_shares_of_what_has_no_length_are_refused():
    for options in ({"limit_train_batches": 0.5}, {"val_check_interval": 0.5}):
        with pytest.raises(ArgumentError, match="without length"):
            quiet(**options).fit(Line(), Nameless())


# ---------------------------------------------------------------------------------------------------------------- LBFGS


class Newton(Line):
    def configure_optimizers(self):
        return torch.optim.LBFGS(self.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")


@pytest.mark.parametrize("clip", [None, 0.1])
def test_lbfgs_is_the_loop_written_out(clip):
    module, trainer = Newton(), quiet(gradient_clip_val=clip)
    trainer.fit(module, data())
    bare = Newton()
    optimizer = bare.configure_optimizers()
    for _ in range(2):
        for x, y in data():

            def closure(x=x, y=y):
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(bare.layer(x), y)
                loss.backward()
                if clip:
                    torch.nn.utils.clip_grad_norm_(bare.parameters(), clip)
                return loss

            optimizer.step(closure)
    assert same(module, bare)
    assert trainer.global_step == 10


def test_lbfgs_is_resumed_in_an_epoch(tmp_path):
    whole, resumed = Newton(), Newton()
    quiet(callbacks=Saved(tmp_path / "a.polyad", 3)).fit(whole, data())
    quiet().fit(resumed, data(), ckpt_path=tmp_path / "a.polyad")
    assert same(whole, resumed)


def test_lbfgs_does_not_accumulate():
    """It computes the gradient of a step several times: those of the batches before would be in none but the first."""
    with pytest.raises(ArgumentError, match="LBFGS"):
        quiet(accumulate_grad_batches=2).fit(Newton(), data())


def test_a_batch_that_is_passed_over_is_no_step_of_lbfgs():
    class Choosy(Newton):
        def training_step(self, batch, batch_idx):
            return None if batch_idx == 1 else super().training_step(batch, batch_idx)

    trainer = quiet()
    trainer.fit(Choosy(), data())
    assert trainer.global_step == 8


# -------------------------------------------------------------------------------------------------- accumulation is cut


@pytest.mark.parametrize("precision", ["32-true", "16-mixed"])
@pytest.mark.parametrize("after", [1, 2, 4, 5])
def test_a_checkpoint_in_the_middle_of_accumulation_is_exact(tmp_path, after, precision):
    options = {"accumulate_grad_batches": 3, "precision": precision}
    whole, resumed = Line(), Line()
    trainer = quiet(callbacks=Saved(tmp_path / "a.polyad", after), **options)
    trainer.fit(whole, data(shuffle=True))
    again = quiet(**options)
    torch.manual_seed(99)
    again.fit(resumed, data(shuffle=True), ckpt_path=tmp_path / "a.polyad")
    assert same(whole, resumed)
    assert trainer.global_step == again.global_step == 4
    assert trainer.callback_metrics == again.callback_metrics


@pytest.mark.parametrize("passed_over", [2, 4])
def test_gradients_of_an_epoch_do_not_reach_the_next(passed_over):
    class Choosy(Line):
        def training_step(self, batch, batch_idx):
            return None if batch_idx == passed_over else super().training_step(batch, batch_idx)

    module, trainer = Choosy(), quiet(accumulate_grad_batches=3)
    trainer.fit(module, data())
    bare = Line()
    optimizer = bare.configure_optimizers()
    for _ in range(2):
        optimizer.zero_grad()
        pending = 0
        for number, (x, y) in enumerate(data()):
            if number != passed_over:
                (torch.nn.functional.mse_loss(bare.layer(x), y) / 3).backward()
                pending += 1
            if pending == 3 or (number == 4 and pending):
                optimizer.step()
                optimizer.zero_grad()
                pending = 0
    assert same(module, bare)
    assert trainer.global_step == 4


# ------------------------------------------------------------------------------------------- several validation loaders


class Judged(Line):
    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        x, y = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self.layer(x), y))
        self.log("both", float(dataloader_idx), add_dataloader_idx=False)

    def on_validation_epoch_end(self):
        self.log("end", 1.0)

    test_step = validation_step


def loaders():
    return [
        DataLoader(TensorDataset(X[:8], Y[:8]), batch_size=4),
        DataLoader(TensorDataset(X[8:], Y[8:]), batch_size=4),
    ]


def losses(module):
    return [
        torch.nn.functional.mse_loss(module.layer(x), y).item() for x, y in ((X[:8], Y[:8]), (X[8:], Y[8:]))
    ]  # fmt: skip


def test_each_validation_loader_has_values_of_its_own(tmp_path):
    module, saver = Judged(), ModelCheckpoint(tmp_path, monitor="val_loss/dataloader_idx_1")
    trainer = quiet(callbacks=saver, max_epochs=1)
    trainer.fit(module, data(), loaders())
    found = {name: value for name, value in trainer.callback_metrics.items() if "loss" not in name.split("/")[0][:4]}
    assert set(found) == {"val_loss/dataloader_idx_0", "val_loss/dataloader_idx_1", "both", "end"}
    assert [found[f"val_loss/dataloader_idx_{n}"] for n in (0, 1)] == pytest.approx(losses(module), rel=1e-6)
    assert found["both"] == pytest.approx(0.6)  # weighed by samples
    assert saver.best_model_score == found["val_loss/dataloader_idx_1"]


@pytest.mark.parametrize("doing", ["validate", "test"])
def test_values_come_as_a_dict_for_each_loader(doing):
    module = Judged()
    first, second = getattr(quiet(), doing)(module, loaders(), verbose=False)
    assert set(first) - set(second) == {"val_loss/dataloader_idx_0"}
    assert set(second) - set(first) == {"val_loss/dataloader_idx_1"}
    assert "both" in first
    (alone,) = getattr(quiet(), doing)(module, loaders()[:1], verbose=False)
    assert "val_loss" in alone


def test_a_plain_model_is_measured_on_each_loader():
    model = torch.nn.Linear(2, 1)
    trainer = Trainer(
        model, torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.MSELoss(), metrics={"error": MeanAbsoluteError()},
        max_epochs=1, enable_progress_bar=False, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(data(), loaders())
    expected = [(model(x) - y).abs().mean().item() for x, y in ((X[:8], Y[:8]), (X[8:], Y[8:]))]
    found = [trainer.callback_metrics[f"val_error/dataloader_idx_{number}"] for number in (0, 1)]
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_step_that_takes_no_loaders_number_is_told_of():
    class Short(Judged):
        def validation_step(self, batch, batch_idx):
            pass

    with pytest.raises(ArgumentError, match="validation_step takes no dataloader_idx, and there are 2 loaders"):
        quiet().fit(Short(), data(), loaders())


def test_predictions_of_each_loader():
    class Named(Line):
        def forward(self, x):
            return self.layer(x)

    first, second = quiet(limit_predict_batches=2).predict(Named(), loaders())
    assert [len(first), len(second)] == [2, 2]


# ----------------------------------------------------------------------------------------------------- overfit, resumed


class Noisy(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return X[index] + 0.1 * torch.rand(2), Y[index]


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("after", [1, 2])
def test_overfitting_is_resumed_with_the_same_batches(tmp_path, generator, after):
    def loader():
        own = torch.Generator().manual_seed(3) if generator else None
        return DataLoader(Noisy(), 4, shuffle=True, generator=own)

    whole, resumed = Line(), Line()
    torch.manual_seed(5)
    quiet(overfit_batches=2, callbacks=Saved(tmp_path / "a.polyad", after)).fit(whole, loader())
    torch.manual_seed(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet(overfit_batches=2).fit(resumed, loader(), ckpt_path=tmp_path / "a.polyad")
    assert same(whole, resumed)


# --------------------------------------------------------------------------------------------------- trackers of a run


@pytest.mark.parametrize("after", [1, 2, 5])
def test_rows_of_steps_that_are_done_again_are_there_once(tmp_path, after):
    """The checkpoint is saved, the run goes on for a while and is stopped; then it goes on from the checkpoint."""

    def run(path, folder, callbacks=(), **options):
        quiet(logger=CSVTracker(folder), log_every_n_steps=1, callbacks=list(callbacks), **options).fit(
            Judged(), data(), data(), ckpt_path=path
        )

    run(None, tmp_path / "whole")
    path = tmp_path / "a.polyad"
    run(None, tmp_path / "parts", [Saved(path, after)], max_steps=8)
    run(path, tmp_path / "parts")
    assert read_csv(tmp_path / "parts" / "metrics.csv") == read_csv(tmp_path / "whole" / "metrics.csv")


def test_a_checkpoint_from_before_trackers_had_states_is_gone_on_with(tmp_path):
    trainer = quiet(max_epochs=1)
    trainer.fit(Line(), data())
    saved = trainer.checkpoint()
    del saved["trackers"]
    polyad.save(saved, tmp_path / "old.polyad")
    again = quiet(logger=CSVTracker(tmp_path))
    again.fit(Line(), data(), ckpt_path=tmp_path / "old.polyad")
    assert again.global_step == 10


class Ended(Tracker):
    def __init__(self):
        self.statuses = []

    def finalize(self, status="success"):
        self.statuses.append(status)


def test_a_tracker_is_told_how_the_run_ended():
    class Broken(Line):
        def on_train_batch_end(self, outputs, batch, batch_idx):
            raise ValueError("no")

    tracker = Ended()
    quiet(logger=tracker).fit(Line(), data())
    with pytest.raises(ValueError, match="no"):
        quiet(logger=tracker).fit(Broken(), data())
    assert tracker.statuses == ["success", "failed"]


# ---------------------------------------------------------------------------------------------------------- a full disk

FULL = """
import os, sys, warnings
import polyad as torch
from polyad.trackers import CSVTracker
from polyad.trainer import ModelCheckpoint, Trainer
from polyad.utils.data import DataLoader, TensorDataset

folder = sys.argv[1]
filler = os.path.join(folder, "filler")


class Filled(torch.nn.Linear):
    calls = 0

    def forward(self, x):
        Filled.calls += 1
        if Filled.calls == 6:  # the disk fills up in the second epoch
            with open(filler, "wb", buffering=0) as stream:
                try:
                    while True:
                        stream.write(bytes(4096))
                except OSError:
                    pass
        if Filled.calls == 14:  # and somebody makes room in the fourth
            os.remove(filler)
        trainer.logger.log_text("filled", "x" * 5000, step=Filled.calls)
        return super().forward(x)


x = torch.linspace(-1, 1, 2048).reshape(4, 512)
model = Filled(512, 100)
saver = ModelCheckpoint(folder + "/run")
trainer = Trainer(
    model, torch.optim.SGD(model.parameters(), lr=0.01), torch.nn.MSELoss(), max_epochs=5, callbacks=saver,
    logger=CSVTracker(folder + "/run"), log_every_n_steps=1, enable_progress_bar=False, num_sanity_val_steps=0,
)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    trainer.fit(DataLoader(TensorDataset(x, x[:, :100]), batch_size=1))
for one in told:
    print("told", one.message)
print("steps", trainer.global_step, saver.manager(trainer).steps(), sorted(os.listdir(folder + "/run")))
torch.load(saver.last_model_path)
"""


def test_a_disk_that_is_full_for_a_while(tmp_path):
    """On a file system of two megabytes, where the system lets users mount one."""
    mount = f'mount -t tmpfs -o size=2m none "{tmp_path}" && exec "$@"'
    space = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh"]
    try:
        tried = subprocess.run([*space, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if tried.returncode:
        pytest.skip("mounting is not allowed here")
    done = subprocess.run(
        [*space, sys.executable, "-P", "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, cwd=Path(__file__).parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("told")]
    assert len([line for line in told if "could not be saved, training goes on without it" in line]) == 1
    assert len([line for line in told if "CSVTracker failed" in line]) == 1
    assert len(told) == 2, told
    assert "steps 20 [20]" in done.stdout
    assert ".part" not in done.stdout


# ------------------------------------------------------------------------------------------------- what is logged where


def test_a_metric_of_training_is_computed_once_an_epoch():
    class Measured(Line):
        def __init__(self):
            super().__init__()
            self.error = MeanAbsoluteError()
            self.seen = []

        def training_step(self, batch, batch_idx):
            x, y = batch
            scores = self.layer(x)
            self.seen.append((scores - y).abs().mean().item())
            self.error.update(scores, y)
            self.log("error", self.error, on_epoch=True)
            return super().training_step(batch, batch_idx)

    module, trainer = Measured(), quiet()
    trainer.fit(module, data())
    assert trainer.callback_metrics["error"] == pytest.approx(sum(module.seen[5:]) / 5, rel=1e-5)


def test_hooks_of_an_epoch_may_log():
    class Told(Line):
        def on_train_epoch_start(self):
            self.log("start", float(self.current_epoch))

        def on_train_epoch_end(self):
            self.log("end", 10.0 + self.current_epoch)

        def on_train_batch_start(self, batch, batch_idx):
            self.log("batch", float(batch_idx))

    trainer = quiet()
    trainer.fit(Told(), data())
    found = trainer.callback_metrics
    assert (found["start"], found["end"], found["batch"]) == (1.0, 11.0, 4.0)


@pytest.mark.parametrize("after", [2, 4])
def test_a_metric_of_training_is_resumed_in_an_epoch(tmp_path, after):
    class Measured(Line):
        def __init__(self):
            super().__init__()
            self.errors = {"error": MeanAbsoluteError()}  # no part of the module's state

        def training_step(self, batch, batch_idx):
            x, y = batch
            self.errors["error"].update(self.layer(x), y)
            self.log("error", self.errors["error"], on_epoch=True)
            return super().training_step(batch, batch_idx)

    whole = quiet(max_epochs=1, callbacks=Saved(tmp_path / "a.polyad", after))
    whole.fit(Measured(), data())
    resumed = quiet(max_epochs=1)
    resumed.fit(Measured(), data(), ckpt_path=tmp_path / "a.polyad")
    assert resumed.callback_metrics["error"] == whole.callback_metrics["error"]
