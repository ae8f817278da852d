"""Views that rearrange: the same elements under another shape or order of dimensions.

Each op is layout arithmetic; public functions normalise and call it. What cannot be a view (a reshape of scattered
memory) copies, as PyTorch's does. Views of a part are in indexing/slicing.py and splitting.py, copies that join or
repeat in joining.py and repeating.py.

To add a view: declare it with ``@view`` on layout arithmetic. It needs no gradient (`polyad.dispatch.views`), but may
declare a cheaper gradient.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from ...base.dtypes import DType
from ...base.shapes_and_strides import (
    Layout,
    Shape,
    Size,
    infer_shape,
    normalize_dim,
    normalize_dims,
    normalize_shape,
    view_strides,
)
from ...base.state import state
from ...dispatch.forward import forward
from ...dispatch.inplace import take_layout
from ...dispatch.op import alias, function, gradient, method, prop, view as declare_view
from ...dispatch.promotion import keyed_dtype
from ...dispatch.views import layout_of, owned
from ...errors import ArgumentError, ShapeError, wrong_type
from ...history.grad_mode import enable_grad
from ...tensor import Tensor
from ...tensor.tensor import check_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


@declare_view(grad_name="PermuteBackward0")
def _permute(input: Layout, dims: tuple[int, ...]) -> Layout:
    """Dimensions in another order."""
    return Layout(tuple([input.shape[dim] for dim in dims]), tuple([input.strides[dim] for dim in dims]), input.offset)


gradient(_permute, input=lambda g, dims: _permute(g, tuple(sorted(range(len(dims)), key=dims.__getitem__))))


@declare_view(grad_name="ExpandBackward0")
def _expand(input: Layout, shape: Shape) -> Layout:
    """Size-1 dimensions repeated with stride 0; new ones in front."""
    lead = len(shape) - len(input.shape)
    if lead < 0:
        raise ShapeError(
            f"expand: shape {input.shape} cannot become {shape}, which has fewer dimensions",
            fix="give a size for every dimension; new ones come in front",
        )
    strides: list[int] = []
    for have, want, stride in zip(input.shape, shape[lead:], input.strides, strict=True):
        if have != want and have != 1:
            raise ShapeError(
                f"expand: shape {input.shape} cannot become {shape}: size {have} is neither 1 nor {want}",
                fix="only dimensions of size 1 expand",
            )
        strides.append(stride if have == want else 0)
    for dim in range(lead - 1, -1, -1):
        # A new dimension of one element lies around what follows it, as unsqueeze has it.
        strides.insert(0, shape[dim + 1] * strides[0] if shape[dim] == 1 and strides else 0)
    return Layout(shape, tuple(strides), input.offset)


gradient(_expand, input=lambda g: g)


@declare_view(grad_name="ViewBackward0")
def _reshape_view(input: Layout, shape: Shape) -> Layout:
    """Another shape over the same elements in the same order."""
    strides = view_strides(input.shape, input.strides, shape)
    if strides is None:
        raise ShapeError(
            f"view: shape {input.shape} with strides {input.strides} cannot be seen as {shape} without copying",
            fix="use reshape, or contiguous() first",
        )
    return Layout(shape, strides, input.offset)


gradient(_reshape_view, input=lambda g, input_shape: _reshape(g, input_shape))
forward(_reshape_view, lambda input_t, shape: _reshape(input_t, shape))


def _reshape(input: Tensor, shape: Shape) -> Tensor:
    """*input* as *shape*, which has as many elements."""
    if state.modes:
        layout = layout_of(input)
        if view_strides(layout.shape, layout.strides, shape) is None:
            input = input.contiguous()
        return _reshape_view(input, shape)
    try:
        return _reshape_view(input, shape)
    except ShapeError:  # rare, and followed by a copy: asking first would cost every other call
        return owned(_reshape_view(input.contiguous(), shape))


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
    return _reshape(input, infer_shape(normalize_shape(shape, "reshape"), math.prod(input._array.shape), "reshape"))


@function()
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """*input* in the shape of *other*; see `reshape`.

    >>> import polyad
    >>> polyad.arange(4).reshape_as(polyad.zeros(2, 2)).shape
    polyad.Size([2, 2])
    """
    return reshape(check_tensor(input, "reshape_as", "input"), check_tensor(other, "reshape_as", "other").shape)


@function()
def view(input: Tensor, *size: Any, dtype: DType | None = None) -> Tensor:
    """The same memory in another shape, or its bits read as another dtype; never a copy. One size may be -1.

    With a dtype of another size the last dimension, which must be contiguous, grows or shrinks accordingly. A view as
    another dtype has no gradient, but for `view_as_real` and `view_as_complex`. Raises RuntimeError where only a copy
    could have the shape, or the sizes do not divide.

    >>> import polyad
    >>> x = polyad.arange(4)
    >>> x.view(2, 2)[1, 0].fill_(9)
    tensor(9)
    >>> x
    tensor([0, 1, 9, 3])
    >>> polyad.tensor([1.0]).view(polyad.int32)
    tensor([1065353216], dtype=polyad.int32)
    """
    check_tensor(input, "view", "input")
    if dtype is None and len(size) == 1 and isinstance(size[0], DType):
        dtype = size[0]
    if dtype is not None:
        if not isinstance(dtype, DType):
            raise wrong_type("view", "dtype", dtype, "a dtype such as polyad.int32")
        return _view_dtype(input, dtype, input._type.dtype.itemsize)
    return _reshape_view(input, infer_shape(normalize_shape(size, "view"), math.prod(input._array.shape), "view"))


@declare_view(dtype=keyed_dtype)
def _view_dtype(input: Layout, dtype: DType, size: int) -> Layout:
    """The memory, whose elements have *size* bytes, read as *dtype*."""
    shape, strides, offset = input
    want = dtype.itemsize
    if size == want:
        return input
    if not shape or strides[-1] != 1:
        raise ShapeError(
            f"view: elements of {size} bytes cannot be read as elements of {want} bytes: "
            "the last dimension must be there and have stride 1",
            fix="use contiguous() first, or a dtype of the same size",
        )
    if size > want:
        ratio = size // want
        return Layout(
            (*shape[:-1], shape[-1] * ratio), (*[stride * ratio for stride in strides[:-1]], 1), offset * ratio
        )
    ratio = want // size
    if shape[-1] % ratio or offset % ratio or any(stride % ratio for stride in strides[:-1]):
        raise ShapeError(
            f"view: elements of {size} bytes cannot be read as elements of {want} bytes: "
            f"the last size {shape[-1]}, the storage_offset {offset} and the strides {strides[:-1]} "
            f"must be multiples of {ratio}",
            fix="use contiguous() first, and a last size that divides",
        )
    return Layout(
        (*shape[:-1], shape[-1] // ratio), (*[stride // ratio for stride in strides[:-1]], 1), offset // ratio
    )


@function()
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """*input* viewed in the shape of *other*; see `view`.

    >>> import polyad
    >>> polyad.arange(4).view_as(polyad.zeros(2, 2)).shape
    polyad.Size([2, 2])
    """
    return view(check_tensor(input, "view_as", "input"), check_tensor(other, "view_as", "other").shape)


@function()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions *start_dim* to *end_dim* joined; a 0-d tensor becomes 1-d.

    Raises RuntimeError if start_dim comes after end_dim, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.flatten(polyad.zeros(2, 3, 4), 1).shape
    polyad.Size([2, 12])
    """
    check_tensor(input, "flatten", "input")
    start, end = normalize_dim(start_dim, input.ndim, "flatten"), normalize_dim(end_dim, input.ndim, "flatten")
    if start > end:
        raise ShapeError(
            f"flatten: start_dim {start_dim} comes after end_dim {end_dim}",
            operands={"input": input},
            fix="exchange them",
        )
    shape = input._array.shape
    if start == end and shape:
        return input
    flat = 1
    for size in shape[start : end + 1]:
        flat *= size
    return _reshape(input, (*shape[:start], flat, *shape[end + 1 :]))


