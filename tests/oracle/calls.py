"""A call that can be made in both libraries, without the tensors of either.

Invariant: a `Given` describes memory, not a value: both libraries get the same bytes, shape, strides and offset.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from polyad.base.dtypes import DType
from polyad.interop.numpy import polyad_dtype

Form = Literal["function", "method", "in place", "out", "property"]


@dataclass(frozen=True, eq=False)
class Given:
    """A tensor argument: its memory, and the window of it that the tensor shows (strides and offset in elements)."""

    memory: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    requires_grad: bool = False

    @property
    def dtype(self) -> DType:
        """The tensor's dtype."""
        return polyad_dtype(self.memory.dtype)

    @property
    def values(self) -> np.ndarray:
        """What the tensor holds, as a new array."""
        item = self.memory.itemsize
        window = np.lib.stride_tricks.as_strided(
            self.memory[self.offset :], self.shape, [stride * item for stride in self.strides]
        )
        return window.copy()

    def __repr__(self) -> str:
        text = f"tensor({self.values.tolist()}, dtype={self.dtype.name}"
        if self.strides != row_major(self.shape) or self.offset or self.memory.size != self.values.size:
            text += f", shape={self.shape}, strides={self.strides}, offset={self.offset}, of={self.memory.size}"
        elif 0 in self.shape:
            text += f", shape={self.shape}"
        return text + (", requires_grad=True)" if self.requires_grad else ")")


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of memory without gaps."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)


@dataclass(frozen=True, eq=False)
class Call:
    """One call of one function.

    Attributes:
        path: the function's name under ``polyad``, a key of `polyad.dispatch.op.PUBLIC`, or ``"Tensor.<name>"``.
        form: how it is called; "out" gives `out` as a keyword, "in place" calls the method ``<name>_``.
        grad: whether gradients are compared, where an argument requires one.
        incoming: the incoming gradient of every element; None: random ones.
        reference, magnitude: what must come out, in wide NumPy arithmetic, and what its errors are relative to, if the
            call began as a conformance sample that says so; both take the call's arguments as arrays.
    """

    path: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    form: Form = "function"
    grad: bool = False
    incoming: float | None = None
    reference: Callable[..., Any] | None = None
    magnitude: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """The function's last name."""
        return self.path.rpartition(".")[2]

    def givens(self) -> list[Given]:
        """The tensors among the arguments, in order."""
        return [value for value in leaves((self.args, dict(self.kwargs))) if isinstance(value, Given)]

    def random(self) -> np.random.Generator:
        """Random numbers that depend on nothing but the function and its tensors' shapes.

        So that a call whose tensors are moved a little, or are of another dtype, meets the same incoming gradients.
        """
        shapes = [given.shape for given in self.givens()]
        return np.random.default_rng(zlib.crc32(repr((self.path, shapes)).encode()))

    def with_gradients(self) -> Call:
        """This call with every floating tensor requiring a gradient."""

        def asked(given: Given) -> Given:
            return replace(given, requires_grad=given.dtype.is_floating_point or given.dtype.is_complex)

        return replace(
            self, args=mapped(self.args, Given, asked), kwargs=mapped(dict(self.kwargs), Given, asked), grad=True
        )

    def __repr__(self) -> str:
        shown = [_shown(value) for value in self.args]
        name = f"{shown.pop(0)}.{self.name}" if self.form in ("method", "in place", "property") and shown else self.path
        if self.form == "property":
            return name
        shown += [f"{key}={_shown(value)}" for key, value in self.kwargs.items()]
        return f"{name}{'_' if self.form == 'in place' else ''}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_shown, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return repr(value)


def leaves(tree: Any) -> list[Any]:
    """Everything in nested lists, tuples and dicts that is none of these."""
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    return [tree]


def mapped(tree: Any, kind: type | tuple[type, ...], change: Callable[[Any], Any]) -> Any:
    """Nested lists, tuples and dicts with ``change(leaf)`` for each leaf of type *kind*."""
    if isinstance(tree, dict):
        return {key: mapped(item, kind, change) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        items = [mapped(item, kind, change) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if isinstance(tree, slice):
        return slice(*(mapped(part, kind, change) for part in (tree.start, tree.stop, tree.step)))
    return change(tree) if isinstance(tree, kind) else tree


# ------------------------------------------------------------------------------------------------------- layouts


def contiguous(values: np.ndarray) -> Given:
    """Row-major, beginning its memory."""
    return Given(np.ascontiguousarray(values).reshape(-1), values.shape, row_major(values.shape))


def permuted(values: np.ndarray, order: tuple[int, ...]) -> Given:
    """Without gaps, with the dimensions in memory in another *order*, the slowest first."""
    memory = np.ascontiguousarray(values.transpose(order))
    strides = [0] * values.ndim
    for dim, stride in zip(order, row_major(memory.shape)):
        strides[dim] = stride
    return Given(memory.reshape(-1), values.shape, tuple(strides))


def transposed(values: np.ndarray) -> Given:
    """Column-major."""
    return permuted(values, tuple(reversed(range(values.ndim))))


def gapped(values: np.ndarray, steps: tuple[int, ...], start: int = 1) -> Given:
    """Every step-th element of a row-major tensor along each dimension, after *start* elements; the rest is poison."""
    spread = tuple((max(size, 1) - 1) * step + 1 for size, step in zip(values.shape, steps))
    strides = tuple(stride * step for stride, step in zip(row_major(spread), steps))
    poison = True if values.dtype.kind == "b" else 77 if values.dtype.kind in "iu" else np.nan
    memory = np.full(int(np.prod(spread)) + start + 1, poison, values.dtype)
    window = np.lib.stride_tricks.as_strided(
        memory[start:], values.shape, [stride * memory.itemsize for stride in strides]
    )
    window[...] = values
    return Given(memory, values.shape, strides, start)


def expanded(values: np.ndarray, dim: int = 0) -> Given:
    """The first slice along *dim* repeated with stride 0; changes the values."""
    one = np.ascontiguousarray(values.take(range(min(1, values.shape[dim])), axis=dim))
    strides = list(row_major(one.shape))
    strides[dim] = 0
    return Given(one.reshape(-1), values.shape, tuple(strides))


def every_layout(values: np.ndarray) -> dict[str, Given]:
    """*values* in each layout that its shape allows."""
    found = {"contiguous": contiguous(values)}
    if values.ndim >= 2:
        found["transposed"] = transposed(values)
    if values.ndim >= 3:
        found["channels last"] = permuted(values, (0, *range(2, values.ndim), 1))
    found["stepped"] = gapped(values, (1,) * (values.ndim - 1) + (2,) * min(values.ndim, 1))
    found["offset"] = gapped(values, (1,) * values.ndim, 2)
    if values.ndim and values.shape[0] > 1:
        found["expanded"] = expanded(values)
    return found
