"""Hooks: what else happens when a run begins, after each batch, when an epoch ends.

A callback derives from `Callback` and overrides the hooks it wants. Any object with methods of pluggy's marker `hook`
may be registered too, with the arguments that it needs. `Hooks` calls them, in the order in which they were given.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import Any

import pluggy

from polyad.arguments import check_choice
from polyad.errors import PolyadError

__all__ = ["Callback", "EarlyStopping", "Hooks", "LearningRateMonitor", "NotLogged", "hook", "takes"]

hook = pluggy.HookimplMarker("polyad_trainer")
_spec = pluggy.HookspecMarker("polyad_trainer")


class NotLogged(PolyadError, RuntimeError):
    """A callback watches a value that nobody logged."""


def _written(name: str, arguments: tuple[str, ...], body: str, **space: Any) -> Any:
    """A function with these arguments: pluggy goes by their names, and the texts are this module's own."""
    exec(f"def {name}({', '.join(arguments)}):\n    {body}\n", space)
    return space[name]


def _hooks(*names: str, arguments: tuple[str, ...] = ()) -> dict[str, Any]:
    """A method for each name that does nothing and takes the trainer, the module and *arguments*."""
    made = {}
    for name in names:
        made[name] = _written(name, ("self", "trainer", "pl_module", *arguments), "pass")
        made[name].__qualname__ = f"Callback.{name}"
        _spec(made[name])
    return made


BATCH = ("batch", "batch_idx")
EVALUATED = ("outputs", *BATCH, "dataloader_idx")
PLAIN = [f"on_{loop}_{when}" for loop in ("fit", "train", "train_epoch", "validation", "validation_epoch", "test",
         "test_epoch", "predict", "predict_epoch", "sanity_check") for when in ("start", "end")]  # fmt: skip

SIGNATURES: dict[str, Any] = {
    **_hooks(*PLAIN, "on_after_backward", "on_safe_point"),
    **_hooks("setup", "teardown", arguments=("stage",)),
    **_hooks("on_before_backward", arguments=("loss",)),
    **_hooks("on_before_zero_grad", "on_before_optimizer_step", arguments=("optimizer",)),
    **_hooks("on_train_batch_start", arguments=BATCH),
    **_hooks("on_train_batch_end", arguments=("outputs", *BATCH)),
    **_hooks(
        "on_validation_batch_start",
        "on_test_batch_start",
        "on_predict_batch_start",
        arguments=(*BATCH, "dataloader_idx"),
    ),
    **_hooks("on_validation_batch_end", "on_test_batch_end", "on_predict_batch_end", arguments=EVALUATED),
    **_hooks("on_exception", arguments=("exception",)),
    **_hooks("on_save_checkpoint", "on_load_checkpoint", arguments=("checkpoint",)),
}
"""Every hook. ``on_safe_point`` is polyad's own: a step with all that follows it is over, and a checkpoint that is
saved now resumes exactly.
"""


class Callback:
    """Something that is told what a run does; override the hooks of `SIGNATURES` that it wants.

    >>> from polyad.trainer import Callback
    >>> class Count(Callback):
    ...     steps = 0
    ...     def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
    ...         self.steps += 1
    """

    @property
    def state_key(self) -> str:
        """Under which name its state is in a checkpoint."""
        return type(self).__qualname__

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with what a checkpoint kept."""


for _name, _method in SIGNATURES.items():
    setattr(Callback, _name, _method)


class Hooks:
    """Calls the hooks of callbacks."""

    def __init__(self, callbacks: Iterable[Any]) -> None:
        self.manager = pluggy.PluginManager("polyad_trainer")
        self.manager.add_hookspecs(Callback)
        for callback in reversed(list(callbacks)):  # pluggy calls the last first
            plugin = _adapted(callback) if isinstance(callback, Callback) else callback
            self.manager.register(plugin)
        self.used = {name for name in SIGNATURES if getattr(self.manager.hook, name).get_hookimpls()}
        self._own: dict[str, tuple[Any, int] | None] = {}
        """The module's hooks, looked up once a run, with how many arguments they take."""
        self._idle: set[str] = set()
        """The hooks that nobody has."""

    def begin(self) -> None:
        """A run begins, of another module maybe."""
        self._own.clear()
        self._idle.clear()

    def call(self, name: str, trainer: Any, *arguments: Any) -> None:
        """Call a hook, of the callbacks and then of the module."""
        if name in self._idle:
            return
        module = trainer.lightning_module
        if name in self.used:
            spec = SIGNATURES[name].__code__
            names = spec.co_varnames[1 : spec.co_argcount]
            getattr(self.manager.hook, name)(**dict(zip(names, (trainer, module, *arguments))))
        if name not in self._own:
            own = getattr(module, name, None)
            is_called = own is not None and name not in ("on_save_checkpoint", "on_load_checkpoint")
            self._own[name] = (own, takes(own)) if is_called else None
            if not is_called and name not in self.used:
                self._idle.add(name)
        found = self._own[name]
        if found is not None:
            found[0](*arguments[: found[1]])