@function()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension; a view where the memory allows.

    >>> import polyad
    >>> polyad.ravel(polyad.zeros(2, 3)).shape
    polyad.Size([6])
    """
    return _reshape_view(check_tensor(input, "ravel", "input").contiguous(), (input.numel(),))


@function()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension *dim* split into several; one size may be -1.

    Raises RuntimeError if their product is not the dimension's size.

    >>> import polyad
    >>> polyad.unflatten(polyad.zeros(2, 12), 1, (3, -1)).shape
    polyad.Size([2, 3, 4])
    """
    check_tensor(input, "unflatten", "input")
    at = normalize_dim(dim, input.ndim, "unflatten")
    if not input.ndim:
        raise ShapeError("unflatten: a 0-d tensor has no dimension to split", operands={"input": input}, fix="reshape")
    shape = input._array.shape
    given = normalize_shape((sizes,), "unflatten")
    if not given:
        raise ShapeError("unflatten: sizes is empty", operands={"input": input}, fix="give a size or more")
    inferred = infer_shape(given, shape[at], "unflatten")
    return _reshape(input, (*shape[:at], *inferred, *shape[at + 1 :]))


@declare_view()
def _squeeze(input: Layout, dims: tuple[int, ...]) -> Layout:
    """Without dimensions *dims*, whose size is 1."""
    kept = [dim for dim in range(len(input.shape)) if dim not in dims]
    return Layout(tuple([input.shape[dim] for dim in kept]), tuple([input.strides[dim] for dim in kept]), input.offset)


