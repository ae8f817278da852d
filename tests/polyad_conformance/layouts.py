"""The same values in differently arranged memory: what a kernel that ignores strides or offsets gets wrong.

A layout is a function ``layout(values, device) -> Placed | None``: None where the shape does not allow it. Memory that
no element uses is filled with poison (NaN, the largest integer, True), so that reading it shows, and is watched, so
that writing it shows.

To add a layout, write a function and add it to `LAYOUTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyad

from .tolerance import wide


def to_host(tensor: Any) -> np.ndarray:
    """A copy of a tensor's values, whatever device and history it has."""
    return np.array(tensor._type.backend.to_host(tensor._array))


@dataclass
class Placed:
    """Values in device memory.

    Attributes:
        values: what the tensor holds; a layout may have changed what it was given, to repeat elements.
        tensor: the tensor under test.
        memory: a tensor over all the memory behind it.
        before: the bytes of that memory when it was made.
    """

    values: np.ndarray
    tensor: Any
    memory: Any
    before: bytes = b""

    def __post_init__(self) -> None:
        self.before = to_host(self.memory).tobytes()

    def assert_unchanged(self, what: str) -> None:
        """Assert that no byte of the memory has changed."""
        assert to_host(self.memory).tobytes() == self.before, f"{what} was changed by the call"


def poison(dtype: np.dtype) -> Any:
    """A value that spoils any result it gets into."""
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.nan


def contiguous(values: np.ndarray, device: Any) -> Placed:
    """Row-major, beginning its storage."""
    tensor = polyad.tensor(values, device=device)
    return Placed(values, tensor, tensor)


def transposed(values: np.ndarray, device: Any) -> Placed | None:
    """Column-major: dimensions in memory in the opposite order."""
    if values.ndim < 2:
        return None
    memory = polyad.tensor(np.ascontiguousarray(values.T), device=device)
    return Placed(values, memory.permute(tuple(reversed(range(values.ndim)))), memory)


def _window(
    values: np.ndarray, device: Any, sizes: tuple[int, ...], steps: tuple[int, ...], starts: tuple[int, ...]
) -> Placed:
    buffer = np.full(sizes, poison(values.dtype), values.dtype)
    if values.ndim:
        buffer[tuple(slice(start, start + step * n, step) for start, step, n in zip(starts, steps, values.shape))] = (
            values
        )
        strides = [int(np.prod(sizes[d + 1 :])) for d in range(values.ndim)]
        offset = sum(start * stride for start, stride in zip(starts, strides))
        strides = [stride * step for stride, step in zip(strides, steps)]
    else:
        buffer[starts] = values
        strides, offset = [], starts[0]
    memory = polyad.tensor(buffer, device=device)
    return Placed(values, polyad.as_strided(memory, values.shape, tuple(strides), offset), memory)


def sliced(values: np.ndarray, device: Any) -> Placed:
    """Every second element along each dimension, beginning at the second: ``memory[1::2, 1::2]``."""
    if not values.ndim:
        return _window(values, device, (3,), (), (1,))
    return _window(
        values, device, tuple(2 * max(n, 1) + 1 for n in values.shape), (2,) * values.ndim, (1,) * values.ndim
    )


def padded(values: np.ndarray, device: Any) -> Placed | None:
    """Rows without gaps but with some elements between them, after an offset: the window of an image."""
    if not values.ndim:
        return None
    sizes = tuple(n + 3 for n in values.shape)
    return _window(values, device, sizes, (1,) * values.ndim, (1,) * (values.ndim - 1) + (2,))


def embedded(values: np.ndarray, device: Any) -> Placed:
    """Row-major and dense, but in the middle of its memory, at an offset that no vector is aligned to.

    It begins before the view that it is taken from.
    """
    buffer = np.full(values.size + 8, poison(values.dtype), values.dtype)
    buffer[3 : 3 + values.size] = values.ravel()
    memory = polyad.tensor(buffer, device=device)
    strides = tuple(int(np.prod(values.shape[d + 1 :])) for d in range(values.ndim))
    return Placed(values, polyad.as_strided(memory[5:], values.shape, strides, 3), memory)


def expanded(values: np.ndarray, device: Any) -> Placed | None:
    """The first row (or element) repeated with stride 0; changes the values."""
    if not values.ndim or values.shape[0] < 2:
        return None
    row = np.ascontiguousarray(values[:1])
    memory = polyad.tensor(row, device=device)
    return Placed(np.broadcast_to(row, values.shape), memory.expand(values.shape), memory)


Layout = Callable[[np.ndarray, Any], Placed | None]

LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "transposed": (transposed,),
    "sliced": (sliced,),
    "padded": (padded,),
    "embedded": (embedded,),
    "expanded": (expanded,),
    "mixed": (transposed, sliced, contiguous),
}
"""By name, the layouts that the arrays of a call get in turn."""


def place(args: Any, layouts: tuple[Layout, ...], device: Any) -> tuple[Any, Any, list[Placed]]:
    """Put the arrays of *args* on *device*; a layout that a shape does not allow becomes contiguous.

    Returns the arguments as the op gets them, as the reference gets them, and what was placed.
    """
    placed: list[Placed] = []

    def one(value: Any) -> tuple[Any, Any]:
        if isinstance(value, (list, tuple)):
            pairs = [one(item) for item in value]
            return type(value)([a for a, _ in pairs]), type(value)([b for _, b in pairs])
        if not isinstance(value, np.ndarray):
            return value, value
        layout = layouts[len(placed) % len(layouts)]
        put = layout(value, device) or contiguous(value, device)
        placed.append(put)
        return put.tensor, wide(put.values)

    tensors, references = one(tuple(args))
    return tensors, references, placed
