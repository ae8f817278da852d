"""A model that says what a step of training is, and data that say how they are loaded."""

from __future__ import annotations

import inspect
from typing import Any

import polyad
from polyad import Tensor, nn
from polyad.errors import ArgumentError, NotSupported

__all__ = ["HyperParameters", "LightningDataModule", "LightningModule"]


PROCESSES = {"sync_dist", "sync_dist_group", "rank_zero_only", "metric_attribute", "enable_graph"}
"""Arguments of `LightningModule.log` that concern several processes."""


class HyperParameters(dict[str, Any]):
    """A dict whose items are attributes too: ``hparams.lr``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"no hyper-parameter is called {name!r}; there are {', '.join(self) or 'none'}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class _Hyper:
    """`save_hyperparameters`, for modules and data modules."""

    @property
    def hparams(self) -> HyperParameters:
        """The arguments that `save_hyperparameters` kept."""
        return self.__dict__.setdefault("_hparams", HyperParameters())

    def save_hyperparameters(
        self, *names: Any, ignore: str | list[str] | tuple[str, ...] = (), logger: bool = True
    ) -> None:
        """Keep the arguments of the calling ``__init__`` in `hparams`, or those named; of a dict, its items."""
        frame = inspect.currentframe()
        caller = frame.f_back if frame else None
        given: dict[str, Any] = {}
        if caller is not None:
            info = inspect.getargvalues(caller)
            given = {name: info.locals[name] for name in info.args[1:]}
            code = caller.f_code
            keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
            given |= {name: info.locals[name] for name in keyword_only}
            given |= info.locals.get(info.keywords, {}) if info.keywords else {}
        ignored = {ignore} if isinstance(ignore, str) else set(ignore)
        for item in names:
            if isinstance(item, dict):
                self.hparams.update(item)
        wanted = [item for item in names if isinstance(item, str)]
        if not names or wanted:
            self.hparams.update(
                {name: given[name] for name in (wanted or given) if name not in ignored and name != "__class__"}
            )


class LightningModule(_Hyper, nn.Module):
    """A model with the steps of its training; derive from it, and give it to `Trainer.fit`.

    Needed are `training_step`, which returns the loss, and `configure_optimizers`. Hooks (``on_train_start`` and the
    like) are methods to override, with the names and arguments of Lightning.

    >>> import polyad as torch
    >>> from polyad.trainer import LightningModule, Trainer
    >>> class Line(LightningModule):
    ...     def __init__(self, lr=0.1):
    ...         super().__init__()
    ...         self.save_hyperparameters()
    ...         self.layer = torch.nn.Linear(1, 1)
    ...     def training_step(self, batch, batch_idx):
    ...         x, y = batch
    ...         return (self.layer(x) - y).square().mean()
    ...     def configure_optimizers(self):
    ...         return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)
    >>> x = torch.linspace(-1, 1, 8).reshape(8, 1)
    >>> data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 3 * x), batch_size=4)
    >>> trainer = Trainer(max_epochs=100, logger=False, enable_checkpointing=False, enable_progress_bar=False)
    >>> line = Line(lr=0.2)
    >>> trainer.fit(line, data)
    >>> round(line.layer.weight.item(), 2)
    3.0
    """

    automatic_optimization = True
    trainer: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__dict__["trainer"] = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "trainer":
            self.__dict__[name] = value  # a trainer holds the module: no part of it
        else:
            super().__setattr__(name, value)

    # ---------------------------------------------------------------------------------------------- what is overridden

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss of a batch, or a dict with it under "loss"; None passes the batch over."""
        raise NotSupported(
            f"{type(self).__name__} has no training_step", fix="define training_step(self, batch, batch_idx)"
        )

    def predict_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        """What `Trainer.predict` collects: what the model gives for the batch, or for its first part."""
        return self(batch[0] if isinstance(batch, list | tuple) else batch)

    def configure_optimizers(self) -> Any:
        """An optimizer; a list of them; two lists, of optimizers and schedules; or a dict with an "optimizer" and an
        "lr_scheduler".
        """
        raise NotSupported(
            f"{type(self).__name__} has no configure_optimizers", fix="define it; it returns an optimizer"
        )

    def optimizer_step(self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None) -> None:
        """Step an optimizer; the closure computes the loss and its gradients."""
        optimizer.step(closure=optimizer_closure)

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Step a schedule; *metric* is what it monitors, or None."""
        scheduler.step() if metric is None else scheduler.step(metric)

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int = 0) -> Any:
        """The batch with its tensors on the device."""
        return moved(batch, device)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add to a checkpoint."""

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take from a checkpoint what was added."""

    # ------------------------------------------------------------------------------------------------ what is called

    def log(
        self,
        name: str,
        value: Any,
        prog_bar: bool = False,
        logger: bool | None = None,
        on_step: bool | None = None,
        on_epoch: bool | None = None,
        reduce_fx: str = "mean",
        batch_size: int | None = None,
        add_dataloader_idx: bool = True,
        **unused: Any,
    ) -> None:
        """Log a number, a tensor of one element, or a metric.

        In training the value of the step is logged, elsewhere the mean over the epoch, unless *on_step* and *on_epoch*
        say otherwise. Where there are several loaders to validate with, the name has ``/dataloader_idx_0`` and so on
        behind it, unless *add_dataloader_idx* is False. A metric is computed and reset when the epoch ends. Does
        nothing without a trainer. Arguments that concern several processes are taken and change nothing.
        """
        trainer = self.__dict__.get("trainer")
        if trainer is None or trainer.results is None:
            return
        unknown = unused.keys() - PROCESSES if unused else None
        if unknown:
            raise ArgumentError(f"log: there is no argument {sorted(unknown)[0]!r}", fix="leave it out")
        trainer.note(name, value, prog_bar, logger, on_step, on_epoch, reduce_fx, batch_size, add_dataloader_idx)

    def log_dict(self, dictionary: Any, **options: Any) -> None:
        """Log several values, with the arguments of `log`."""
        for name, value in dictionary.items():
            self.log(name, value, **options)

    def manual_backward(self, loss: Tensor, **options: Any) -> None:
        """``loss.backward()``, scaled where precision wants it; for ``automatic_optimization = False``."""
        self.trainer.steps.backward(loss, **options)

    def optimizers(self, use_pl_optimizer: bool = True) -> Any:
        """The optimizer, or the list of them; their ``step`` clips nothing and counts `Trainer.global_step`."""
        found = self.trainer.steps.wrapped if use_pl_optimizer else self.trainer.optimizers
        return found[0] if len(found) == 1 else list(found)

    def lr_schedulers(self) -> Any:
        """The schedule, the list of them, or None."""
        found = [entry.scheduler for entry in self.trainer.schedules]
        return None if not found else found[0] if len(found) == 1 else found

    def clip_gradients(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Clip the gradients of an optimizer's parameters."""
        self.trainer.steps.clip(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def toggle_optimizer(self, optimizer: Any) -> None:
        """Let only this optimizer's parameters have gradients, until `untoggle_optimizer`."""
        own = {id(p) for group in optimizer.param_groups for p in group["params"]}
        before: dict[int, tuple[Any, bool]] = {}
        for other in self.trainer.optimizers:
            for group in other.param_groups:
                for parameter in group["params"]:
                    before.setdefault(id(parameter), (parameter, parameter.requires_grad))
        self.__dict__["_toggled"] = list(before.values())
        for parameter, required in before.values():
            parameter.requires_grad = required and id(parameter) in own

    def untoggle_optimizer(self, optimizer: Any) -> None:
        """Undo `toggle_optimizer`."""
        for parameter, required in self.__dict__.pop("_toggled", ()):
            parameter.requires_grad = required

    def print(self, *values: Any, **options: Any) -> None:
        """Print, above the progress bar."""
        self.trainer.print(*values, **options)

    @property
    def device(self) -> Any:
        """The device of the first parameter; the default device where there is none."""
        return next((p.device for p in self.parameters()), polyad.get_default_device())

    @property
    def current_epoch(self) -> int:
        """The epoch that runs, from 0."""
        return self.trainer.current_epoch if self.trainer else 0

    @property
    def global_step(self) -> int:
        """Steps that optimizers have taken."""
        return self.trainer.global_step if self.trainer else 0

    @property
    def logger(self) -> Any:
        """The first tracker, or None."""
        return self.trainer.logger if self.trainer else None

    @property
    def loggers(self) -> list[Any]:
        """The trackers."""
        return self.trainer.loggers if self.trainer else []

    @classmethod
    def load_from_checkpoint(
        cls, checkpoint_path: Any, map_location: Any = None, strict: bool = True, **arguments: Any
    ) -> LightningModule:
        """A new module with the weights of a checkpoint, made with its hyper-parameters and *arguments*."""
        from .state import read

        found = read(checkpoint_path, map_location)
        names = inspect.signature(cls.__init__).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in names.values())
        saved = {k: v for k, v in found["hyper_parameters"].items() if takes_all or k in names}
        module = cls(**{**saved, **arguments})
        module.on_load_checkpoint(found)
        module.load_state_dict(found["state_dict"], strict=strict)
        return module


def moved(batch: Any, device: Any) -> Any:
    """A batch with its tensors on a device: in dicts, named tuples, tuples and lists, at any depth."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {key: moved(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(moved(value, device) for value in batch))
    if isinstance(batch, (list, tuple)):  # a union of types takes longer, at every batch
        return type(batch)([moved(value, device) for value in batch])
    return batch.to(device) if hasattr(batch, "to") else batch


class LightningDataModule(_Hyper):
    """Data of a run in one object: override ``setup`` and the loaders that there are."""

    trainer: Any = None

    def prepare_data(self) -> None:
        """Download, unpack: what is done once."""

    def setup(self, stage: str) -> None:
        """Make datasets; *stage* is "fit", "validate", "test" or "predict"."""

    def teardown(self, stage: str) -> None:
        """The run is over."""

    def train_dataloader(self) -> Any:
        """Batches to learn from."""

    def val_dataloader(self) -> Any:
        """Batches to validate with, or None."""

    def test_dataloader(self) -> Any:
        """Batches to test with, or None."""

    def predict_dataloader(self) -> Any:
        """Batches to predict for, or None."""