gradient(_squeeze, input=lambda g, input_shape: _reshape(g, input_shape))


@function()
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """A view without the dimensions of size 1: all of them, or those that *dim* names.

    A named dimension of another size stays. Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.squeeze(polyad.zeros(1, 2, 1), 0).shape
    polyad.Size([2, 1])
    """
    shape = check_tensor(input, "squeeze", "input")._array.shape
    if dim is None or shape == ():
        named: Any = range(len(shape))
        if dim is not None:
            normalize_dims(dim, 0, "squeeze")
    elif isinstance(dim, (tuple, list)):
        named = normalize_dims(dim, len(shape), "squeeze") if dim else ()
    else:
        named = (normalize_dim(dim, len(shape), "squeeze"),)
    return _squeeze(input, tuple([at for at in named if shape[at] == 1]))


@declare_view()
def _unsqueeze(input: Layout, dim: int) -> Layout:
    """With a new dimension of size 1 at *dim*."""
    stride = input.shape[dim] * input.strides[dim] if dim < len(input.shape) else 1
    return Layout(
        (*input.shape[:dim], 1, *input.shape[dim:]),
        (*input.strides[:dim], stride, *input.strides[dim:]),
        input.offset,
    )


gradient(_unsqueeze, input=lambda g, input_shape: _reshape(g, input_shape))


@function()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a new dimension of size 1 at *dim*. Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.unsqueeze(polyad.zeros(3), 1).shape
    polyad.Size([3, 1])
    """
    return _unsqueeze(input, normalize_dim(dim, check_tensor(input, "unsqueeze", "input").ndim + 1, "unsqueeze"))


@function()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """A view with the dimensions in another order.

    Raises RuntimeError if *dims* does not name every dimension once.

    >>> import polyad
    >>> polyad.permute(polyad.zeros(2, 3, 4), (2, 0, 1)).shape
    polyad.Size([4, 2, 3])
    """
    check_tensor(input, "permute", "input")
    order = tuple([normalize_dim(dim, input.ndim, "permute") for dim in normalize_shape(dims, "permute")])
    if sorted(order) != list(range(input.ndim)):
        raise ShapeError(
            f"permute: dims {order} do not name each of {input.ndim} dimensions once",
            operands={"input": input},
            fix="give every dimension exactly once",
        )
    return _permute(input, order)


@function()
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged. Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.transpose(polyad.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    ndim = check_tensor(input, "transpose", "input").ndim
    a, b = normalize_dim(dim0, ndim, "transpose"), normalize_dim(dim1, ndim, "transpose")
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = b, a
    return _permute(input, tuple(order))


@function()
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged and the elements conjugated; a view of a real tensor.

    Raises RuntimeError for a vector.

    >>> import polyad
    >>> polyad.adjoint(polyad.tensor([[1j, 2 + 0j]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    check_tensor(input, "adjoint", "input")
    return _matrix_adjoint(input, "adjoint")


@function()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """NumPy's name of `transpose`.

    >>> import polyad
    >>> polyad.swapaxes(polyad.zeros(2, 3), 0, 1).shape
    polyad.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


