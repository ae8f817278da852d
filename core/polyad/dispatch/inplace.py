"""Writing into tensors: the op, then a write into the storage, then a version bump, then the history of everything that aliases it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.node import Leaf, make_node
from ..dtypes import can_cast
from ..errors import AutogradError, DeviceError, DTypeError, ShapeError
from ..layout import has_internal_overlap
from ..state import state, user_line
from ..tensor import Tensor
from .views import alias, layout_of

if TYPE_CHECKING:
    from .op import Op


def inplace(name: str, call: Callable[..., Any], op: Op | None, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Write ``call(target, *args)`` into *target*; the in-place form *name* of a public function."""
    check_writable(name, target)
    if op is not None and not kwargs and not state.modes and not (state.grad_enabled and _any_history(target, args)):
        out_kernel = _direct(op, target, args)
        if out_kernel is not None:
            try:
                out_kernel(target._array, *[a._array if isinstance(a, Tensor) else a for a in args], out=target._array)
            except Exception:
                pass  # shapes that do not fit; the plain path below finds and explains it, nothing has been written
            else:
                wrote(name, target)
                return target
    result = call(target, *args, **kwargs)
    return write(name, target, result)


def _any_history(target: Tensor, args: tuple[Any, ...]) -> bool:
    return target._node is not None or any(isinstance(arg, Tensor) and arg._node is not None for arg in args)


def _direct(op: Op, target: Tensor, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The kernel that may write straight into *target*, if there is one whose result has its dtype and shape."""
    from .plan import find_plan

    if len(args) + 1 != len(op.names):
        return None
    plan = find_plan(op, (target, *args))
    if plan.out_kernel is None or plan.indirect is not None or plan.nd is not target._type.nd:
        return None
    shape = target._array.shape
    for arg in args:
        if isinstance(arg, Tensor) and arg._array.shape != shape:
            from ..layout import broadcast_shapes

            if broadcast_shapes(shape, arg._array.shape) != shape:
                return None
    return plan.out_kernel


def check_writable(name: str, target: Any) -> None:
    """Raise unless *target* may be written in place: no leaf that requires a gradient (unless recording is off), no expanded tensor."""
    if not isinstance(target, Tensor):
        from ..errors import ArgumentTypeError

        raise ArgumentTypeError(f"{name}: {type(target).__name__} is no tensor", operands={"self": target}, fix="call it on a tensor")
    if state.grad_enabled and isinstance(target._node, Leaf):
        raise AutogradError(f"{name}: a leaf that requires a gradient cannot be changed in place", operands={"self": target}, fix="work under polyad.no_grad(), or use the out-of-place form")
    if state.grad_enabled and target._view is not None and target._view.base is not None and isinstance(target._view.base._node, Leaf):
        raise AutogradError(
            f"{name}: a view of a leaf that requires a gradient cannot be changed in place",
            operands={"self": target, "base": target._view.base},
            fix="work under polyad.no_grad(), or clone() the leaf first",
        )
    if target._storage is not None and has_internal_overlap(target._array.shape, target._array.strides):
        raise ShapeError(f"{name}: several elements of an expanded tensor are one place in memory", operands={"self": target}, fix="clone() it before writing")


def write(name: str, target: Tensor, result: Tensor) -> Tensor:
    """Write *result* into *target* and give target the result's history. Raises if shape, dtype or device do not fit."""
    if result._array.shape != target._array.shape:
        raise ShapeError(
            f"{name}: the result {tuple(result.shape)} does not fit into self {tuple(target.shape)}", operands={"self": target}, fix="use the out-of-place form, which may broadcast self"
        )
    if result._type.device != target._type.device:
        raise DeviceError(f"{name}: result and self are on different devices", operands={"self": target, "result": result}, fix="move one of them with .to(device)")
    if not can_cast(result._type.dtype, target._type.dtype):
        raise DTypeError(
            f"{name}: the result is {result._type.dtype.name}, which self ({target._type.dtype.name}) cannot hold", operands={"self": target}, fix="convert self first, or use the out-of-place form"
        )
    if result._type.dtype is not target._type.dtype and result._node is not None:
        result = result.to(target._type.dtype)
    target._type.backend.copy(target._array, result._array)
    wrote(name, target)
    if state.grad_enabled and (result._node is not None or target._node is not None):
        _take_history(target, result)
    return target


def wrote(name: str, target: Tensor) -> None:
    """Count a write into *target*'s storage."""
    storage = target._storage
    if storage is None:
        storage = target._make_storage()
    storage.bump(name, user_line())


def _take_history(target: Tensor, result: Tensor) -> None:
    """Make *target*'s history that of *result*, and renew that of its base and of all differentiable views."""
    node = result._node
    base = None if target._view is None else target._view.base
    storage = target._storage
    assert storage is not None
    if base is not None and (base._node is not None or node is not None):
        base._node = _written_base(base, target, node)
    root = target if base is None else base
    target._node = node
    if base is not None:
        storage.track(target)
    for reference in list(storage.views.values()):
        view = reference()
        if view is None or view is root or view._view is None or view._view.base is not root:
            continue
        view._node = None if root._node is None else _view_of_base(root, view)


def _written_base(base: Tensor, view: Tensor, node: Any) -> Any:
    """The history of *base* after *view* of it was overwritten by a result with history *node*."""
    shape, strides, offset = layout_of(view)
    within = offset - layout_of(base).offset
    like = layout_of(base)

    def to_base(gradient: Tensor) -> Tensor:
        kept = _in_layout(gradient, like.shape, like.strides).clone()
        alias(kept, shape, strides, within).fill_(0)
        return kept

    def to_view(gradient: Tensor) -> Tensor:
        return _strided(_in_layout(gradient, like.shape, like.strides), shape, strides, within)

    calls: list[Any] = []
    if base._node is not None:
        calls.append((base._node, to_base, ()))
    if node is not None:
        calls.append((node, to_view, ()))
    return make_node("CopySlices", calls, base._array.shape, base._type)


def _view_of_base(base: Tensor, view: Tensor) -> Any:
    """The history of *view* as a strided window of *base* as it is now."""
    shape, strides, offset = layout_of(view)
    like = layout_of(base)
    within = offset - like.offset

    def to_base(gradient: Tensor) -> Tensor:
        from ..ops.creation import zeros

        spread = zeros(like.shape, dtype=gradient.dtype, device=gradient.device)
        window = _strided(_in_layout(spread, like.shape, like.strides), shape, strides, within)
        window.copy_(gradient)
        return spread

    return make_node("AsStridedBackward0", [(base._node, to_base, ())], view._array.shape, view._type)


def _in_layout(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """*tensor* (of *shape*) in memory with exactly these dense *strides*, at offset 0; itself if it already is."""
    if tensor._view is None and tensor.stride() == strides:
        return tensor
    kind = tensor._type
    made = alias(Tensor._of(kind.backend.empty(shape, kind.dtype, kind.device), kind), shape, strides, 0)
    made._view = None
    return made.copy_(tensor)


def _strided(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
    from ..ops.shape import as_strided

    return as_strided(tensor, shape, strides, offset)
