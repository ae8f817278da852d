"""The trainer against the loop written out, resumed runs, and what goes wrong while a run goes on."""

import os
import signal
import warnings

import pytest

import polyad
import polyad as torch
from fuzz import training
from polyad.errors import ArgumentError, NonFiniteError, SerializationError
from polyad.trainer import (
    Callback,
    EarlyStopping,
    LearningRateMonitor,
    LightningDataModule,
    LightningModule,
    ModelCheckpoint,
    Trainer,
)
from polyad.utils.data import DataLoader, TensorDataset

X = torch.linspace(-1, 1, 24).reshape(12, 2)
Y = X.sum(1, keepdim=True)


def data(batch_size=4):
    return DataLoader(TensorDataset(X, Y), batch_size=batch_size)


def plain(**options):
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"enable_progress_bar": False, "enable_checkpointing": False, **options}
    return model, Trainer(model, optimizer, torch.nn.MSELoss(), **options)


class Line(LightningModule):
    def __init__(self, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self(x), y), prog_bar=True)

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


def quiet(**options):
    return Trainer(**{"enable_progress_bar": False, "enable_checkpointing": False, **options})


def same(one, other):
    return all(
        bool((a == b).all()) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    )


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize(("clip", "algorithm"), [(None, None), (0.05, "norm"), (0.01, "value")])
def test_it_is_the_loop_written_out(accumulate, clip, algorithm):
    model, trainer = plain(
        max_epochs=3, accumulate_grad_batches=accumulate, gradient_clip_val=clip, gradient_clip_algorithm=algorithm
    )
    trainer.fit(data())
    torch.manual_seed(0)
    bare = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(bare.parameters(), lr=0.1)
    steps = 0
    for _ in range(3):
        optimizer.zero_grad()
        for number, (x, y) in enumerate(data()):
            (torch.nn.functional.mse_loss(bare(x), y) / accumulate).backward()
            if (number + 1) % accumulate == 0 or number == 2:
                if algorithm == "norm":
                    torch.nn.utils.clip_grad_norm_(bare.parameters(), clip)
                elif algorithm == "value":
                    torch.nn.utils.clip_grad_value_(bare.parameters(), clip)
                optimizer.step()
                optimizer.zero_grad()
                steps += 1
    assert same(model, bare)
    assert trainer.global_step == steps


@pytest.mark.parametrize("interval", ["step", "epoch"])
def test_schedules_go_by_steps_or_epochs(interval):
    class Scheduled(Line):
        def configure_optimizers(self):
            optimizer = super().configure_optimizers()
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": interval}}

    trainer = quiet(max_epochs=2, callbacks=LearningRateMonitor(), log_every_n_steps=1)
    trainer.fit(Scheduled(), data())
    assert trainer.optimizers[0].param_groups[0]["lr"] == 0.1 * 0.5 ** (2 if interval == "epoch" else 6)


@pytest.mark.parametrize("precision", ["bf16-mixed", "16-mixed", "64-true"])
def test_precisions_learn(precision):
    trainer = quiet(max_epochs=30, precision=precision)
    module = Line()
    trainer.fit(module, data(), data())
    assert trainer.callback_metrics["val_loss"] < 0.05
    assert module.layer.weight.dtype == (torch.float64 if precision == "64-true" else torch.float32)


def test_values_are_means_over_samples_and_modes_are_put_back():
    module = Line()
    module.layer.eval()
    (values,) = quiet().validate(module, data(batch_size=5), verbose=False)
    assert values["val_loss"] == pytest.approx(torch.nn.functional.mse_loss(module(X), Y).item(), rel=1e-6)
    assert module.training
    assert not module.layer.training


def test_predictions_are_collected():
    module = Line()
    found = quiet().predict(module, data())
    assert len(found) == 3
    assert bool((torch.cat(found) == module(X)).all())


def test_a_data_module_gives_the_data():
    class Data(LightningDataModule):
        def setup(self, stage):
            self.stage = stage

        def train_dataloader(self):
            return data()

        def test_dataloader(self):
            return data(3)

    module, trainer, source = Line(), quiet(max_epochs=1), Data()
    trainer.fit(module, datamodule=source)
    assert (trainer.global_step, source.stage) == (3, "fit")
    assert "val_loss" in trainer.test(module, source, verbose=False)[0]
    assert source.stage == "test"


