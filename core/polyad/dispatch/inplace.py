"""Writing into tensors: the op, then a write into the storage, then a version bump, then the history of what aliases
it.

A tensor's history changes when it is written to, and so does the history of its base and of the base's other views.
Invariant: of two tensors that share memory and were created with gradients on, both show the history of what the memory
holds. The base gets a CopySlices node: its old history outside of the written window, the result's inside. Every other
view becomes a window of the base as it is now. Views taken under ``no_grad`` are not renewed, therefore a recorded
write through such a view is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from sys import _getframe
from typing import TYPE_CHECKING, Any

from ..base import provided
from ..base.dtypes import can_cast
from ..base.shapes_and_strides import Layout, has_internal_overlap, has_shared_places, in_parts
from ..base.state import UNDER_INFERENCE, place_from, state
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceError,
    DTypeError,
    NotSupported,
    ShapeError,
)
from ..history.node import Leaf, Node, make_node, pass_on
from ..tensor import Tensor
from ..tensor.storage import InferenceView, ViewOf
from ..transforms.wrapped import Wrapped, tracked_outside
from .autocast import without_casts
from .catalogue import OPS, PUBLIC
from .effects import Effect, Result, declare
from .modes import twin
from .overlap import must_wait, share
from .plan import array_of, find_plan
from .structure import is_elementwise
from .views import layout_of
from .windows import clear_parts, put_parts, take_parts

if TYPE_CHECKING:
    from .declared import Function, Op


def form_of(public: Function) -> Callable[..., Tensor]:
    """The method that is the in-place form of a public function."""
    name, call = public.name + "_", public.call
    op = public.op or public.fronts

    @functools.wraps(call)
    def form(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if state.modes:
            return inplace_effect(name, call, op).through_modes(self, args, kwargs)  # type: ignore[no-any-return]
        return _inplace(name, call, op, self, args, kwargs)

    if name in PRODUCTS:
        form = functools.wraps(call)(without_casts(form))
    form.__name__ = name
    form.__qualname__ = f"Tensor.{name}"
    form.__doc__ = f"In-place form of `polyad.{public.name}`."
    return form


def inplace(name: str, call: Callable[..., Any], op: Op | None, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Write ``call(target, *args)`` into *target*; the in-place form *name* of a public function.

    *op* is the op that does the work when *call* gets its operands alone, None if there is no such op.
    """
    if state.modes:
        return inplace_effect(name, call, op).through_modes(target, args, kwargs)  # type: ignore[no-any-return]
    return _inplace(name, call, op, target, args, kwargs)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InPlace(Effect):
    """An in-place form.

    Attributes:
        function: computes what is written.
    """

    function: Callable[..., Any] | None = None


_effects: dict[str, InPlace] = {}


def inplace_effect(name: str, call: Callable[..., Any], op: Op | None) -> InPlace:
    """What modes see of the in-place form *name*; its arguments are (target, args, kwargs)."""
    effect = _effects.get(name)
    if effect is None or effect.function is not call:
        effect = _effects[name] = InPlace(
            name,
            lambda target, args, kwargs: inplace(name, call, op, target, *args, **kwargs),
            lambda target, args, kwargs: _inplace(name, call, op, target, args, kwargs),
            reads=(0, 1, 2),
            writes=0,
            result=Result.TARGET,
            op=op,
            packed=True,
            function=call,
        )
    return effect


