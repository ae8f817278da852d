"""Making the calls that checks look at: the function behind a sample, its inputs, and the way that dispatch took."""

from __future__ import annotations

import functools
import inspect
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyad.backend import Backend
from polyad.base.dtypes import DType, bool_
from polyad.devices import fallback, registry
from polyad.dispatch.modes import Mode
from polyad.dispatch.op import OPS, PUBLIC, Op
from polyad.dispatch.plan import find_plan
from polyad.tensor import Tensor

from .sample import DTYPE, ErrorCase, Maker, OnlyShape, Sample
from .tolerance import allowed_error, is_inexact, largest, wide


class UnsupportedByDeclaration(Exception):
    """The backend's capabilities say that this cannot work, so it is not tested."""


def function_of(entry: Sample | ErrorCase) -> Any:
    """The callable that a sample names, within the sample's own *call* if it has one; raises LookupError for an op that
    polyad does not have.
    """
    name = entry.op
    if name in PUBLIC:
        return as_called(entry, PUBLIC[name].call)
    if name.startswith("_") and name[1:] in OPS:
        return as_called(entry, OPS[name[1:]].call)
    raise LookupError(f"polyad_conformance: a sample is for {name!r}, which polyad does not have")


def as_called(entry: Sample | ErrorCase, function: Any) -> Any:
    """*function*, the op that a sample is for, as the sample calls it."""
    return functools.partial(entry.call, function) if isinstance(entry, Sample) and entry.call else function


def generator(entry: Sample | ErrorCase, dtype: DType, seed: int) -> np.random.Generator:
    """Random numbers that depend on the sample, the dtype and the seed alone, not on which other tests run."""
    return np.random.default_rng([seed, zlib.crc32(f"{entry.label} {dtype.name}".encode())])


def draw(sample: Sample, dtype: DType, seed: int, whole_range: bool = False) -> tuple[Any, ...]:
    """The sample's positional arguments, arrays as NumPy arrays; see `Maker` for *whole_range*."""
    return tuple(sample.inputs(Maker(generator(sample, dtype, seed), dtype, whole_range)))


def has_arrays(value: Any, but: str = "") -> bool:
    """Whether there is an array in *value*, one of kind *but* not counting."""
    if isinstance(value, (list, tuple)):
        return any(has_arrays(item, but) for item in value)
    return isinstance(value, np.ndarray) and value.dtype.kind != but


def as_float64(value: Any) -> Any:
    """Arrays of bool as float64: NumPy would compute their exponential, say, in float16."""
    if isinstance(value, (list, tuple)):
        return type(value)(as_float64(item) for item in value)
    return value.astype(np.float64) if isinstance(value, np.ndarray) else value


