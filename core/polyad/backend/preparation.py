"""Getting a declared kernel ready for a call signature: its dtypes, its special form, the layout that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..layout import contiguous_strides
from .interface import Kernel, Signature, TensorType


def flat(types: Signature) -> Iterator[Any]:
    """The entries of a signature with lists of tensors spread out."""
    for entry in types:
        if isinstance(entry, tuple):
            yield from flat(entry)
        else:
            yield entry


def prepare(kernel: Kernel, types: Signature) -> Callable[..., Any] | None:
    """The kernel's callable for this signature, or None if it does not take it."""
    if kernel.dtypes is not None and any(
        isinstance(t, TensorType) and t.dtype not in kernel.dtypes for t in flat(types)
    ):
        return None
    function: Callable[..., Any] | None = kernel.function
    if kernel.specialize is not None:
        function = kernel.specialize(types)
    if function is not None and kernel.contiguous:
        return _with_contiguous_operands(function, types)
    return function


def _with_contiguous_operands(function: Callable[..., Any], types: Signature) -> Callable[..., Any]:
    def contiguous(array: Any, entry: Any) -> Any:
        if isinstance(entry, tuple):
            return [contiguous(part, part_type) for part, part_type in zip(array, entry, strict=True)]
        if not isinstance(entry, TensorType):
            return array
        size = entry.dtype.itemsize
        if array.strides == tuple(stride * size for stride in contiguous_strides(array.shape)):
            return array
        copied = entry.backend.empty(array.shape, entry.dtype, entry.device)
        entry.backend.copy(copied, array)
        return copied

    def call(*args: Any, **kwargs: Any) -> Any:
        operands = [contiguous(array, entry) for array, entry in zip(args, types, strict=False)]
        return function(*operands, *args[len(types) :], **kwargs)

    return call
