"""Getting a declared kernel ready for a call signature: its dtypes, its special form, the layout that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..base.dtypes import DType, bfloat16, float16, float32
from ..base.shapes_and_strides import contiguous_strides
from .interface import Kernel, Signature, TensorType

if TYPE_CHECKING:
    from ..dispatch.promotion import Typing


def flat(types: Signature) -> Iterator[Any]:
    """The entries of a signature with lists of tensors spread out."""
    for entry in types:
        if isinstance(entry, tuple):
            yield from flat(entry)
        else:
            yield entry


def prepare(kernel: Kernel, types: Signature, typing: Typing | None = None) -> Callable[..., Any] | None:
    """The kernel's callable for this signature, or None if it does not take it.

    *typing* is what the op's dtype rule says of the signature; without it the callable is none to be called.
    """
    if kernel.dtypes is not None:
        stored = () if typing is None else [dtype for dtype in typing.outputs if not dtype.computes]
        dtypes = [entry.dtype for entry in flat(types) if isinstance(entry, TensorType)]
        if not kernel.dtypes.issuperset((*dtypes, *stored)):
            return None
    function: Callable[..., Any] | None = kernel.function
    if kernel.over is not None:
        function = _over_others(kernel, types, typing)
    elif kernel.specialize is not None:
        function = kernel.specialize(types)
    if function is not None and typing is not None and (kernel.load is not None or kernel.store is not None):
        function = _with_conversions(function, kernel, types, typing)
    if function is not None and kernel.contiguous:
        return _with_contiguous_operands(function, types)
    return function


def takes_out(kernel: Kernel) -> bool:
    """Whether the callable that `prepare` gives for *kernel* takes ``out``."""
    return kernel.out and not (kernel.contiguous or kernel.store)


def _over_others(kernel: Kernel, types: Signature, typing: Typing | None) -> Callable[..., Any] | None:
    """The callable of a kernel that hands calls on: to the first of those that it outranks, else to the op's body."""
    assert kernel.over is not None
    for other in kernel.outranked:
        plain = prepare(other, types, typing)
        if plain is not None:
            return kernel.over(types, plain, plain if takes_out(other) else writing(plain, types))
    return kernel.over(types, left_to_the_body, left_to_the_body) if kernel.partial else None


def unspecialized(*operands: Any) -> Any:
    """What stands for the function of a kernel that is written for each signature."""
    raise AssertionError("written for each signature")


def left_to_the_body(*args: Any, out: Any = None) -> Any:
    """The kernel of a composite that nobody wrote one for."""
    return NotImplemented


def writing(kernel: Callable[..., Any], types: Signature) -> Callable[..., Any]:
    """*kernel*, which gives new arrays, with ``out``."""
    backends = [entry.backend for entry in flat(types) if isinstance(entry, TensorType)]

    def call(*args: Any, out: Any = None) -> Any:
        result = kernel(*args)
        if out is None or result is NotImplemented:
            return result
        for target, array in zip(out, result) if isinstance(out, tuple) else ((out, result),):
            backends[0].copy(target, array)
        return out

    return call


def _as_given(value: Any, dtype: DType) -> Any:
    return value


def _with_conversions(
    function: Callable[..., Any], kernel: Kernel, types: Signature, typing: Typing
) -> Callable[..., Any]:
    load, store = kernel.load or _as_given, kernel.store or _as_given
    count, outputs = len(types), typing.outputs

    def computed_in(entry: Any, cast: DType | None) -> Any:
        """The dtype of an operand; for a list of tensors one each, for an absent operand None."""
        if isinstance(entry, tuple):
            return tuple(computed_in(part, cast) for part in entry)
        if isinstance(entry, TensorType):
            return entry.dtype
        if entry is type(None):
            return None
        # A rule that leaves a number as it is beside a half type wants more of it than a half type holds.
        return cast or (float32 if outputs[0] in (float16, bfloat16) else outputs[0])

    dtypes = [computed_in(entry, cast) for entry, cast in zip(types, typing.casts, strict=True)]

    def loaded(operand: Any, dtype: Any) -> Any:
        if isinstance(dtype, tuple):
            return [loaded(part, part_dtype) for part, part_dtype in zip(operand, dtype, strict=True)]
        return operand if dtype is None else load(operand, dtype)

    def call(*args: Any) -> Any:
        result = function(*map(loaded, args, dtypes), *args[count:])
        if len(outputs) == 1:
            return store(result, outputs[0])
        return tuple(map(store, result, outputs))

    return call


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
