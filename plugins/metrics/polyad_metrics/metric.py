"""What all metrics have: a state of tensors that grows with batches, and that other states can be merged into."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import polyad
from polyad import Tensor
from polyad.arguments import Explained
from polyad.base.kinds import State
from polyad.errors import ArgumentError, ArgumentTypeError, DTypeError, safe_repr


class Metric(Explained, ABC):
    """A value over all batches since the last `reset`.

    To write one, call `add_state` in ``__init__`` for each tensor that it keeps, change them in `update` as attributes,
    and give the value in `compute`. States that are added up, or gathered, can be merged: that is all that several
    processes, or a run that goes on later, need.

    >>> import polyad
    >>> class Largest(polyad.metrics.Metric):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.add_state("largest", polyad.tensor(float("-inf")), "max")
    ...     def update(self, values):
    ...         self.largest = polyad.maximum(self.largest, values.max())
    ...     def compute(self):
    ...         return self.largest
    >>> largest = Largest()
    >>> largest.update(polyad.tensor([3.0, 4.0])); largest.update(polyad.tensor([1.0]))
    >>> largest.compute()
    tensor(4.)
    """

    _WAYS = ("sum", "max", "min", "cat")

    def __init__(self) -> None:
        self._states: dict[str, tuple[Tensor | None, str]] = {}
        self._updates = 0

    def add_state(self, name: str, default: Tensor | None = None, dist_reduce_fx: str = "sum") -> None:
        """Keep a tensor *name*, at first *default*.

        *dist_reduce_fx* says how two become one: "sum", "max", "min", or "cat", for which the state is a list of
        tensors and there is no default. Raises ValueError for another.
        """
        if dist_reduce_fx not in self._WAYS or (default is None) != (dist_reduce_fx == "cat"):
            raise ArgumentError(
                f"add_state: {safe_repr(name)} with this default is merged by {safe_repr(dist_reduce_fx)}",
                operands={"default": default},
                fix='pass a tensor and "sum", "max" or "min", or no default and "cat"',
            )
        self._states[name] = (default, dist_reduce_fx)
        setattr(self, name, [] if default is None else default.clone())

    @abstractmethod
    def update(self, *args: Any, **kwargs: Any) -> None:
        """Count a batch."""

    @abstractmethod
    def compute(self) -> Any:
        """The value over all batches."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "update" in cls.__dict__:
            cls.update = _counted(cls.update)  # type: ignore[method-assign]
        if "compute" in cls.__dict__:
            cls.compute = _warn_when_empty(cls.compute)  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Count a batch; returns the value of this batch alone."""
        batch = self.clone()
        batch.reset()
        batch.update(*args, **kwargs)
        self.merge(batch)
        return batch.compute()

    def reset(self) -> None:
        """Forget all batches."""
        for name, (default, _) in self._states.items():
            setattr(self, name, [] if default is None else _on(self._device(), default).clone())
        self._updates = 0

    def clone(self) -> Self:
        """A metric of its own with the same state."""
        made = copy.copy(self)
        for name, value in self._values().items():
            setattr(made, name, list(value) if isinstance(value, list) else value.clone())
        return made

    def merge(self, other: Metric) -> Self:
        """Take in what *other*, a metric of the same class and options, has counted. Raises TypeError, ValueError."""
        if type(other) is not type(self):
            raise ArgumentTypeError(
                f"merge: {type(self).__name__} takes in no {type(other).__name__}", fix="merge metrics of one class"
            )
        self._take(other._values(), "merge")
        self._updates += other._updates
        return self

    def __add__(self, other: Metric) -> Self:
        return self.clone().merge(other)

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes: the state as tensors, and the number of updates."""
        values = {
            name: [one.clone() for one in value] if isinstance(value, list) else value.clone()
            for name, value in self._values().items()
        }
        return {**values, "updates": self._updates}

    def load_state_dict(self, state_dict: State) -> None:
        """Go on where *state_dict* was taken. Raises ValueError for the state of another metric; nothing is changed."""
        wanted = {*self._states, "updates"}
        if set(state_dict) != wanted:
            raise ArgumentError(
                f"load_state_dict: {type(self).__name__} has the state {', '.join(sorted(wanted))}, the dict "
                f"{', '.join(sorted(map(str, state_dict))) or 'is empty'}",
                fix="load the state of a metric of the same class",
            )
        fresh = self.clone()
        fresh.reset()
        fresh._take({name: state_dict[name] for name in self._states}, "load_state_dict")  # added to nothing
        for name, value in fresh._values().items():
            setattr(self, name, value)
        self._updates = int(state_dict["updates"])

    def to(self, device: Any) -> Self:
        """Move the state to *device*; `update` does it by itself for the first batch."""
        for name, value in self._values().items():
            moved = [_on(device, one) for one in value] if isinstance(value, list) else _on(device, value)
            setattr(self, name, moved)
        return self

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._states}

    def _device(self) -> Any:
        for value in self._values().values():
            for one in value if isinstance(value, list) else [value]:
                return one.device
        return "cpu"

    def _take(self, values: Mapping[str, Any], who: str) -> None:
        """Merge *values* by name; all are checked before the first is merged."""
        for name, value in values.items():
            mine = getattr(self, name)
            fits = isinstance(value, list) if isinstance(mine, list) else getattr(value, "shape", None) == mine.shape
            if not fits:
                raise ArgumentError(
                    f"{who}: {name} does not fit the state of this {type(self).__name__}",
                    operands={"this": mine, "other": value} if isinstance(value, Tensor) else None,
                    fix="merge and load states of metrics with equal options",
                )
        for name, value in values.items():
            mine, how = getattr(self, name), self._states[name][1]
            if how == "cat":
                setattr(self, name, [*mine, *value])
            else:
                join = {"sum": polyad.add, "max": polyad.maximum, "min": polyad.minimum}[how]
                setattr(self, name, join(mine, value.to(mine.device)))


def _on(device: Any, tensor: Tensor) -> Tensor:
    """*tensor* on *device*, in float32 where that has no float64."""
    try:
        return tensor.to(device)
    except DTypeError:
        return tensor.float().to(device)


def _counted(update: Any) -> Any:
    def counted(self: Metric, *args: Any, **kwargs: Any) -> None:
        if not self._updates:
            device = next((arg.device for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor)), None)
            if device is not None and device != self._device():
                self.to(device)
        with polyad.no_grad():
            update(self, *args, **kwargs)
        self._updates += 1

    counted.__doc__ = update.__doc__
    counted.__name__ = "update"
    counted.__wrapped__ = update  # type: ignore[attr-defined]
    return counted


def _warn_when_empty(compute: Any) -> Any:
    def told(self: Metric) -> Any:
        if not self._updates:
            warnings.warn(f"{type(self).__name__}: compute() before any update()", UserWarning, stacklevel=3)
        with polyad.no_grad():
            return compute(self)

    told.__doc__ = compute.__doc__
    told.__name__ = "compute"
    told.__wrapped__ = compute  # type: ignore[attr-defined]
    return told
