"""Views: the same memory under another shape. Each primitive view is layout arithmetic; public functions normalise and call them.

What cannot be a view (a reshape of scattered memory, cat, flip, repeat) copies, as PyTorch's does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.op import function, gradient, view
from ..dispatch.views import Layout, layout_of
from ..errors import ShapeError
from ..layout import Shape, Strides, infer_shape, normalize_dim, normalize_shape, view_strides
from ..tensor import check_tensor

if TYPE_CHECKING:
    from ..tensor import Tensor


@view(grad_name="PermuteBackward0")
def _permute(input: Layout, dims: tuple[int, ...]) -> Layout:
    """Dimensions in another order."""
    return Layout(tuple([input.shape[dim] for dim in dims]), tuple([input.strides[dim] for dim in dims]), input.offset)


gradient(_permute, input=lambda g, dims: _permute(g, tuple(sorted(range(len(dims)), key=dims.__getitem__))))


@view(grad_name="ExpandBackward0")
def _expand(input: Layout, shape: Shape) -> Layout:
    """Size-1 dimensions repeated with stride 0; new ones in front."""
    lead = len(shape) - len(input.shape)
    strides = [0] * lead
    for have, want, stride in zip(input.shape, shape[lead:], input.strides, strict=True):
        if have != want and have != 1:
            raise ShapeError(f"expand: shape {input.shape} cannot become {shape}: size {have} is neither 1 nor {want}", fix="only dimensions of size 1 expand")
        strides.append(stride if have == want else 0)
    return Layout(shape, tuple(strides), input.offset)


gradient(_expand, input=lambda g: g)


@view(grad_name="ViewBackward0")
def _reshape_view(input: Layout, shape: Shape) -> Layout:
    """Another shape over the same elements in the same order."""
    strides = view_strides(input.shape, input.strides, shape)
    if strides is None:
        raise ShapeError(f"view: shape {input.shape} with strides {input.strides} cannot be seen as {shape} without copying", fix="use reshape, or contiguous() first")
    return Layout(shape, strides, input.offset)


gradient(_reshape_view, input=lambda g, input_shape: reshape(g, input_shape))


@view(grad_name="AsStridedBackward0")
def _as_strided(input: Layout, shape: Shape, strides: Strides, offset: int) -> Layout:
    """Any layout over the storage."""
    return Layout(shape, strides, offset)


def as_strided(input: Tensor, size: Shape, stride: Strides, storage_offset: int | None = None) -> Tensor:
    """The storage of *input* under any layout, in elements."""
    check_tensor(input, "as_strided", "input")
    return _as_strided(input, tuple(size), tuple(stride), input.storage_offset() if storage_offset is None else storage_offset)


@function()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where the memory allows, else a copy. One size may be -1.

    Raises RuntimeError if the number of elements differs.

    >>> import polyad
    >>> polyad.reshape(polyad.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    check_tensor(input, "reshape", "input")
    wanted = infer_shape(normalize_shape(shape, "reshape"), input.numel(), "reshape")
    layout = layout_of(input)
    if view_strides(layout.shape, layout.strides, wanted) is None:
        input = input.contiguous()
    return _reshape_view(input, wanted)


@function()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """A view with the dimensions in another order.

    Raises RuntimeError if *dims* does not name every dimension once.

    >>> import polyad
    >>> polyad.permute(polyad.zeros(2, 3, 4), (2, 0, 1)).shape
    polyad.Size([4, 2, 3])
    """
    check_tensor(input, "permute", "input")
    order = tuple(normalize_dim(dim, input.ndim, "permute") for dim in normalize_shape(dims, "permute"))
    if sorted(order) != list(range(input.ndim)):
        raise ShapeError(f"permute: dims {order} do not name each of {input.ndim} dimensions once", operands={"input": input}, fix="give every dimension exactly once")
    return _permute(input, order)


@function()
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged. Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.transpose(polyad.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    check_tensor(input, "transpose", "input")
    if not input.ndim:
        return _permute(input, ())
    order = list(range(input.ndim))
    a, b = normalize_dim(dim0, input.ndim, "transpose"), normalize_dim(dim1, input.ndim, "transpose")
    order[a], order[b] = b, a
    return _permute(input, tuple(order))


@function()
def expand(input: Tensor, *sizes: Any) -> Tensor:
    """A view with size-1 dimensions repeated without copying; -1 keeps a size, new dimensions come first.

    Raises RuntimeError for a size that does not fit.

    >>> import polyad
    >>> polyad.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    check_tensor(input, "expand", "input")
    wanted = normalize_shape(sizes, "expand")
    lead = len(wanted) - input.ndim
    if lead < 0 or any(size < 0 for size in wanted[:lead]):
        raise ShapeError(f"expand: sizes {wanted} do not fit", operands={"input": input}, fix="give at least as many sizes as there are dimensions; -1 only keeps existing ones")
    return _expand(input, tuple(input.shape[dim - lead] if size == -1 else size for dim, size in enumerate(wanted)))
