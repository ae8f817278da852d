"""Carrying out view ops: a new layout over the same storage, and its place in the autograd graph.

A view op needs no declared gradient: what flows back is zeros with the gradient at the places that the op's own layout
arithmetic names in a row-major tensor of the input's shape. Declare a gradient where it is
cheaper (a permutation).

A view op with a dtype rule reinterprets: its result reads the same memory as another dtype, and its layout counts
elements of that dtype. Such an op is differentiable only by a declared gradient; without that its result is an alias
without history (``view(int32)``). Among complex numbers and their real parts memory and gradient agree: the gradient of
the memory is the memory of the gradient, which is all that `polyad.dispatch.inplace` needs to renew the history of a
complex base after a write to a real view of it, or the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..backend.interface import TensorType
from ..base.dtypes import FLOATING
from ..base.shapes_and_strides import Layout, Shape, Strides, contiguous_strides, element_strides
from ..base.state import state
from ..devices.registry import tensor_type
from ..errors import ArgumentTypeError, ShapeError
from ..history.node import Output, make_node, record
from ..tensor import Tensor
from ..tensor.storage import INFERENCE, InferenceView, Storage, UnrecordedViewOf, ViewOf
from .catalogue import OPS
from .promotion import first

if TYPE_CHECKING:
    from .declared import Op


_new_tuple = tuple.__new__
"""Straight to tuple's constructor: a named tuple's own costs as much as the rest."""

_LAYOUTS = 1 << 12
"""So many results' layouts are kept for an op."""


def layout_of(tensor: Tensor) -> Layout:
    """The tensor's layout."""
    array, size = tensor._array, tensor._type.dtype.itemsize
    place = tensor._view
    offset = 0 if place is None else place.offset
    return _new_tuple(Layout, (array.shape, element_strides(array.shape, array.strides, size), offset))


def apply_view(op: Op, input: Tensor, params: tuple[Any, ...], make: Callable[..., Tensor] | None = None) -> Tensor:
    """The result of view op *op*: shares storage with *input*, and its history, if gradients are recorded.

    *make* takes the place of `alias`.
    """
    make = make or alias
    if not isinstance(input, Tensor):
        raise ArgumentTypeError(
            f"{op.name}: input is {type(input).__name__}, not a tensor",
            operands={"input": input},
            fix="wrap it in polyad.tensor(...)",
        )
    array, place = input._array, input._view
    key = input._type, array.shape, array.strides, 0 if place is None else place.offset, params
    layout = op.layouts.get(key)
    if layout is None:
        layout = _computed(op, input, params, key)
    shape, strides, offset = layout
    if op.dtype is first:
        out = make(input, shape, strides, offset)
    else:
        out = make(input, shape, strides, offset, _reinterpreted(op, input, params), bool(op.formulas))
        if not op.formulas:
            return out
    # A view of what was made in inference_mode is an inference tensor too, and records nothing.
    if input._node is not None and state.grad_enabled and place.__class__ is not InferenceView:
        _record(op, input, params, out)
    return out


def _record(op: Op, input: Tensor, params: tuple[Any, ...], out: Tensor) -> None:
    if op.formulas:
        record(op, (input, *params), out)
    else:
        saved = (op.body, input._array.shape, params)
        out._node = make_node(op.grad_name, [(input._node, _put_back, saved)], out._array.shape, out._type)


def record_view(op: Op, input: Tensor, params: tuple[Any, ...], out: Tensor) -> None:
    """Give *out*, made with gradients off, the history that view op *op* gives; if it lies in *input*'s memory, its
    place there, too.
    """
    if out._storage is not None and out._storage is input._storage and out._view is not None:
        place(out, input, out._storage, out._view.offset)
    _record(op, input, params, out)


def array_seen(op: Op, input: Tensor, params: tuple[Any, ...]) -> Any:
    """What view op *op* shows of *input*'s memory, as an array: for a write that no tensor has to know of."""
    array, place, type_ = input._array, input._view, input._type
    key = type_, array.shape, array.strides, 0 if place is None else place.offset, params
    layout = op.layouts.get(key)
    if layout is None:
        layout = _computed(op, input, params, key)
    shape, strides, offset = layout
    root = (input._storage or input._make_storage()).root
    return type_.backend.as_strided(root, type_.dtype, shape, strides, 0 if 0 in shape else offset)


