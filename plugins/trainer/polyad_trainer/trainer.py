"""What a run is told, and the four things it can do: fit, validate, test, predict."""

from __future__ import annotations

import importlib
import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import polyad
from polyad import Tensor
from polyad.arguments import check_choice, check_type
from polyad.errors import ArgumentError

from . import loop, state
from .callbacks import Hooks
from .evaluation import evaluate
from .interrupts import Interrupts
from .module import LightningDataModule, LightningModule
from .optimizers import PRECISIONS, Steps, configured
from .results import Results
from .saving import ModelCheckpoint
from .screen import Bar
from .seeds import random_state, set_random_state
from .standing import Standing

__all__ = ["Trainer"]


NOTHING = nullcontext()


class _Plain(LightningModule):
    """A model, an optimizer and a loss, as a module."""

    def __init__(self, model: Any, optimizer: Any, loss: Any, metrics: Any, compiles: bool) -> None:
        super().__init__()
        self.model, self.loss_function = model, loss
        # Both once more as plain attributes, which are found without asking the module's parts.
        called = polyad.compile(model) if compiles else model
        self.__dict__.update(_given=optimizer, _measured=dict(metrics or {}), _model=called, _loss=loss)

    def forward(self, *inputs: Any) -> Any:
        return self._model(*inputs)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        inputs, targets = batch
        loss = self._loss(self._model(inputs), targets)
        self.log("loss", loss, prog_bar=True, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        self._evaluate(batch, "val")

    def test_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        self._evaluate(batch, "test")

    def _evaluate(self, batch: Any, name: str) -> None:
        inputs, targets = batch
        scores = self._model(inputs)
        self.log(f"{name}_loss", self.loss_function(scores, targets), prog_bar=True)
        for called, metric in self._measured.items():
            metric.update(scores, targets)
            self.log(f"{name}_{called}", metric, prog_bar=True)

    def configure_optimizers(self) -> Any:
        return self._given


class Trainer(Standing):
    """Trains a model, or a `LightningModule`.

    Args:
        model, optimizer, loss: a plain model, its optimizer (or what `configure_optimizers` may return) and a function
            of scores and targets; then `fit` takes the data alone. Left out, `fit` takes a `LightningModule`.
        metrics: of a plain model, by name: what `polyad.metrics` has.
        max_epochs, max_steps: when to end; 1,000 epochs if neither is said, -1 for no end.
        min_epochs: before which nobody stops early.
        accumulate_grad_batches: batches a step.
        gradient_clip_val, gradient_clip_algorithm: the greatest "norm", or "value", of gradients.
        precision: 32, "bf16-mixed", "16-mixed", 64, "bf16-true", "16-true".
        callbacks: what is told of everything; a `ModelCheckpoint` is added unless *enable_checkpointing* is False.
        logger: a tracker or a list of them (`polyad.trackers`); True for files of CSV, False for none.
        limit_train_batches, limit_val_batches, limit_test_batches, limit_predict_batches: a count, or a share from 0.0
            to 1.0.
        fast_dev_run: so many batches (True: one) of everything, and nothing is written: does it run at all?
        overfit_batches: learn the first so many batches again and again: can it learn at all?
        val_check_interval: validate after so many batches, or after a share of an epoch.
        check_val_every_n_epoch: validate in every n-th epoch.
        num_sanity_val_steps: batches of validation before the first step, to find mistakes early.
        log_every_n_steps: steps between values that are tracked.
        enable_progress_bar: a bar in terminals, and a line an epoch.
        default_root_dir: where files go; "lightning_logs" below the current folder if None.
        accelerator, devices: a device's type and "auto" or 1: there is one device.
        detect_anomaly: look for the first NaN at every op; slow.
        lint: let `polyad.lint` watch the first steps.
        check_loss: stop when a loss is NaN or infinite, which waits for each loss.
        compile: run a plain model by `polyad.compile`; parts of a `LightningModule` are compiled where it makes them.
        deterministic, benchmark, strategy, num_nodes, enable_model_summary, inference_mode, use_distributed_sampler,
        profiler, log_gpu_memory: taken for code of others where they ask for nothing.

    Raises:
        ValueError: an argument that cannot be followed.

    >>> import polyad as torch
    >>> from polyad.trainer import Trainer
    >>> _ = torch.manual_seed(0)
    >>> x = torch.linspace(-1, 1, 8).reshape(8, 1)
    >>> data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 3 * x), batch_size=4)
    >>> model = torch.nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    >>> trainer = Trainer(model, optimizer, torch.nn.MSELoss(), max_epochs=50, fast_dev_run=True)
    >>> trainer.fit(data)
    >>> trainer.global_step
    1
    """

    def __init__(
        self,
        model: Any = None,
        optimizer: Any = None,
        loss: Any = None,
        *,
        metrics: Any = None,
        max_epochs: int | None = None,
        max_steps: int = -1,
        min_epochs: int | None = None,
        accumulate_grad_batches: int = 1,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
        precision: int | str | None = None,
        callbacks: Any = None,
        logger: Any = None,
        limit_train_batches: int | float | None = None,
        limit_val_batches: int | float | None = None,
        limit_test_batches: int | float | None = None,
        limit_predict_batches: int | float | None = None,
        fast_dev_run: bool | int = False,
        overfit_batches: int | float = 0,
        val_check_interval: int | float | None = None,
        check_val_every_n_epoch: int | None = 1,
        num_sanity_val_steps: int | None = None,
        log_every_n_steps: int = 50,
        enable_checkpointing: bool = True,
        enable_progress_bar: bool = True,
        default_root_dir: Any = None,
        accelerator: str = "auto",
        devices: Any = "auto",
        detect_anomaly: bool = False,
        lint: bool = True,
        check_loss: bool = True,
        compile: bool = False,
        **unused: Any,
    ) -> None:
        if (model is None) != (optimizer is None) or (model is None) != (loss is None):
            raise ArgumentError("Trainer: model, optimizer and loss go together", fix="pass all three, or none of them")
        if compile and model is None:
            raise ArgumentError(
                "Trainer: compile=True is for a plain model",
                fix="compile the parts of a LightningModule where it makes them: self.net = polyad.compile(net)",
            )
        self._plain = None if model is None else _Plain(model, optimizer, loss, metrics, compile)
        _check_unused(unused)
        for name, count in (
            ("accumulate_grad_batches", accumulate_grad_batches),
            ("log_every_n_steps", log_every_n_steps),
        ):
            if type(count) is not int or count < 1:
                raise ArgumentError(f"Trainer: {name} is {count!r}, not a positive int", fix="pass 1 or more")
        self.precision = "32-true" if precision is None else str(precision)
        check_choice("Trainer", "precision", self.precision, PRECISIONS)
        self._is_mixed = self.precision.endswith("mixed") or self.precision in ("bf16", "16")
        check_choice("Trainer", "gradient_clip_algorithm", gradient_clip_algorithm, (None, "norm", "value"))
        if devices not in ("auto", 1, "1", [0], None, -1):
            raise ArgumentError(f"Trainer: devices is {devices!r}; there is one device", fix="pass devices=1")
        self.fast_dev_run = int(fast_dev_run)
        if self.fast_dev_run:
            limit_train_batches = limit_val_batches = limit_test_batches = limit_predict_batches = self.fast_dev_run
            max_epochs, max_steps, logger, enable_checkpointing = 1, -1, False, False
            num_sanity_val_steps, val_check_interval = 0, 1.0
        self.max_epochs = (1000 if max_steps == -1 else -1) if max_epochs is None else max_epochs
        self.max_steps, self.min_epochs = max_steps, min_epochs or 0
        self.accumulate_grad_batches = accumulate_grad_batches
        self.gradient_clip_val, self.gradient_clip_algorithm = gradient_clip_val, gradient_clip_algorithm
        self.limits = {
            "train": limit_train_batches, "validation": limit_val_batches, "test": limit_test_batches,
            "predict": limit_predict_batches,
        }  # fmt: skip
        self.overfit_batches = overfit_batches
        self.val_check_interval = 1.0 if val_check_interval is None else val_check_interval
        self.check_val_every_n_epoch = check_val_every_n_epoch or 1
        self.num_sanity_val_steps = 2 if num_sanity_val_steps is None else num_sanity_val_steps
        if overfit_batches:
            self.num_sanity_val_steps = 0
        self.log_every_n_steps = log_every_n_steps
        self.detect_anomaly, self.lint, self.check_loss = detect_anomaly, lint, check_loss
        self.default_root_dir = Path("lightning_logs" if default_root_dir is None else os.fspath(default_root_dir))
        self.device = _device(accelerator)
        self.callbacks = self._with_checkpoints(callbacks, enable_checkpointing)
        self.hooks = Hooks(self.callbacks)
        self.bar = Bar(enable_progress_bar and not self.fast_dev_run)
        self.loggers = self._trackers(logger)
        self._troubled: set[int] = set()
        self.lightning_module: Any = self._plain
        self.datamodule: Any = None
        self.interrupts = Interrupts()
        self.training_results = Results(training=True)
        self._reset()

    def _with_checkpoints(self, callbacks: Any, enable_checkpointing: bool) -> list[Any]:
        given = [] if callbacks is None else list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]
        if self.fast_dev_run:
            given = [callback for callback in given if not isinstance(callback, ModelCheckpoint)]
        if enable_checkpointing and not any(isinstance(callback, ModelCheckpoint) for callback in given):
            given.append(ModelCheckpoint())
        # Checkpoints come last: they hold the states of the others.
        return sorted(given, key=lambda callback: isinstance(callback, ModelCheckpoint))

    def _reset(self) -> None:
        self.training_results.forget_metrics()  # of a run that was stopped in an epoch
        self.current_epoch = self.global_step = self.batches_done = self.pending = self.passed_over = 0
        self.at_epoch_end = self.validated = self.should_stop = self.sanity_checking = self.told_of_no_batches = False
        self.last_loss: Any = polyad.zeros(())
        self.overfit_random: dict[str, Any] | None = None
        self.callback_metrics: dict[str, Any] = {}
        self._on_bar: set[str] = set()
        self.training_results = Results(training=True)
        self.results: Any = None
        self.optimizers: list[Any] = []
        self.schedules: list[Any] = []
        self.train_dataloader: Any = None
        self.val_dataloaders: list[Any] = []
        self.evaluated: dict[str, list[Any]] = {}
        self.num_training_batches: int | None = None
        self.val_check_batches = 0
        self._batch: Any = None
        self.interrupts.asked = False
        self.ckpt_path: Any = None

    # ------------------------------------------------------------------------------------------------------ four doings

    def fit(
        self,
        model: Any = None,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        datamodule: Any = None,
        ckpt_path: Any = None,
    ) -> None:
        """Train; *ckpt_path* is a checkpoint to go on from: a path, "last" or "best".

        Ctrl-C lets the step end, saves, and returns with `interrupted`; a second one raises KeyboardInterrupt.

        Raises:
            NonFiniteError: a loss is NaN or infinite; the last good checkpoint is kept.
            SerializationError: the checkpoint is damaged, of another model or of another version.
        """
        if self._plain is not None and not isinstance(model, LightningModule):
            model, train_dataloaders, val_dataloaders = (
                self._plain,
                *((model, train_dataloaders) if model is not None else (train_dataloaders, val_dataloaders)),
            )
        self._reset()
        self._attach(model, "fit", train_dataloaders, datamodule)
        module = self.lightning_module
        if isinstance(train_dataloaders, LightningDataModule):
            train_dataloaders = None
        self.train_dataloader = self._loader(train_dataloaders, "train_dataloader", needed=True)
        has_step = hasattr(module, "validation_step")
        self.val_dataloaders = self._loaders(val_dataloaders, "val_dataloader") if has_step else []
        self.ckpt_path = ckpt_path
        found = self._checkpoint_of(ckpt_path)
        if self.overfit_batches:
            self._overfit(None if found is None else found.get("overfit"))
        self.evaluated = {"validation": self.val_dataloaders}
        self.num_training_batches = self.limited(self.train_dataloader, self.limits["train"])
        self.val_check_batches = self._val_check()
        self.optimizers, self.schedules = configured(module.configure_optimizers())
        self.steps = Steps(self)
        self._random = random_state(self.loaders)
        anomaly = polyad.detect_nonfinite() if self.detect_anomaly else nullcontext()
        status = "failed"
        try:
            if found is not None:
                state.restore(self, found, ckpt_path)
            for tracker in self.loggers:
                self._guarded(tracker, "log_hyperparams", dict(getattr(module, "hparams", {})))
            self.hooks.call("on_fit_start", self)
            with self.interrupts, anomaly:
                loop.run(self, found)
            self.hooks.call("on_fit_end", self)
            status = "interrupted" if self.interrupted else "success"
            if self.interrupted:
                self.tell(f"Stopped by Ctrl-C. {self.what_is_safe()}")
        except BaseException as error:
            self.hooks.call("on_exception", self, error)
            raise
        finally:
            self._finish("fit", status)

    def validate(
        self,
        model: Any = None,
        dataloaders: Any = None,
        ckpt_path: Any = None,
        verbose: bool = True,
        datamodule: Any = None,
    ) -> list[dict[str, float]]:
        """The values that ``validation_step`` logs."""
        return self._evaluate("validation", "val_dataloader", model, dataloaders, ckpt_path, datamodule, verbose)

    def test(
        self,
        model: Any = None,
        dataloaders: Any = None,
        ckpt_path: Any = None,
        verbose: bool = True,
        datamodule: Any = None,
    ) -> list[dict[str, float]]:
        """The values that ``test_step`` logs."""
        return self._evaluate("test", "test_dataloader", model, dataloaders, ckpt_path, datamodule, verbose)

    def predict(
        self, model: Any = None, dataloaders: Any = None, datamodule: Any = None, return_predictions: bool = True,
        ckpt_path: Any = None,
    ) -> Any:  # fmt: skip
        """What ``predict_step`` returns, batch by batch; a list for each loader where there are several."""
        found = self._evaluate("predict", "predict_dataloader", model, dataloaders, ckpt_path, datamodule, False)
        return found[0] if len(found) == 1 else found

    def _evaluate(
        self, kind: str, name: str, model: Any, loaders: Any, path: Any, datamodule: Any, verbose: bool
    ) -> list[Any]:
        if self._plain is not None and not isinstance(model, LightningModule):
            model, loaders = self._plain, model if model is not None else loaders
        self._attach(model if model is not None else self.lightning_module, kind, loaders, datamodule)
        module = self.lightning_module
        if kind != "predict" and not hasattr(module, f"{kind}_step"):
            raise ArgumentError(
                f"{type(module).__name__} has no {kind}_step", fix=f"define {kind}_step(self, batch, batch_idx)"
            )
        self.evaluated[kind] = self._loaders(None if isinstance(loaders, LightningDataModule) else loaders, name)
        if not self.evaluated[kind]:
            raise ArgumentError(f"Trainer: there are no data to {kind}", fix=f"pass a loader, or define {name}()")
        found = self._checkpoint_of(path)
        if found is not None:
            module.load_state_dict(found["state_dict"])
        status = "failed"
        try:
            with self.interrupts:
                values = evaluate(self, kind)
            status = "interrupted" if self.interrupted else "success"
        finally:
            self._finish(kind, status)
        if verbose:
            for entry in values:
                self.bar.line(kind, entry)
        return values

    # ------------------------------------------------------------------------------------------------------ what it has

    @property
    def model(self) -> Any:
        """The module that is trained."""
        return self.lightning_module

    @property
    def logged_metrics(self) -> dict[str, Any]:
        """The last value of everything that was logged, by name."""
        return dict(self.callback_metrics)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.interrupts.asked

    @property
    def loaders(self) -> list[Any]:
        """The loaders of the run."""
        return [loader for loader in (self.train_dataloader, *self.val_dataloaders) if loader is not None]

    @property
    def logs_now(self) -> bool:
        """Whether the step that begins is one of those that are tracked."""
        return (self.global_step + 1) % self.log_every_n_steps == 0

    @property
    def is_last_batch(self) -> bool:
        """Whether no batch of the epoch follows; False where nobody knows."""
        return self.num_training_batches is not None and self.batches_done + 1 >= self.num_training_batches

    def save_checkpoint(self, filepath: Any) -> None:
        """Save all that the run needs to go on."""
        polyad.save(self.checkpoint(), filepath)

    def checkpoint(self) -> dict[str, Any]:
        """All that the run needs to go on, as data."""
        return state.captured(self)

    def print(self, *values: Any, **options: Any) -> None:
        """Print, above the progress bar."""
        self.bar.print(*values, **options)

    def tell(self, text: str) -> None:
        """Print, unless the bar is off."""
        if self.bar.enabled:
            self.bar.print(text)

    def what_is_safe(self) -> str:
        """What a run that is stopped now leaves on the disk."""
        found = self.checkpoint_callback
        path = found.last_model_path if found is not None else ""
        return f"The last checkpoint is {path}; go on with ckpt_path." if path else "No checkpoint was written."

    # ---------------------------------------------------------------------------------------- what the loops ask it for

    def note(
        self, name: str, value: Any, bar: bool, logger: bool | None, on_step: bool | None, on_epoch: bool | None,
        how: str, size: int | None, add_loader: bool = True,
    ) -> None:  # fmt: skip
        """See `LightningModule.log`."""
        results = self.results
        if add_loader and results.loader is not None:
            name = f"{name}/dataloader_idx_{results.loader}"
        on_step = results.training and on_epoch is not True if on_step is None else on_step
        on_epoch = not results.training if on_epoch is None else on_epoch
        if not results.training or self.at_epoch_end:
            on_step, on_epoch = False, True
        kept = results.add(name, value, on_step, on_epoch, size or _size(self._batch), how, bar, logger is not False)
        if bar and name not in self._on_bar:
            self._on_bar |= {name, f"{name}_epoch"}
        if results.training and not on_epoch:
            self.callback_metrics[name] = kept

    def note_batch(self, batch: Any) -> None:
        """The batch that a value is of: its size is the value's weight."""
        self._batch = batch

    def on_bar(self, name: str) -> bool:
        """Whether a value was logged with ``prog_bar=True``."""
        return name in self._on_bar

    def track(self, values: dict[str, float]) -> None:
        """Give values to the trackers; one that fails is told of once, and left out from then on."""
        if values and not self.fast_dev_run:
            for tracker in self.loggers:
                self._guarded(tracker, "log_metrics", values, step=self.global_step)

    def _guarded(self, tracker: Any, method: str, *arguments: Any, **options: Any) -> Any:
        if id(tracker) in self._troubled:
            return None
        try:
            return getattr(tracker, method)(*arguments, **options)
        except Exception as error:
            self._troubled.add(id(tracker))
            warnings.warn(
                f"{type(tracker).__name__} failed, training goes on without it: {type(error).__name__}: {error}",
                stacklevel=2,
            )
            return None

    def _named_trackers(self) -> dict[str, Any]:
        """The trackers that have a state, by their class and their place among those of that class."""
        found: dict[str, Any] = {}
        for tracker in self.loggers:
            if hasattr(tracker, "state_dict") and hasattr(tracker, "load_state_dict"):
                kind = type(tracker).__name__
                found[f"{kind}-{sum(name.startswith(kind + '-') for name in found)}"] = tracker
        return found

    def tracker_states(self) -> dict[str, Any]:
        """Where the trackers are, for a checkpoint."""
        states: dict[str, Any] = {}
        for name, tracker in self._named_trackers().items():
            states[name] = self._guarded(tracker, "state_dict")
        return states

    def load_tracker_states(self, states: dict[str, Any]) -> None:
        """Put the trackers where they were."""
        for name, tracker in self._named_trackers().items():
            if states.get(name):
                self._guarded(tracker, "load_state_dict", states[name])

    def autocast(self) -> AbstractContextManager[Any]:
        """Where steps compute in half precision."""
        if not self._is_mixed:
            return NOTHING
        return polyad.autocast(self.device.type, dtype=PRECISIONS[self.precision])

    def validate_now(self) -> None:
        """Validate, in the middle of training or at an epoch's end."""
        evaluate(self, "validation", whole=True)
        self.validated = True

    def validates_this_epoch(self) -> bool:
        """Whether it is time: see check_val_every_n_epoch."""
        return bool(self.val_dataloaders) and (self.current_epoch + 1) % self.check_val_every_n_epoch == 0

    def done(self) -> bool:
        """Whether nothing is left to train."""
        if self.max_epochs != -1 and self.current_epoch >= self.max_epochs:
            return True
        return self.max_steps_done() or self.interrupted or (self.should_stop and self.may_stop())

    def max_steps_done(self) -> bool:
        """Whether *max_steps* have been taken."""
        return self.max_steps != -1 and self.global_step >= self.max_steps

    def may_stop(self) -> bool:
        """Whether *min_epochs* are over."""
        return self.current_epoch + 1 > self.min_epochs or self.min_epochs == 0

    def loop_random(self) -> None:
        """Put generators back to where the run began."""
        set_random_state(self._random, self.loaders)

    def sampler_epoch(self) -> None:
        """Tell samplers which epoch it is, where they ask."""
        set_epoch = getattr(getattr(self.train_dataloader, "sampler", None), "set_epoch", None)
        if set_epoch is not None:
            set_epoch(self.current_epoch)

    def limited(self, loader: Any, limit: int | float | None) -> int | None:
        """How many batches of a loader are used; None where nobody knows before."""
        try:
            length: int | None = len(loader)
        except TypeError:
            length = None
        if limit is None or (isinstance(limit, float) and limit == 1.0):
            return length
        if isinstance(limit, float):
            if length is None:
                raise ArgumentError(f"Trainer: {limit:g} of a loader without length", fix="pass a count of batches")
            return int(length * limit)
        return limit if length is None else min(limit, length)

    # ---------------------------------------------------------------------------------------------------------- private

    def _attach(self, module: Any, stage: str, data: Any, datamodule: Any) -> None:
        check_type("Trainer", "model", module, LightningModule, "a LightningModule", ArgumentError)
        self.lightning_module, self.stage = module, stage
        module.trainer = self
        self.hooks.begin()
        dtype = PRECISIONS[self.precision] if self.precision.endswith("true") or self.precision == "64" else None
        module.to(self.device, dtype) if dtype is not None else module.to(self.device)
        self.datamodule = data if isinstance(data, LightningDataModule) else datamodule
        if self.datamodule is not None:
            self.datamodule.trainer = self
            self.datamodule.prepare_data()
            self.datamodule.setup({"validation": "validate"}.get(stage, stage))
        self.hooks.call("setup", self, {"validation": "validate"}.get(stage, stage))

    def _finish(self, stage: str, status: str) -> None:
        self.hooks.call("teardown", self, {"validation": "validate"}.get(stage, stage))
        if self.datamodule is not None:
            self.datamodule.teardown({"validation": "validate"}.get(stage, stage))
        for tracker in self.loggers:
            if hasattr(tracker, "finalize"):
                self._guarded(tracker, "finalize", status)
        self.stage = None

    def _loader(self, given: Any, name: str, needed: bool = False) -> Any:
        for source in (self.datamodule, self.lightning_module):
            if given is None and source is not None and hasattr(source, name):
                given = getattr(source, name)()
        if given is None and needed:
            raise ArgumentError("Trainer.fit: there are no data to train on", fix=f"pass a loader, or define {name}()")
        return given

    def _loaders(self, given: Any, name: str) -> list[Any]:
        found = self._loader(given, name)
        if found is None:
            return []
        is_several = isinstance(found, list | tuple) and found and all(hasattr(one, "dataset") for one in found)
        return list(found) if is_several else [found]

    def _overfit(self, random: dict[str, Any] | None) -> None:
        """Have the first batches as data; those of a run that goes on, with the generators as they were then."""
        before = random_state(self.loaders)
        self.overfit_random = before if random is None else random
        set_random_state(self.overfit_random, self.loaders)
        count = self.limited(self.train_dataloader, self.overfit_batches) or 1
        batches: list[Any] = []
        for batch in self.train_dataloader:
            batches.append(batch)
            if len(batches) == count:
                break
        if random is not None:
            set_random_state(before, self.loaders)
        self.train_dataloader = batches
        self.val_dataloaders = [batches] if self.val_dataloaders else []

    def _val_check(self) -> int:
        """Batches between validations in an epoch, 0 for its end."""
        interval = self.val_check_interval
        if isinstance(interval, int) and interval > 0:
            return interval
        if not 0 < interval <= 1:
            raise ArgumentError(
                f"Trainer: val_check_interval is {interval!r}", fix="pass a count, or a share up to 1.0"
            )
        if interval == 1.0:
            return 0
        if self.num_training_batches is None:
            raise ArgumentError("Trainer: a share of a loader without length", fix="pass val_check_interval as a count")
        return max(1, int(self.num_training_batches * interval))

    def _checkpoint_of(self, path: Any) -> dict[str, Any] | None:
        if path is None:
            return None
        if path in ("last", "best"):
            saver = self.checkpoint_callback
            found = saver.load(self, path) if saver is not None else None
            return None if found is None else state.checked(found, f"the {path} checkpoint")
        return state.read(path)

    def _trackers(self, logger: Any) -> list[Any]:
        if logger is None or logger is False:
            return []
        if logger is True:
            trackers = importlib.import_module("polyad.trackers")  # a module that a plug-in shows
            return [trackers.CSVTracker(self.default_root_dir)]
        return list(logger) if isinstance(logger, list | tuple) else [logger]