def test_manual_optimization_steps_several_optimizers():
    class Two(LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.one, self.two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

        def training_step(self, batch, batch_idx):
            x, y = batch
            for optimizer, layer in zip(self.optimizers(), (self.one, self.two), strict=True):
                self.toggle_optimizer(optimizer)
                loss = torch.nn.functional.mse_loss(layer(x), y)
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()
                self.untoggle_optimizer(optimizer)

        def configure_optimizers(self):
            return [torch.optim.SGD(layer.parameters(), lr=0.3) for layer in (self.one, self.two)], []

    module, trainer = Two(), quiet(max_epochs=20)
    trainer.fit(module, data())
    assert trainer.global_step == 120
    assert torch.nn.functional.mse_loss(module.two(X), Y).item() < 0.01
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_hooks_come_in_lightnings_order_whatever_their_arguments_are_called():
    seen = []

    class Told(Callback):
        def on_train_start(self, t, m):
            seen.append("train")

        def on_train_epoch_start(self, trainer, *rest):
            seen.append("epoch")

        def on_train_batch_end(self, trainer, module, out, b, i):
            seen.append(f"batch {i}")

        def on_validation_end(self, trainer, pl_module):
            seen.append("validation")

        def on_train_epoch_end(self, trainer, pl_module):
            seen.append("epoch end")

    quiet(max_epochs=1, callbacks=[Told()], num_sanity_val_steps=0).fit(Line(), data(), data())
    assert seen == ["train", "epoch", "batch 0", "batch 1", "batch 2", "validation", "epoch end"]


def test_it_stops_early_and_says_what_is_not_logged():
    trainer = quiet(max_epochs=50, callbacks=EarlyStopping("val_loss", min_delta=10.0, patience=2))
    trainer.fit(Line(), data(), data())
    assert trainer.current_epoch == 3
    with pytest.raises(RuntimeError, match=r"no value is called 'no_such'"):
        quiet(max_epochs=2, callbacks=EarlyStopping("no_such")).fit(Line(), data(), data())


def test_a_run_that_stopped_early_has_nothing_to_go_on_with(tmp_path):
    def run(patience):
        stopping = EarlyStopping("val_loss", min_delta=10.0, patience=patience)
        trainer = quiet(max_epochs=50, callbacks=[stopping, ModelCheckpoint(tmp_path)])
        trainer.fit(Line(), data(), data(), ckpt_path="last")
        return trainer.current_epoch

    assert [run(2), run(2), run(4)] == [3, 3, 5]


def test_max_steps_end_a_run_which_goes_on_exactly(tmp_path):
    def run(steps, folder):
        torch.manual_seed(0)
        module, trainer = Line(), quiet(max_steps=steps, callbacks=ModelCheckpoint(tmp_path / folder))
        trainer.fit(module, DataLoader(TensorDataset(X, Y), batch_size=4, shuffle=True), ckpt_path="last")
        trainer.save_checkpoint(tmp_path / folder / "end.polyad")
        return module, trainer.global_step, trainer.current_epoch

    run(6, "parts")
    (module, *counts), (whole, *others) = run(9, "parts"), run(9, "whole")
    assert counts == others == [9, 3]
    assert same(module, whole)


def test_a_dry_run_does_a_batch_of_everything_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer = Trainer(fast_dev_run=True, logger=True, callbacks=ModelCheckpoint("there"))
    trainer.fit(Line(), data(), data())
    assert trainer.global_step == 1
    assert list(tmp_path.iterdir()) == []


def test_a_batch_is_learned_by_heart():
    _, trainer = plain(max_epochs=300, overfit_batches=1)
    trainer.fit(DataLoader(TensorDataset(X, Y), batch_size=4, shuffle=True))
    assert trainer.global_step == 300
    assert trainer.callback_metrics["loss"] < 1e-3


def test_lint_watches_the_first_steps():
    class Twice(Line):
        def training_step(self, batch, batch_idx):
            return torch.nn.functional.cross_entropy(self(batch[0]).expand(-1, 2).softmax(1), torch.zeros(4).long())

    with pytest.warns(polyad.inspection.linting.LintWarning, match="PL008"):
        quiet(max_epochs=1).fit(Twice(), data())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet(max_epochs=1, lint=False).fit(Twice(), data())


def test_lint_watches_until_it_may_say_never():
    class Idle(Line):
        def __init__(self):
            super().__init__()
            self.idle = torch.nn.Linear(2, 1)

    with pytest.warns(polyad.inspection.linting.LintWarning, match="PL007"):
        quiet(max_epochs=5).fit(Idle(), data())


# ------------------------------------------------------------------------------------------------ stopped and resumed


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The digest of the run that is not stopped."""
    return training.digest(*training.run(tmp_path_factory.mktemp("whole"), "cpu"))


def test_a_run_that_is_killed_ends_as_one_that_is_not(whole):
    assert training.kills(1, "cpu", seed=1, expected=whole) == []


@pytest.fixture
def keyboard():
    """Ctrl-C as in a terminal: programs in the background are started without it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("after", [1, 10, 11, 24])
def test_ctrl_c_saves_and_the_run_goes_on_exactly(tmp_path, after, whole, keyboard):
    class Pressed(training.Model):
        batches = 0

        def training_step(self, batch, batch_idx):
            self.batches += 1
            if self.batches == after:
                os.kill(os.getpid(), signal.SIGINT)
            return super().training_step(batch, batch_idx)

    before, training.Model = training.Model, Pressed
    try:
        _, trainer = training.run(tmp_path / "stopped", "cpu")
    finally:
        training.Model = before
    assert trainer.interrupted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert training.digest(*training.run(tmp_path / "stopped", "cpu")) == whole


@pytest.mark.parametrize(
    ("hook", "after"),
    [
        ("on_sanity_check_start", 1),
        ("on_validation_batch_start", 12),  # in the middle of the validation whose value the schedule takes
        ("on_train_epoch_end", 1),
        ("on_save_checkpoint", 11),
    ],
)
def test_ctrl_c_may_come_at_any_moment(tmp_path, hook, after, whole, keyboard, monkeypatch):
    calls = 0

    def pressed(self, *arguments):
        nonlocal calls
        calls += 1
        if calls == after:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(training.Model, hook, pressed, raising=False)
    _, trainer = training.run(tmp_path, "cpu")
    assert trainer.interrupted
    assert training.digest(*training.run(tmp_path, "cpu")) == whole


def test_a_second_ctrl_c_ends_it_at_once(keyboard):
    class Pressed(Line):
        def training_step(self, batch, batch_idx):
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        quiet(max_epochs=1).fit(Pressed(), data())


def test_the_best_and_the_last_are_kept(tmp_path):
    class Worse(Line):
        def validation_step(self, batch, batch_idx):
            self.log("val_loss", float([3, 1, 2, 4][self.current_epoch]))

    saver = ModelCheckpoint(tmp_path, monitor="val_loss")
    quiet(max_epochs=4, callbacks=saver, enable_checkpointing=True).fit(Worse(lr=0.02), data(), data())
    assert saver.best_model_score == 1.0
    assert saver.best_model_path.endswith("step-00000006.polyad")
    assert saver.last_model_path.endswith("step-00000012.polyad")
    assert Line.load_from_checkpoint(saver.best_model_path).hparams.lr == 0.02


def test_several_of_the_best_are_kept(tmp_path):
    class Worse(Line):
        def validation_step(self, batch, batch_idx):
            self.log("val_loss", float([3, 1, 2, 4, 5][self.current_epoch]))

    saver = ModelCheckpoint(tmp_path, monitor="val_loss", save_top_k=2)
    quiet(max_epochs=5, callbacks=saver, enable_checkpointing=True).fit(Worse(), data(), data())
    assert saver.manager(None).steps() == [6, 9, 15]


# ------------------------------------------------------------------------------------------------------ what goes wrong


def test_a_loss_that_is_nan_stops_before_the_weights_and_names_the_op_and_module(tmp_path):
    class Root(torch.nn.Module):
        def forward(self, x):
            return x.sqrt()

    class Broken(Line):
        def __init__(self):
            super().__init__()
            self.root = Root()

        def training_step(self, batch, batch_idx):
            loss = super().training_step(batch, batch_idx)
            return loss if batch_idx < 2 else self.root(loss - 100)

    module, saver = Broken(), ModelCheckpoint(tmp_path, every_n_train_steps=1)
    with pytest.raises(NonFiniteError, match="the loss of epoch 1, batch 3 is nan") as caught:
        quiet(max_epochs=1, callbacks=saver).fit(module, data())
    assert "sqrt" in str(caught.value)
    assert "root (Root)" in str(caught.value)
    assert "step-00000002.polyad" in str(caught.value)
    assert bool(module.layer.weight.isfinite().all())
    assert same(Broken.load_from_checkpoint(saver.last_model_path), module)


def test_weights_that_are_nan_are_not_saved_over_good_ones(tmp_path):
    class Broken(Line):
        def on_train_batch_end(self, outputs, batch, batch_idx):
            if batch_idx == 1:
                with torch.no_grad():
                    self.layer.bias.fill_(float("nan"))

    saver = ModelCheckpoint(tmp_path, every_n_train_steps=1)
    with pytest.raises(NonFiniteError, match="the weights are NaN or infinite after step 2"):
        quiet(max_epochs=1, callbacks=saver).fit(Broken(), data())
    assert saver.manager(None).steps() == [1]


def test_a_full_disk_is_told_of_and_training_goes_on(tmp_path, monkeypatch):
    saves = []

    def full(*arguments, **options):
        saves.append(1)
        raise OSError(28, "No space left on device")

    saver = ModelCheckpoint(tmp_path)
    trainer = quiet(max_epochs=3, callbacks=saver)
    monkeypatch.setattr(polyad.serialization, "save", full)
    with pytest.warns(UserWarning, match=r"could not be saved.*No space left") as told:
        trainer.fit(Line(), data())
    assert (len(saves), trainer.global_step) == (3, 9)
    assert len([one for one in told if "could not be saved" in str(one.message)]) == 1


def test_a_tracker_that_fails_is_told_of_once():
    class Away:
        calls = 0

        def log_metrics(self, metrics, step=None):
            self.calls += 1
            raise ConnectionError("no server")

        def log_hyperparams(self, params):
            pass

    tracker = Away()
    with pytest.warns(UserWarning, match=r"Away failed, training goes on without it: ConnectionError") as told:
        quiet(max_epochs=3, logger=tracker, log_every_n_steps=1).fit(Line(), data())
    assert tracker.calls == len(told) == 1


def test_values_are_tracked(tmp_path):
    from polyad.trackers import read_csv

    quiet(max_epochs=2, logger=True, default_root_dir=tmp_path, log_every_n_steps=2).fit(Line(), data(), data())
    rows = read_csv(tmp_path / "metrics.csv")
    assert [row["step"] for row in rows if "train_loss" in row] == [2, 4, 6]
    assert [row["step"] for row in rows if "val_loss" in row] == [3, 6]


def test_checkpoints_of_others_are_refused(tmp_path):
    class Other(Line):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

    saver = ModelCheckpoint(tmp_path / "run")
    trainer = quiet(max_epochs=1, callbacks=saver)
    trainer.fit(Line(), data())
    with pytest.raises(SerializationError, match="is a checkpoint of another model"):
        quiet(max_epochs=2).fit(Other(), data(), ckpt_path=saver.last_model_path)
    path = tmp_path / "later.polyad"
    polyad.save({**trainer.checkpoint(), "polyad_trainer": 99}, path)
    with pytest.raises(SerializationError, match="a checkpoint of version 99"):
        quiet(max_epochs=2).fit(Line(), data(), ckpt_path=path)
    with open(saver.last_model_path, "rb") as stream:
        half = stream.read()
    path.write_bytes(half[: len(half) // 2])
    with pytest.raises(SerializationError, match=r"later\.polyad"):
        quiet(max_epochs=2).fit(Line(), data(), ckpt_path=path)
    polyad.save({"weights": X}, path)
    with pytest.raises(SerializationError, match=r"is not a checkpoint of polyad\.trainer"):
        quiet(max_epochs=2).fit(Line(), data(), ckpt_path=path)
    with pytest.raises(SerializationError, match="was made with another precision"):
        quiet(max_epochs=2, precision="16-mixed").fit(Line(), data(), ckpt_path=saver.last_model_path)
    with pytest.raises(FileNotFoundError):
        quiet(max_epochs=2).fit(Line(), data(), ckpt_path=tmp_path / "none.polyad")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"accumulate_grad_batches": 0}, "not a positive int"),
        ({"precision": "8"}, "unknown precision '8'"),
        ({"gradient_clip_algorithm": "sum"}, "unknown gradient_clip_algorithm 'sum'"),
        ({"devices": 4}, "there is one device"),
        ({"strategy": "ddp"}, "strategy='ddp' is not offered"),
        ({"model": torch.nn.Linear(1, 1)}, "go together"),
    ],
)
def test_arguments_that_cannot_be_followed_are_refused(options, says):
    with pytest.raises(ArgumentError, match=says):
        Trainer(**options)


@pytest.mark.parametrize("given", [3, {"optim": 1}, [1, 2], {"optimizer": None, "lr_scheduler": {"interval": "step"}}])
def test_optimizers_in_no_form_are_refused(given):
    class Odd(Line):
        def configure_optimizers(self):
            return given

    with pytest.raises(ArgumentError, match="configure_optimizers"):
        quiet(max_epochs=1).fit(Odd(), data())


def test_compiled():
    """The same weights, by tapes; state dicts know nothing of it."""
    from polyad.compiler.regions import region_of

    found = []
    for compiles in (False, True):
        model, trainer = plain(max_epochs=3, compile=compiles, lint=False)
        trainer.fit(data(), data(6))
        found.append([one.tolist() for one in model.parameters()] + [trainer.callback_metrics["val_loss"]])
    assert found[0] == found[1]
    region = region_of(trainer._plain._model)
    tapes = [tape for one in region.programs.values() for it in one.recordings for tape in it.tapes.values()]
    assert any(getattr(tape, "passage", None) for tape in tapes)
    assert list(trainer._plain.state_dict()) == ["model.weight", "model.bias"]
    with pytest.raises(ArgumentError, match="plain model"):
        Trainer(compile=True)