def _computed(op: Op, input: Tensor, params: tuple[Any, ...], key: Any) -> Layout:
    """What the op's arithmetic gives, which is kept: a program asks for few layouts, many times."""
    try:
        layout: Layout = op.body(layout_of(input), *params)  # type: ignore[misc]
    except ShapeError as error:
        error.add_operands({"input": input})
        raise
    if len(op.layouts) >= _LAYOUTS:
        op.layouts.clear()
    op.layouts[key] = layout
    return layout


def _reinterpreted(op: Op, input: Tensor, params: tuple[Any, ...]) -> TensorType:
    type_ = input._type
    found: TensorType | None = op.plans.get((type_, *params))
    if found is None:
        (dtype,) = op.dtype((type_,), dict(zip(op.params, params, strict=True))).outputs
        found = op.plans[type_, *params] = tensor_type(dtype, type_.device, False)
    return found


def _put_back(gradient: Tensor, body: Callable[..., Layout], shape: Shape, params: tuple[Any, ...]) -> Tensor:
    dense = contiguous_strides(shape)
    window = body(Layout(shape, dense, 0), *params)
    back: Tensor = OPS["window_put"].call(gradient, shape, dense, window.strides, window.offset)
    return back


def apply_views(
    name: str, input: Tensor, layouts: Sequence[Layout], formula: Callable[..., Tensor], saved: tuple[Any, ...]
) -> tuple[Tensor, ...]:
    """Several views of *input* with one node, whose ``formula(gradients, *saved)`` sees all their gradients at once.

    A gradient that did not arrive is None. ``unbind`` and ``split`` use this: with a node for each view, backward would
    add up as many gradients of the whole input. Modes do not see it: while any is active, callers call a view op for
    each result instead.
    """
    outs = tuple([alias(input, *layout) for layout in layouts])
    node = input._node
    if node is not None and state.grad_enabled and outs and input._view.__class__ is not InferenceView:
        parent = make_node(name, [(node, formula, saved)], (), outs[0]._type, len(outs))
        for number, out in enumerate(outs):
            out._node = Output(parent, number, out._array.shape, out._type)
    return outs


def alias(
    input: Tensor,
    shape: Shape,
    strides: Strides,
    offset: int,
    type_: TensorType | None = None,
    differentiable: bool = True,
) -> Tensor:
    """A tensor over *input*'s storage with another layout, perhaps of another type, and no history.

    Its storage remembers it if gradients are being recorded, so that a later write to the base can renew its history;
    not if it is to be no *differentiable* view.
    """
    if type_ is None:
        type_ = input._type
    storage = input._storage
    if storage is None:
        storage = input._make_storage()
    out: Tensor = object.__new__(Tensor)
    # A view without elements may begin beyond the end of the memory, which backends need not know of.
    root = storage._root
    if root is None:
        root = storage.root
    out._array = type_.backend.as_strided(root, type_.dtype, shape, strides, 0 if 0 in shape else offset)
    out._type = type_.nd if shape else type_.zd
    out._node = out._grad = None
    place(out, input, storage, offset, differentiable)
    return out


def owned(view: Tensor) -> Tensor:
    """*view*, which shows all of a tensor that nobody else has, as a tensor that is no view of anything."""
    if not state.modes:  # else levels may have taken down what it is a view of
        view._storage = None
        view._view = INFERENCE if view._view.__class__ is InferenceView else None
    return view


def place(out: Tensor, input: Tensor, storage: Storage, offset: int, differentiable: bool = True) -> None:
    """Make *out* a view of what *input* is a view of, at *offset* in their *storage*."""
    out._storage = storage
    view = input._view
    if view.__class__ is InferenceView:
        out._view = _new_tuple(InferenceView, (None, offset))
    elif not differentiable:
        out._view = _new_tuple(ViewOf, (None, offset))
    else:
        base = input if view is None else view.base
        if base is None:
            base = input
        if state.grad_enabled:
            out._view = _new_tuple(ViewOf, (base, offset))
            if out._type.dtype.category >= FLOATING:
                storage.track(out)
        else:
            out._view = UnrecordedViewOf(base, offset)
