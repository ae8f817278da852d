"""``out=``: what a call computes, written to a tensor that the user gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.dtypes import DType, can_cast
from ..base.state import state, warn_user
from ..errors import ArgumentTypeError, AutogradError, DeviceError, DTypeError, safe_repr
from ..tensor import Tensor
from .inplace import any_history, check_writable, wrote
from .overlap import must_wait, share
from .plan import array_of, find_plan, shape_of
from .structure import is_elementwise

if TYPE_CHECKING:
    from .declared import Op


def wrote_directly(op: Op, out: Any, values: tuple[Any, ...]) -> bool:
    """Whether a kernel has written ``op(*values)`` straight into *out*. If not, nothing has been written, and the way
    of all results into ``out`` says what does not fit.

    Raises RuntimeError if *op* is elementwise and an operand is another part of out's memory.
    """
    elementwise = is_elementwise(op)
    count = len(op.operands)
    wait = False
    if isinstance(out, Tensor):
        if out._storage is not None and share(out._storage, values):
            wait = must_wait(op.name, out, values[:count], elementwise, refused=elementwise)
    elif elementwise and isinstance(out, (tuple, list)):
        for tensor in out:
            if isinstance(tensor, Tensor) and tensor._storage is not None:
                must_wait(op.name, tensor, values[:count], elementwise)
    if wait or state.modes or not isinstance(out, Tensor) or op.outputs or op.shape is None:
        return False
    if state.grad_enabled and any_history(out, values):
        return False
    types = tuple([value._type if isinstance(value, Tensor) else value.__class__ for value in values[:count]])
    try:
        plan = op.plans.get(types if count > 1 else types[0]) or find_plan(op, values)
        if plan.out_kernel is None or plan.indirect is not None or plan.nd is not out._type.nd:
            return False
        if op.shape(*map(shape_of, values[:count]), *values[count:]) != out._array.shape:
            return False
        check_writable(op.name, out)
        plan.out_kernel(*map(array_of, values[:count]), *values[count:], out=out._array)
    except Exception:
        return False
    wrote(op.name, out)
    return True


def write_out(out: Any, result: Any, warned: bool = True) -> Any:
    """Put *result* into *out*, the tensor (or tuple of tensors) that the user gave, resized where it is of another
    shape, with a warning; returns *out*.

    Raises RuntimeError when out's device differs or its dtype cannot hold the result, TypeError when it is no tensor.
    """
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise ArgumentTypeError(
                f"out: the op has {len(result)} results, out is {safe_repr(out)}",
                fix="give a tuple with a tensor for each result",
            )
        written = [write_out(tensor, part) for tensor, part in zip(out, result, strict=True)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    _check(out, result)
    if out._array.shape != result._array.shape:
        if out._node is not None:
            raise AutogradError(
                "out: a tensor that requires a gradient cannot be resized",
                operands={"out": out, "result": result},
                fix="give a tensor of the result's shape",
            )
        if warned and 0 not in out._array.shape:
            warn_user(
                f"out: a tensor of shape {tuple(out.shape)} was resized to the result's, {tuple(result.shape)}; "
                "out.resize_(0) beforehand says that this is meant",
                UserWarning,
            )
        out.resize_(result._array.shape)
    out.copy_(result)
    return out


def agreed_dtype(dtype: DType | None, out: Tensor) -> DType:
    """The dtype to compute in: that of *out*. Raises RuntimeError if *dtype*, which was given beside it, is another."""
    if isinstance(dtype, DType) and dtype is not out._type.dtype:
        raise DTypeError(
            f"out: dtype={dtype} was given, and a tensor of another dtype",
            operands={"out": out},
            fix="drop dtype=, or make out with it",
        )
    found: DType = out._type.dtype
    return found


def write_created(out: Any, result: Any) -> Any:
    """As `write_out`, for a result that is made of no tensor: to give the shape is to ask for another size."""
    return write_out(out, result, warned=False)


def write_sequence(out: Any, result: Any) -> Any:
    """As `write_created`, for numbers that are counted, such as those of ``arange``: they are laid down in the order of
    out, whatever its shape, if it has as many elements.
    """
    if isinstance(out, Tensor) and out.numel() == result.numel():
        result = result.reshape(out._array.shape)
    return write_created(out, result)


def _check(out: Any, result: Tensor) -> None:
    if not isinstance(out, Tensor):
        raise ArgumentTypeError(
            f"out: {safe_repr(out)} is no tensor", fix="pass a tensor of the result's dtype and device"
        )
    if out.device != result.device:
        raise DeviceError(
            "out: it is on another device than the result",
            operands={"out": out, "result": result},
            fix=f"make out on {result.device}",
        )
    if not can_cast(result.dtype, out.dtype):
        raise DTypeError(
            "out: its dtype cannot hold the result",
            operands={"out": out, "result": result},
            fix=f"make out with dtype {result.dtype}",
        )
    if result.requires_grad or (out.requires_grad and state.grad_enabled):
        raise AutogradError(
            "out: a result written to out has no gradient, but an operand requires one",
            operands={"out": out},
            fix="drop out=, or work under polyad.no_grad()",
        )