def _size(batch: Any) -> int:
    """How many samples a batch has: the first size of its first tensor."""
    while not isinstance(batch, Tensor):
        if isinstance(batch, dict) and batch:
            batch = next(iter(batch.values()))
        elif isinstance(batch, list | tuple) and batch:
            batch = batch[0]
        else:
            return 1
    shape = batch.shape
    return shape[0] if shape else 1


def _device(accelerator: str) -> Any:
    if accelerator in ("auto", None):
        return polyad.get_default_device()
    return polyad.device("cuda" if accelerator == "gpu" else accelerator)


IGNORED: dict[str, tuple[Any, ...]] = {
    "strategy": ("auto",), "num_nodes": (1,), "enable_model_summary": (True, False),
    "deterministic": (True, False, None),
    "benchmark": (True, False, None), "inference_mode": (True, False), "use_distributed_sampler": (True, False),
    "profiler": (None,), "sync_batchnorm": (False,), "reload_dataloaders_every_n_epochs": (0,), "plugins": (None,),
    "barebones": (False,), "min_steps": (None,), "max_time": (None,), "model_registry": (None,),
}  # fmt: skip
"""Arguments of Lightning's that change nothing with these values."""


def _check_unused(unused: dict[str, Any]) -> None:
    for name, value in unused.items():
        if name not in IGNORED:
            raise TypeError(f"Trainer() got an unexpected keyword argument {name!r}")
        if value not in IGNORED[name]:
            raise ArgumentError(f"Trainer: {name}={value!r} is not offered", fix=f"leave {name} out")