@function()
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Another name of `transpose`.

    >>> import polyad
    >>> polyad.swapdims(polyad.zeros(2, 3), 0, 1).shape
    polyad.Size([3, 2])
    """
    return transpose(input, dim0, dim1)


@function()
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view; a vector or 0-d tensor as it is. Raises RuntimeError for more dimensions.

    >>> import polyad
    >>> polyad.t(polyad.zeros(2, 3)).shape
    polyad.Size([3, 2])
    """
    ndim = check_tensor(input, "t", "input").ndim
    if ndim > 2:
        raise ShapeError(
            f"t: input has {ndim} dimensions, more than two",
            operands={"input": input},
            fix="use transpose(dim0, dim1), or .mT for the last two",
        )
    return _permute(input, tuple(range(ndim))[::-1])


@function()
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """A view with the dimensions *source* at the places *destination*, the others in their old order.

    Raises RuntimeError if the two differ in number or name a dimension twice, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.movedim(polyad.zeros(2, 3, 4), 0, -1).shape
    polyad.Size([3, 4, 2])
    """
    ndim = check_tensor(input, "movedim", "input").ndim
    given = [dims if isinstance(dims, (tuple, list)) else (dims,) for dims in (source, destination)]
    have, want = ([normalize_dim(dim, ndim, "movedim") for dim in dims] for dims in given)
    if len(have) != len(want) or len(set(have)) != len(have) or len(set(want)) != len(want):
        raise ShapeError(
            f"movedim: source {source} and destination {destination} must name the same number of distinct dimensions",
            operands={"input": input},
            fix="give each source dimension a destination",
        )
    if not ndim:
        return _permute(input, ())
    rest = iter([dim for dim in range(ndim) if dim not in have])
    places = dict(zip(want, have, strict=True))
    return _permute(input, tuple([places[at] if at in places else next(rest) for at in range(ndim)]))


moveaxis = alias("moveaxis", movedim)


@function()
def expand(input: Tensor, *size: Any) -> Tensor:
    """A view with size-1 dimensions repeated without copying; -1 keeps a size, new dimensions come first.

    Raises RuntimeError for a size that does not fit.

    >>> import polyad
    >>> polyad.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    check_tensor(input, "expand", "input")
    wanted = normalize_shape(size, "expand")
    lead = len(wanted) - input.ndim
    if lead < 0 or any(size < 0 for size in wanted[:lead]) or any(size < -1 for size in wanted):
        raise ShapeError(
            f"expand: sizes {wanted} do not fit",
            operands={"input": input},
            fix="give at least as many sizes as there are dimensions; -1 only keeps existing ones",
        )
    shape = input._array.shape
    return _expand(input, tuple([shape[dim - lead] if size == -1 else size for dim, size in enumerate(wanted)]))


@function()
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """*input* expanded to the shape of *other*; see `expand`.

    >>> import polyad
    >>> polyad.zeros(3).expand_as(polyad.zeros(2, 3)).shape
    polyad.Size([2, 3])
    """
    return _expand(check_tensor(input, "expand_as", "input"), check_tensor(other, "expand_as", "other")._array.shape)


@function()
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """*input* expanded to *size*; see `expand`.

    >>> import polyad
    >>> polyad.broadcast_to(polyad.zeros(3), (2, 3)).shape
    polyad.Size([2, 3])
    """
    return expand(input, size)


@function(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of all *tensors* expanded to their common shape. Raises RuntimeError if they do not broadcast.

    >>> import polyad
    >>> [x.shape for x in polyad.broadcast_tensors(polyad.zeros(3), polyad.zeros(2, 1))]
    [polyad.Size([2, 3]), polyad.Size([2, 3])]
    """
    from ...base.shapes_and_strides import broadcast_shapes

    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    for position, tensor in enumerate(given):
        check_tensor(tensor, "broadcast_tensors", f"tensors[{position}]")
    shape = broadcast_shapes(*[tensor._array.shape for tensor in given])
    return tuple([tensor if tensor._array.shape == shape else _expand(tensor, shape) for tensor in given])