def _inplace(
    name: str,
    call: Callable[..., Any],
    op: Op | None,
    target: Tensor,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Tensor:
    check_writable(name, target)
    if "out" in kwargs:
        raise ArgumentTypeError(
            f"{name}: got an unexpected keyword argument 'out'", fix="it writes to self; drop out, or the underscore"
        )
    storage, wait = target._storage, False
    if storage is not None and (share(storage, args) or (kwargs and share(storage, kwargs.values()))):
        wait = _must_wait(name, op, target, (*args, *kwargs.values()))
    if state.grad_enabled and (
        any_history(target, args) or (isinstance(target, Wrapped) and any(map(tracked_outside, (target, *args))))
    ):
        return write(name, target, _recorded(call, op, target, args, kwargs))
    if op is not None and not kwargs and not wait and not state.modes:
        out_kernel = _direct(op, target, args)
        if out_kernel is not None:
            try:
                if len(args) == 1:  # as most have; an array unpacked costs as much as a small kernel
                    out_kernel(target._array, array_of(args[0]), out=target._array)
                else:
                    out_kernel(target._array, *map(array_of, args), out=target._array)
            except Exception:
                pass  # shapes that do not fit; the plain path below finds and explains it, nothing has been written
            else:
                wrote(name, target)
                return target
    return write(name, target, call(target, *args, **kwargs))


def _must_wait(name: str, op: Op | None, target: Tensor, values: tuple[Any, ...]) -> bool:
    """As `must_wait`, of the operands beside *target* of an in-place form."""
    if op is None:  # masked_fill_ and its like read a 0-d tensor before they write
        values = tuple([value for value in values if not isinstance(value, Tensor) or value._array.shape])
    return must_wait(name, target, values, op is not None and is_elementwise(op), name not in PRODUCTS)


PRODUCTS = frozenset({"addmm_", "addmv_", "addbmm_", "baddbmm_"})
"""In-place forms whose operands may be other parts of the memory that is written: they read all before they write."""


def _recorded(
    call: Callable[..., Any], op: Op | None, target: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Tensor:
    """``call(target, *args)`` such that what its node saves of *target* survives the write to come."""
    # Saved-tensor hooks get what is saved before it is known whether the write will change it.
    single = op is not None and op.kind == "primitive" and not state.saved_hooks
    if isinstance(target, Wrapped):
        before = target._copied()
        single = False
    else:
        before = Tensor._of(target._array if single else _copy_of(target), target._type)
        before._node = target._node
    twin(target, before)
    args = tuple([before if arg is target else arg for arg in args])
    result: Tensor = call(before, *args, **kwargs)
    node = result._node
    if op is not None and single and node is not None and (node.made_by is not op or _saves(node, before)):
        before._array = _copy_of(target)
    return result


def _saves(node: Node, tensor: Tensor) -> bool:
    return any(value is tensor for _, _, saved in node.calls or () for value in saved)


def _copy_of(tensor: Tensor) -> Any:
    type_ = tensor._type
    array = type_.backend.empty(tensor._array.shape, type_.dtype, type_.device)
    type_.backend.copy(array, tensor._array)
    return array


def any_history(target: Tensor, args: tuple[Any, ...]) -> bool:
    """Whether *target* or a tensor among *args* has a history."""
    if target._node is not None:
        return True
    for arg in args:  # noqa: SIM110  a generator costs several times the look
        if isinstance(arg, Tensor) and arg._node is not None:
            return True
    return False


def _broadcasts_to(shape: tuple[int, ...], have: tuple[int, ...]) -> bool:
    lead = len(shape) - len(have)
    return lead >= 0 and all(size in (1, want) for size, want in zip(have, shape[lead:], strict=True))


def _type_entry(value: Any) -> Any:
    """What a signature says of an operand."""
    if isinstance(value, Tensor):
        return value._type
    if value.__class__ is list:
        return tuple([item._type if isinstance(item, Tensor) else item.__class__ for item in value])
    return value.__class__


def _direct(op: Op, target: Tensor, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The kernel that may write straight into *target*, None if the result has not its dtype and shape."""
    if len(args) + 1 != len(op.names):
        return None
    plan = None
    if not op.params:
        if len(args) == 1:  # of most
            value = args[0]
            plan = op.plans.get((target._type, value._type if isinstance(value, Tensor) else value.__class__))
        else:
            plan = op.plans.get((target._type, *map(_type_entry, args)) if args else target._type)
    elif not op.keyed:
        plan = op.plans.get((target._type, *map(_type_entry, args[: len(op.operands) - 1])))
    if plan is None:
        plan = find_plan(op, (target, *args))
    if plan.out_kernel is None or plan.indirect is not None or plan.nd is not target._type.nd:
        return None
    shape = target._array.shape
    # An op with a list of tensors (index_put) has shapes of its own; its kernel checks them before it writes.
    for arg in args:
        if (
            isinstance(arg, Tensor)
            and arg._array.shape != shape
            and not _broadcasts_to(shape, arg._array.shape)
            and "list" not in op.operands.values()
        ):
            return None
    return plan.out_kernel


def check_writable(name: str, target: Any, *, one_value: bool = False) -> None:
    """Raise unless *target* may be written in place: no leaf that requires a gradient (unless recording is off), no
    expanded tensor, but to write *one value* everywhere.
    """
    if not isinstance(target, Tensor):
        raise ArgumentTypeError(
            f"{name}: {type(target).__name__} is no tensor", operands={"self": target}, fix="call it on a tensor"
        )
    view = target._view
    if view.__class__ is InferenceView and state.no_modes is not UNDER_INFERENCE:
        raise AutogradError(
            f"{name}: a tensor made in inference_mode cannot be written to outside of it",
            operands={"self": target},
            fix="clone() it first",
        )
    if (view is not None or target._node is not None) and state.grad_enabled:
        _check_history(name, target)
    storage = target._storage
    if storage is None:
        return
    if storage.read_only:
        raise ArgumentError(
            f"{name}: the tensor shows memory of another library that is read-only",
            operands={"self": target},
            fix="clone() it before writing",
        )
    if storage.conjugate_of is not None and storage.conjugate_of() is not None:
        raise NotSupported(
            f"{name}: conj() copies here, so the tensor that was conjugated would miss the write",
            operands={"self": target},
            fix="write to that tensor, or take conj_physical() or resolve_conj() of it for a tensor of its own",
        )
    if not one_value and has_internal_overlap(target._array.shape, target._array.strides):
        raise ShapeError(
            f"{name}: several elements of an expanded tensor are one place in memory",
            operands={"self": target},
            fix="clone() it before writing",
        )


def _check_history(name: str, target: Tensor) -> None:
    if isinstance(target._node, Leaf):
        raise AutogradError(
            f"{name}: a leaf that requires a gradient cannot be changed in place",
            operands={"self": target},
            fix="work under polyad.no_grad(), or use the out-of-place form",
        )
    base = None if target._view is None else target._view.base
    if base is None or base._node is None:
        return
    if isinstance(base._node, Leaf):
        raise AutogradError(
            f"{name}: a view of a leaf that requires a gradient cannot be changed in place",
            operands={"self": target, "base": base},
            fix="work under polyad.no_grad(), or clone() the leaf first",
        )
    if target._node is None:
        raise _taken_unrecorded(name, target, base)


def _taken_unrecorded(name: str, target: Tensor, base: Tensor) -> AutogradError:
    return AutogradError(
        f"{name}: the view was taken under no_grad and is written with gradients on, so its base would miss the write",
        operands={"self": target, "base": base},
        fix="take the view with gradients on, write under polyad.no_grad(), or detach() it first",
    )


def write(name: str, target: Tensor, result: Tensor) -> Tensor:
    """Write *result* into *target* and give target the result's history. Raises if shape, dtype or device do not
    fit.
    """
    if state.modes:
        return WRITE.through_modes(name, target, result)  # type: ignore[no-any-return]
    return _write(name, target, result)


def _write(name: str, target: Tensor, result: Tensor) -> Tensor:
    if result._array.shape != target._array.shape:
        raise ShapeError(
            f"{name}: the result {tuple(result.shape)} does not fit into self {tuple(target.shape)}",
            operands={"self": target},
            fix="use the out-of-place form, which may broadcast self",
        )
    if result._type.device != target._type.device:
        raise DeviceError(
            f"{name}: result and self are on different devices",
            operands={"self": target, "result": result},
            fix="move one of them with .to(device)",
        )
    if not can_cast(result._type.dtype, target._type.dtype):
        raise DTypeError(
            f"{name}: the result is {result._type.dtype.name}, which self ({target._type.dtype.name}) cannot hold",
            operands={"self": target},
            fix="convert self first, or use the out-of-place form",
        )
    if result._type.dtype is not target._type.dtype and result._node is not None:
        result = result.to(target._type.dtype)
    node = result._node
    if state.grad_enabled and node is not None:
        if target._view is not None and target._view.base is not None:
            _check_base(name, target, target._view.base)
        if isinstance(node, Leaf):
            # The leaf's node stays the leaf's alone.
            node = make_node("CopyBackwards", [(node, pass_on, ())], target._array.shape, target._type)
    if isinstance(target, Wrapped):
        target._store(name, result)
    else:
        target._type.backend.copy(target._array, result._array)
    wrote(name, target)
    if state.grad_enabled and (node is not None or target._node is not None):
        take_history(target, node)
    return target


WRITE = declare(Effect("write", write, _write, reads=(2,), writes=1, result=Result.TARGET, of=1, caller=0))


def _zeros(gradient: Tensor) -> Tensor:
    zeros: Tensor = PUBLIC["zeros_like"].call(gradient)
    return zeros


def _check_base(name: str, target: Tensor, base: Tensor) -> None:
    """Raise if a recorded write to *target*, a view, could not become part of its base's history."""
    if not any(view is target for view in target._storage.live_views()):  # type: ignore[union-attr]
        raise _taken_unrecorded(name, target, base)
    for what, tensor in (("the base", base), ("the view", target)):
        layout = layout_of(tensor)
        if has_shared_places(layout.shape, layout.strides):
            raise ShapeError(
                f"{name}: {what} has several elements in one place in memory, so it has no gradient of the write",
                operands={"self": target, "base": base},
                fix="clone() the base before taking views to write to, and write to views that do not overlap",
            )


def take_written(name: str, target: Tensor, node: Node) -> None:
    """Make *node* the history of *target*, which somebody has written to. Raises if a recorded write to it is refused:
    to a leaf, or to a view that was taken with gradients off.
    """
    check_writable(name, target)
    if target._view is not None and target._view.base is not None:
        _check_base(name, target, target._view.base)
    take_history(target, node)


def wrote(name: str, target: Tensor) -> None:
    """Count a write into *target*'s storage."""
    storage = target._storage
    if storage is None:
        storage = target._make_storage()
    storage.bump(name, place_from(_getframe(1)))


def take_history(target: Tensor, node: Node | None) -> None:
    """Make *node* the history of what *target* now holds, and renew that of its base and of all differentiable views.

    A node of None says that target was overwritten with constants: it still requires a gradient if it did, of zeros.
    """
    if node is None and target._node is not None:
        node = make_node("FillBackward0", [(target._node, _zeros, ())], target._array.shape, target._type)
    base = None if target._view is None else target._view.base
    storage = target._storage
    assert storage is not None
    old = target._node
    target._node = node
    if base is None:
        root = target
    else:
        root = base
        if base._node is not None or node is not None:
            before = base._node
            base._node = _written_base(base, target, node)
            _keep_retaining(before, base._node)
        if node is None or (old is not None and old.retain is not None):
            # Of its own, so that only what is done with the view itself arrives there.
            target._node = _view_of_base(base, target)
    _keep_retaining(old, target._node)
    for view in storage.live_views():
        if view is not target and view._view is not None and view._view.base is root:
            old = view._node
            view._node = None if root._node is None else _view_of_base(root, view)
            _keep_retaining(old, view._node)


def node_of_its_own(target: Tensor) -> Node | None:
    """The history of *target* as a node at which nothing arrives but its own gradient.

    After a recorded write through a view, base and view have the written result's node in common.
    """
    base = None if target._view is None else target._view.base
    if base is not None and base._node is not None and any(node is target._node for node in base._node.targets()):
        target._node = _view_of_base(base, target)
    return target._node


provided.node_of_its_own.fill(node_of_its_own)


def _keep_retaining(before: Node | None, node: Node | None) -> None:
    if before is not None and node is not None and before.retain is not None and not isinstance(before, Leaf):
        node.retain, before.retain = before.retain, None


def _layouts(base: Tensor, view: Tensor) -> tuple[Layout, Layout]:
    """Where *base* and *view* lie, both counted in the real parts of their elements if they differ in dtype.

    Differentiable views change dtype only between complex numbers and their real parts.
    """
    like, seen = layout_of(base), layout_of(view)
    if base._type.dtype is view._type.dtype:
        return like, seen
    return (in_parts(like), seen) if base._type.dtype.is_complex else (like, in_parts(seen))


def _written_base(base: Tensor, view: Tensor, node: Node | None) -> Node:
    """The history of *base* after *view* of it was overwritten by a result with history *node*."""
    like, seen = _layouts(base, view)
    window = (like.strides, seen.shape, seen.strides, seen.offset - like.offset)
    reinterpreted = base._type.dtype is not view._type.dtype
    calls: list[Any] = []
    if base._node is not None:
        calls.append((base._node, clear_parts if reinterpreted else OPS["window_clear"].call, window))
    if node is not None:
        calls.append((node, take_parts if reinterpreted else OPS["window_take"].call, window))
    return make_node("CopySlices", calls, base._array.shape, base._type)


def _view_of_base(base: Tensor, view: Tensor) -> Node | None:
    """The history of *view* as a strided window of *base* as it is now."""
    if base._node is None:
        return None
    like, seen = _layouts(base, view)
    saved = (like.shape, like.strides, seen.strides, seen.offset - like.offset)
    put = OPS["window_put"].call if base._type.dtype is view._type.dtype else put_parts
    return make_node("AsStridedBackward0", [(base._node, put, saved)], view._array.shape, view._type)


def take_layout(name: str, target: Tensor, view: Tensor) -> Tensor:
    """Give *target* itself the layout and history of *view*, a view of all of it; counts as a write, for the shape is
    saved too.
    """
    if state.modes:
        return TAKE_LAYOUT.through_modes(name, target, view)  # type: ignore[no-any-return]
    return _take_layout(name, target, view)


def _take_layout(name: str, target: Tensor, view: Tensor) -> Tensor:
    if state.grad_enabled:
        _check_history(name, target)
    old = target._node
    target._array, target._type = view._array, view._type
    if isinstance(target, Wrapped):
        target._show(view)  # type: ignore[arg-type]
    assert view._view is not None
    if view._view.offset != target.storage_offset():
        target._view = ViewOf(None if target._view is None else target._view.base, view._view.offset)
    if isinstance(target._node, Leaf):
        target._node.shape, target._node.type = view._array.shape, view._type
    else:
        target._node = view._node
        _keep_retaining(old, view._node)
    wrote(name, target)
    return target


TAKE_LAYOUT = declare(
    Effect("take_layout", take_layout, _take_layout, writes=1, rebinds=1, result=Result.ALIAS, of=2, caller=0)
)