def takes(method: Any) -> int:
    """How many arguments a module's hook takes: ``dataloader_idx`` may be left out."""
    parameters = inspect.signature(method).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 99
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _adapted(callback: Callback) -> Any:
    """The hooks that a callback overrides, called by position: its arguments may have names of its own."""
    methods: dict[str, Any] = {}
    for name, declared in SIGNATURES.items():
        if getattr(type(callback), name) is declared:
            continue
        method = getattr(callback, name)
        count = takes(method)

        names = declared.__code__.co_varnames[1 : declared.__code__.co_argcount]
        adapter = _written(name, names, f"method({', '.join(names[:count])})", method=method)
        methods[name] = staticmethod(hook(adapter))
    return type(type(callback).__name__, (), methods)()


class EarlyStopping(Callback):
    """Stop when a value has not become better for *patience* validations.

    Args:
        monitor: the name of a logged value.
        min_delta: what counts as better.
        mode: "min" or "max", what is better.
        check_finite: stop when the value is NaN or infinite.
        stopping_threshold: stop when the value is better than this.
        divergence_threshold: stop when it is worse than this.
    """

    def __init__(
        self,
        monitor: str,
        min_delta: float = 0.0,
        patience: int = 3,
        verbose: bool = False,
        mode: str = "min",
        strict: bool = True,
        check_finite: bool = True,
        stopping_threshold: float | None = None,
        divergence_threshold: float | None = None,
        check_on_train_epoch_end: bool | None = None,
    ) -> None:
        self.monitor, self.min_delta, self.patience, self.strict = monitor, abs(min_delta), patience, strict
        self.verbose, self.check_finite = verbose, check_finite
        self.stopping_threshold, self.divergence_threshold = stopping_threshold, divergence_threshold
        self.sign = sign_of(mode, "EarlyStopping")
        self.at_epoch_end = check_on_train_epoch_end
        self.best_score = -self.sign * math.inf
        self.wait_count = 0
        self.stopped_epoch = 0

    @property
    def state_key(self) -> str:
        return f"EarlyStopping[{self.monitor}]"

    def state_dict(self) -> dict[str, Any]:
        return {"best_score": self.best_score, "wait_count": self.wait_count, "stopped_epoch": self.stopped_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self.wait_count >= self.patience:
            trainer.should_stop = True  # resumed when it had stopped

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking and not self._late(trainer):
            self._check(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self._late(trainer):
            self._check(trainer)

    def _late(self, trainer: Any) -> bool:
        return not trainer.val_dataloaders if self.at_epoch_end is None else self.at_epoch_end

    def _check(self, trainer: Any) -> None:
        value = watched(trainer, self.monitor, "EarlyStopping", self.strict)
        if value is None:
            return
        if self.check_finite and not math.isfinite(value):
            reason = f"{self.monitor} is {value}"
        elif self.stopping_threshold is not None and self.sign * (value - self.stopping_threshold) > 0:
            reason = f"{self.monitor} {value:.4g} is better than {self.stopping_threshold:g}"
        elif self.divergence_threshold is not None and self.sign * (self.divergence_threshold - value) > 0:
            reason = f"{self.monitor} {value:.4g} is worse than {self.divergence_threshold:g}"
        elif self.sign * (value - self.best_score) > self.min_delta:
            self.best_score, self.wait_count = value, 0
            return
        else:
            self.wait_count += 1
            if self.wait_count < self.patience:
                return
            reason = f"{self.monitor} has not become better than {self.best_score:.4g} in {self.wait_count} checks"
        trainer.should_stop = True
        self.stopped_epoch = trainer.current_epoch
        trainer.tell(f"Stopping early: {reason}.")


class LearningRateMonitor(Callback):
    """Log the learning rates, every *logging_interval*: "step" or "epoch"."""

    def __init__(self, logging_interval: str | None = None) -> None:
        self.interval = logging_interval

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self.interval != "epoch" and trainer.logs_now:
            self._log(trainer)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self.interval != "step":
            self._log(trainer)

    def _log(self, trainer: Any) -> None:
        rates = {}
        for number, optimizer in enumerate(trainer.optimizers):
            name = f"lr-{type(optimizer).__name__}" + (f"-{number}" if number else "")
            for index, group in enumerate(optimizer.param_groups):
                rates[name + (f"/pg{index + 1}" if len(optimizer.param_groups) > 1 else "")] = float(group["lr"])
        trainer.track(rates)


def sign_of(mode: str, who: str) -> int:
    """1 where more is better, else -1."""
    check_choice(who, "mode", mode, ("min", "max"))
    return 1 if mode == "max" else -1


def watched(trainer: Any, name: str, who: str, strict: bool = True) -> float | None:
    """A logged value; raises NotLogged, or gives None unless *strict*, where there is none."""
    value = trainer.callback_metrics.get(name)
    if value is None and strict:
        raise NotLogged(
            f"{who}: no value is called {name!r}",
            notes={"logged": ", ".join(trainer.callback_metrics) or "nothing"},
            fix=f"self.log({name!r}, ...) in a step, or watch another value",
        )
    return None if value is None else float(value)