@function(method=False)
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these *shapes* broadcast to; an int is a shape of one dimension.

    Raises RuntimeError if they do not broadcast, ValueError for a negative size.

    >>> import polyad
    >>> polyad.broadcast_shapes((2, 1), 3)
    polyad.Size([2, 3])
    """
    from ...base.shapes_and_strides import broadcast_shapes

    given = [normalize_shape((shape,), "broadcast_shapes") for shape in shapes]
    if any(size < 0 for shape in given for size in shape):
        raise ArgumentError(f"broadcast_shapes: a size in {given} is negative", fix="sizes are 0 or more")
    return Size(broadcast_shapes(*given))


@function(namespace="Tensor")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """*input* summed over the dimensions that a tensor of *size* would broadcast along to have its shape.

    Raises RuntimeError if it would not broadcast to it.

    >>> import polyad
    >>> polyad.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    from ..reductions.sums import sum_to

    have = check_tensor(input, "sum_to_size", "input")._array.shape
    want = normalize_shape(size, "sum_to_size")
    lead = len(have) - len(want)
    if lead < 0 or any(wanted not in (1, size) for wanted, size in zip(want, have[lead:], strict=True)):
        raise ShapeError(
            f"sum_to_size: a tensor of size {want} does not broadcast to {have}",
            operands={"input": input},
            fix="each size must be 1 or input's own, counted from the last",
        )
    return input if want == have else sum_to(input, want)


@prop("T")
def _transposed(self: Tensor) -> Tensor:
    """The dimensions in reversed order, as a view; of a matrix, its transpose."""
    return _permute(self, tuple(range(self.ndim))[::-1])


@prop("mT")
def _matrix_transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, as a view. Raises RuntimeError for a vector."""
    _check_matrix(self, "mT")
    return transpose(self, -2, -1) if self.ndim else self


@prop("H")
def _adjoint(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix; a view if it is real. Raises RuntimeError unless it has two dimensions (or
    none).
    """
    if self.ndim not in (0, 2):
        raise ShapeError(
            f"H: it has {self.ndim} dimensions, not two", operands={"self": self}, fix="use .mH for batches"
        )
    return _matrix_adjoint(self)


@prop("mH")
def _adjoints(self: Tensor) -> Tensor:
    """The last two dimensions exchanged and conjugated. Raises RuntimeError for a vector."""
    return _matrix_adjoint(self)


def _matrix_adjoint(self: Tensor, name: str = "mH") -> Tensor:
    from ..pointwise.arithmetic import conjugate_view

    _check_matrix(self, name)
    turned = transpose(self, -2, -1) if self.ndim else self
    return conjugate_view(turned) if self._type.dtype.is_complex else turned


def _check_matrix(tensor: Tensor, name: str) -> None:
    if tensor.ndim == 1:
        raise ShapeError(f"{name}: fewer than two dimensions", operands={"self": tensor}, fix="unsqueeze it")


def relaid(call: Any) -> None:
    """Declare the in-place form of a view function: the tensor itself takes the view's layout."""
    name = call.__name__ + "_"

    @functools.wraps(call)
    def form(self: Tensor, *args: Any) -> Tensor:
        if self._node is None:
            return take_layout(name, self, call(self, *args))
        # The elements stay, and so does their history, also under no_grad.
        with enable_grad():
            view = call(self, *args)
        return take_layout(name, self, view)

    form.__name__ = name
    form.__qualname__ = f"Tensor.{name}"
    form.__module__ = call.__module__
    form.__doc__ = f"In-place form of `polyad.{call.__name__}`: the tensor itself takes the new shape."
    method()(form)


for _function in (squeeze, unsqueeze, transpose, swapaxes, swapdims, t):
    relaid(_function)