def kwargs_of(
    sample: Sample, dtype: DType, device: Any, args: tuple[Any, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keyword arguments for the op and for the reference."""
    kwargs = {name: dtype if value is DTYPE else value for name, value in sample.kwargs.items()}
    references = {name: wide(value) for name, value in kwargs.items()}
    if not has_arrays(args) and "device" in inspect.signature(function_of(sample)).parameters:
        # Ops themselves take what public functions have made of the user's device.
        kwargs["device"] = registry.resolve_device(device) if sample.op.startswith("_") else device
    return kwargs, references


def outputs_of(result: Any) -> tuple[Any, ...]:
    """The results of a call as one tuple, nested ones flat."""
    if not isinstance(result, (list, tuple)):
        return (result,)
    return tuple(one for part in result for one in outputs_of(part))


def reference_of(sample: Sample, args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What must come out, as a tuple of wide arrays (or `OnlyShape`)."""
    if is_inexact(result_dtypes(sample, bool_)[0]) and not has_arrays(args, but="b"):
        args = as_float64(args)
    with np.errstate(all="ignore"):
        expected = outputs_of(sample.reference(*args, **kwargs))
    return tuple(one if isinstance(one, OnlyShape) else wide(np.asarray(one)) for one in expected)


def magnitude_of(sample: Sample, args: Any, kwargs: dict[str, Any], expected: tuple[Any, ...]) -> Any:
    """What the errors of the results are relative to, None for the results; see `polyad_conformance.tolerance`."""
    if sample.magnitude is not None:
        with np.errstate(all="ignore"):
            return sample.magnitude(*args, **kwargs)
    return largest(args, list(expected)) if sample.length else None


@dataclass(frozen=True)
class Expected:
    """What a call must give: for each result its reference, its dtype, and how far off it may be."""

    references: tuple[Any, ...]
    dtypes: tuple[DType, ...]
    allowed: tuple[Any, ...]

    @classmethod
    def of(
        cls, sample: Sample, dtype: DType, args: Any, kwargs: dict[str, Any], into: tuple[DType, ...] = ()
    ) -> Expected:
        """From wide arguments; *into* are the dtypes that results end in where these are not the sample's.

        Raises AssertionError for a sample that contradicts itself.
        """
        references, dtypes = reference_of(sample, args, kwargs), into or result_dtypes(sample, dtype)
        assert len(dtypes) == len(references), (
            f"{sample.label}: the sample gives {len(dtypes)} dtype rules for {len(references)} results"
        )
        magnitude = magnitude_of(sample, args, kwargs, references)
        bound = {"steps": sample.steps, "length": sample.length, "magnitude": magnitude}
        allowed = (
            allowed_error(result, one, **bound) if is_inexact(result) and not isinstance(one, OnlyShape) else 0.0
            for one, result in zip(references, dtypes)
        )
        return cls(references, dtypes, tuple(allowed))

    @property
    def defined(self) -> bool:
        """Whether all values are, not only shapes."""
        return not any(isinstance(one, OnlyShape) for one in self.references)


def result_dtypes(sample: Sample, dtype: DType) -> tuple[DType, ...]:
    """The dtypes of the results for inputs of *dtype*."""
    rules = sample.result if isinstance(sample.result, tuple) else (sample.result,)
    return tuple(rule(dtype) for rule in rules)


class Paths(Mode):
    """Notes for each op that a call reaches which way dispatch takes: "kernel", "decomposition" or "fallback".

    Attributes:
        taken: (op name, path, who supplied the kernel) in order.
        calls: (op, args) of the ops that were called from outside any op, in order.
        composites: (op, args) of composites that ran as one kernel.
    """

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, str]] = []
        self.calls: list[tuple[Op, tuple[Any, ...]]] = []
        self.composites: list[tuple[Op, tuple[Any, ...]]] = []
        self._depth = 0

    def dispatch(self, op: Any, args: tuple[Any, ...]) -> Any:
        """Follow casts and decompositions to the kernels at their ends."""
        if not isinstance(op, Op):
            # An effect (an in-place write, a tensor made from data): it has no kernel, but may be made of ops
            # that have.
            if op.body is None:
                return op.call(*args)
            with self:
                return op.body(*args)
        if not self._depth:
            self.calls.append((op, args))
        if op.kind == "view":
            return op.call(*args)
        plan = find_plan(op, args)
        if plan.path in ("cast", "decomposition"):
            if plan.path == "decomposition":
                self.taken.append((op.name, plan.path, plan.origin))
            needs_grad = any(_has_history(value) for value in args[: len(op.operands)])
            self._depth += 1
            try:
                with self:
                    return plan.indirect(op, args, needs_grad)
            finally:
                self._depth -= 1
        self.taken.append((op.name, plan.path, plan.origin))
        if op.kind == "composite":
            self.composites.append((op, args))
        return op.call(*args)


def _has_history(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_history, value))
    return isinstance(value, Tensor) and value.requires_grad


@dataclass
class Target:
    """What is tested: a device, and what the calls on it did.

    Attributes:
        device: a device name such as "opencl" or "opencl:1".
        seed: decides all inputs.
        taken: how often ops went each way: ("kernel", "decomposition" or "fallback", op name).
        reached: the names of the ops that calls reached directly.
    """

    device: str
    seed: int = 0
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)
    reached: set[str] = field(default_factory=set)

    @property
    def full_device(self) -> Any:
        """The device with its index."""
        return registry.resolve_device(self.device)

    @property
    def backend(self) -> Backend:
        """The backend under test."""
        return registry.get(self.full_device.type)

    @property
    def dtypes(self) -> frozenset[DType]:
        """The dtypes that the device declares."""
        return self.backend.capabilities(self.full_device).dtypes

    @contextmanager
    def watching(self) -> Iterator[Paths]:
        """Note how ops are carried out; those without a kernel may run on the host,
        which `assert_no_fallback` then tells.

        A RuntimeWarning, such as NumPy's about an invalid value, is an error: an op says by its result what happened.
        """
        paths = Paths()
        with self.unwatched(), paths:
            yield paths
        # A kernel that is generated from the op's body is one of the device's kernels.
        self.taken.update(("kernel" if path == "lowered" else path, name) for name, path, _ in paths.taken)
        self.reached.update(op.name for op, _ in paths.calls)

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """As `watching` without the watcher: with no mode active, dispatch takes shortcuts that must be right too."""
        with warnings.catch_warnings(), fallback.using_policy("allow"):
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)  # polyad's own advice, about var() of one element, say
            yield

    def assert_no_fallback(self) -> None:
        """Raise `FellBack` if an op ran on the host."""
        names = sorted({name for path, name in self.taken if path == "fallback"})
        if names:
            raise FellBack(
                f"{self.device} has no kernel for {', '.join(names)}: it ran on the host "
                "(--allow-fallback accepts that)"
            )


class FellBack(AssertionError):
    """An op ran on the host for want of a kernel."""
