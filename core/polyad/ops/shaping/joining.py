"""Copies that rearrange: joining, repeating, reversing, rolling, triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dispatch.forward import linear_in
from ...dispatch.op import alias, composite, function, gradient, method, primitive
from ...dispatch.promotion import promoted
from ...dispatch.views import owned
from ...errors import ArgumentError, ArgumentTypeError, DTypeError, OptionError, ShapeError
from ...layout import Shape, check_sizes, normalize_dim, normalize_dims, normalize_shape
from ...tensor import Tensor, check_room, check_tensor
from ..declaring.shape_rules import same
from ..indexing.slicing import _pieces, unbind
from .reshape import _expand, _reshape, _unsqueeze

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _check_tensors(tensors: Any, op: str) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)):
        raise ArgumentTypeError(
            f"{op}: tensors is {type(tensors).__name__}, not a list of tensors", fix="pass a list or tuple of tensors"
        )
    if not tensors:
        raise OptionError(f"{op}: the list of tensors is empty", fix="give one tensor or more")
    for position, tensor in enumerate(tensors):
        check_tensor(tensor, op, f"tensors[{position}]")
    return list(tensors)


def _cat_shape(tensors: Sequence[Shape], dim: int) -> Shape:
    head = tensors[0]
    for position, shape in enumerate(tensors):
        if len(shape) != len(head) or any(
            one != other for at, (one, other) in enumerate(zip(shape, head, strict=False)) if at != dim
        ):
            raise ShapeError(
                f"cat: tensors[0] {tuple(head)} and tensors[{position}] {tuple(shape)} "
                f"must agree in all dimensions but {dim}",
                fix="reshape them, or join along another dimension",
            )
    return (*head[:dim], sum([shape[dim] for shape in tensors]), *head[dim + 1 :])


@primitive(dtype=promoted, shape=_cat_shape, method=False)
def _cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The tensors one after another along *dim*."""


gradient(_cat, tensors=lambda g, tensors_shape, dim: _pieces(g, dim, [shape[dim] for shape in tensors_shape]))
linear_in(_cat, "tensors")


@function(method=False)
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after another along *dim*; all other sizes agree, dtypes promote. 1-d tensors without elements
    are skipped.

    Raises RuntimeError for shapes that do not agree, ValueError for an empty list, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.cat([polyad.zeros(1, 2), polyad.ones(2, 2)])
    tensor([[0., 0.],
            [1., 1.],
            [1., 1.]])
    """
    given = _check_tensors(tensors, "cat")
    shapes = [tensor._array.shape for tensor in given]
    rank = max([len(shape) for shape in shapes])
    if rank == 0:
        raise ShapeError("cat: 0-d tensors cannot be joined", operands={"tensors[0]": given[0]}, fix="use stack")
    at = normalize_dim(dim, len(next((shape for shape in shapes if shape != (0,)), (0,))), "cat")
    if rank > 1 and (0,) in shapes:
        # Skipped ones become slices without elements of the shape that fits: they have a gradient, if an empty one.
        model = next(shape for shape in shapes if shape != (0,))
        nothing = (*model[:at], 0, *model[at + 1 :])
        given = [tensor.reshape(nothing) if tensor._array.shape == (0,) else tensor for tensor in given]
    _check_shapes([tensor._array.shape for tensor in given], at)
    return _cat(given, at)


def _check_shapes(shapes: Sequence[Shape], dim: int) -> None:
    head = shapes[0]
    for shape in shapes:
        if shape != head:
            _cat_shape(shapes, dim)
            return


concat = alias("concat", cat)
concatenate = alias("concatenate", cat)


def _stack_shape(tensors: Sequence[Shape], dim: int) -> Shape:
    head = tensors[0]
    for position, shape in enumerate(tensors):
        if tuple(shape) != tuple(head):
            raise ShapeError(
                f"stack: tensors[0] {tuple(head)} and tensors[{position}] {tuple(shape)} must have one shape",
                fix="reshape them, or use cat",
            )
    return (*head[:dim], len(tensors), *head[dim:])


@composite(dtype=promoted, shape=_stack_shape, method=False)
def _stack(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The tensors side by side along a new dimension."""
    return _cat([_unsqueeze(tensor, dim) for tensor in tensors], dim)


gradient(_stack, tensors=lambda g, dim: unbind(g, dim))
linear_in(_stack, "tensors")


@function(method=False)
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors, all of one shape, side by side along a new dimension *dim*; dtypes promote.

    Raises RuntimeError for shapes that differ, ValueError for an empty list, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.stack([polyad.tensor([1, 2]), polyad.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    given = _check_tensors(tensors, "stack")
    head = given[0]._array.shape
    at = normalize_dim(dim, len(head) + 1, "stack")
    for tensor in given:
        if tensor._array.shape != head:
            _stack_shape([one._array.shape for one in given], at)
    return _stack(given, at)


def _at_least(tensor: Tensor, ndim: int) -> Tensor:
    have = len(tensor._array.shape)
    if not have:
        return _reshape(tensor, (1,) * ndim)
    return tensor if have >= ndim else _unsqueeze(tensor, 0)


@function(method=False)
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one after another along dimension 1, or 0 if they have one dimension; see `cat`.

    >>> import polyad
    >>> polyad.hstack([polyad.tensor(1), polyad.tensor([2, 3])])
    tensor([1, 2, 3])
    """
    given = [_at_least(tensor, 1) for tensor in _check_tensors(tensors, "hstack")]
    return cat(given, 0 if given[0].ndim == 1 else 1)


@function(method=False)
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one below another along dimension 0; vectors are rows. See `cat`.

    >>> import polyad
    >>> polyad.vstack([polyad.tensor([1, 2]), polyad.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([_at_least(tensor, 2) for tensor in _check_tensors(tensors, "vstack")], 0)


row_stack = alias("row_stack", vstack)


@function(method=False)
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one behind another along dimension 2, each made 3-d as by `atleast_3d`; see `cat`.

    >>> import polyad
    >>> polyad.dstack([polyad.tensor([1, 2]), polyad.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return cat([_in_three(tensor) for tensor in _check_tensors(tensors, "dstack")], 2)


@function(method=False)
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors one after another along dimension 1; vectors and numbers are columns. See `cat`.

    >>> import polyad
    >>> polyad.column_stack([polyad.tensor([1, 2]), polyad.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    given = _check_tensors(tensors, "column_stack")
    return cat([_reshape(one, (one.numel(), 1)) if one.ndim < 2 else one for one in given], 1)


def _in_three(tensor: Tensor) -> Tensor:
    ndim = len(tensor._array.shape)
    if ndim >= 3:
        return tensor
    return _unsqueeze(tensor, 2) if ndim == 2 else _unsqueeze(_at_least(tensor, 2), 2)


def _at_least_each(tensors: tuple[Any, ...], make: Callable[[Tensor], Tensor], op: str) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return make(tensors[0])
    if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
        check_tensor(tensors[0], op, "input")
    given = tensors[0] if len(tensors) == 1 else tensors
    return tuple([make(check_tensor(tensor, op, f"tensors[{at}]")) for at, tensor in enumerate(given)])


@function(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Each tensor with at least one dimension, as a view; a tuple for several of them or a list.

    >>> import polyad
    >>> polyad.atleast_1d(polyad.tensor(1)).shape
    polyad.Size([1])
    >>> polyad.atleast_1d(polyad.tensor(1), polyad.tensor([2, 3]))
    (tensor([1]), tensor([2, 3]))
    """
    return _at_least_each(tensors, lambda tensor: _at_least(tensor, 1), "atleast_1d")


@function(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Each tensor with at least two dimensions, new ones first, as a view; a tuple for several of them or a list.

    >>> import polyad
    >>> polyad.atleast_2d(polyad.zeros(3)).shape
    polyad.Size([1, 3])
    """
    return _at_least_each(tensors, lambda tensor: _at_least(tensor, 2), "atleast_2d")


@function(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Each tensor with at least three dimensions, as a view: (n,) becomes (1, n, 1), (n, m) becomes (n, m, 1); a tuple
    for several of them or a list.

    >>> import polyad
    >>> polyad.atleast_3d(polyad.zeros(3)).shape
    polyad.Size([1, 3, 1])
    """
    return _at_least_each(tensors, _in_three, "atleast_3d")


@function(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids of 0-d or 1-d *tensors*: the k-th varies along dimension k; "xy" exchanges the first two
    dimensions.

    Raises RuntimeError for tensors of more dimensions, ValueError for an unknown indexing.

    >>> import polyad
    >>> polyad.meshgrid(polyad.arange(2), polyad.arange(3))[0]
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    given = _check_tensors(
        tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors, "meshgrid"
    )
    if indexing not in ("ij", "xy"):
        raise ArgumentError(f"meshgrid: indexing is {indexing!r}", fix="use 'ij' or 'xy'")
    for position, tensor in enumerate(given):
        if tensor._type.dtype is not given[0]._type.dtype:
            raise DTypeError(
                f"meshgrid: tensors[{position}] has another dtype than tensors[0]",
                operands={"tensors[0]": given[0], f"tensors[{position}]": tensor},
                fix="convert one of them",
            )
        if tensor.ndim > 1:
            raise ShapeError(
                f"meshgrid: tensors[{position}] has {tensor.ndim} dimensions",
                operands={f"tensors[{position}]": tensor},
                fix="give vectors",
            )
    sizes = tuple([tensor.numel() for tensor in given])
    grids = [
        _expand(_reshape(tensor, tuple([size if at == own else 1 for at in range(len(sizes))])), sizes)
        for own, (tensor, size) in enumerate(zip(given, sizes, strict=True))
    ]
    return tuple([grid.transpose(0, 1) for grid in grids] if indexing == "xy" and len(grids) > 1 else grids)


# ---------------------------------------------------------------------------------------------------- repeating


@method()
def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """A copy of *input* repeated along each dimension; more sizes than dimensions make new ones in front.

    Raises RuntimeError for fewer sizes than dimensions or negative ones.

    >>> import polyad
    >>> polyad.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = normalize_shape(sizes, "repeat")
    shape = check_tensor(input, "repeat", "input")._array.shape
    if len(times) < len(shape) or any(one < 0 for one in times):
        raise ShapeError(
            f"repeat: sizes {times} do not fit",
            operands={"input": input},
            fix=f"give {len(shape)} or more sizes of 0 or more",
        )
    return _repeat(input, times)


@composite(shape=lambda shape, times: _repeated(shape, times), method=False)
def _repeat(input: Tensor, times: tuple[int, ...]) -> Tensor:
    """Repeated *times* along each dimension."""
    shape = (1,) * (len(times) - len(input._array.shape)) + input._array.shape
    spread = _reshape(input, tuple([size for one in shape for size in (1, one)]))
    spread = _expand(spread, tuple([size for pair in zip(times, shape, strict=True) for size in pair]))
    return owned(_reshape(spread.clone(), tuple([time * size for time, size in zip(times, shape, strict=True)])))


def _repeated(shape: Shape, times: tuple[int, ...]) -> Shape:
    padded = (1,) * (len(times) - len(shape)) + tuple(shape)
    return tuple([time * size for time, size in zip(times, padded, strict=True)])


@function()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """A copy of *input* repeated along its last dimensions; see ``Tensor.repeat``, which wants a number for each
    dimension.

    >>> import polyad
    >>> polyad.tile(polyad.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    times = normalize_shape(dims, "tile")
    return repeat(input, (1,) * (check_tensor(input, "tile", "input").ndim - len(times)) + times)


def _interleaved(shape: Shape, times: int, dim: int) -> Shape:
    return (*shape[:dim], shape[dim] * times, *shape[dim + 1 :])


@composite(shape=_interleaved, method=False, grad_name="RepeatInterleaveBackward0")
def _repeat_interleave(input: Tensor, times: int, dim: int) -> Tensor:
    """Each position of *dim* *times* times in a row."""
    shape = input._array.shape
    spread = _expand(_unsqueeze(input, dim + 1), (*shape[: dim + 1], times, *shape[dim + 1 :]))
    return _reshape(spread.clone(), _interleaved(shape, times, dim))


def _interleaved_grad(g: Tensor, input_shape: Shape, times: int, dim: int) -> Tensor:
    from ..reductions.sums import _sum

    return _sum(_reshape(g, (*input_shape[: dim + 1], times, *input_shape[dim + 1 :])), (dim + 1,), False)


gradient(_repeat_interleave, input=_interleaved_grad)
linear_in(_repeat_interleave, "input")


@function()
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated *repeats* times (one number, or one for each position) along *dim*, or of the flattened
    tensor. With one tensor of counts alone, each position repeated that often.

    *output_size*, the sum of the repeats, is not needed. Raises RuntimeError for negative numbers or as many as there
    are not positions.

    >>> import polyad
    >>> polyad.repeat_interleave(polyad.tensor([1, 2]), polyad.tensor([1, 3]))
    tensor([1, 2, 2, 2])
    >>> polyad.repeat_interleave(polyad.tensor([1, 3]))
    tensor([0, 1, 1, 1])
    """
    check_tensor(input, "repeat_interleave", "input")
    if repeats is None:
        from ..creation.factories import arange

        if input.ndim != 1:
            raise ShapeError(
                "repeat_interleave: counts alone must be 1-d", operands={"repeats": input}, fix="flatten it"
            )
        input, repeats = arange(input._array.shape[0], device=input.device), input
    if dim is None:
        input, dim = _reshape(input, (input.numel(),)), 0
    at = normalize_dim(dim, input.ndim, "repeat_interleave")
    shape = input._array.shape
    if not isinstance(repeats, Tensor):
        (times,) = normalize_shape((repeats,), "repeat_interleave")
        if times < 0:
            raise ShapeError(f"repeat_interleave: repeats is {times}", operands={"input": input}, fix="give 0 or more")
        check_sizes((*shape[:at], (shape[at] if shape else 1) * times, *shape[at + 1 :]), "repeat_interleave")
        return _repeat_interleave(input, times, at) if shape else _reshape(_expand(input, (times,)).clone(), (times,))
    from ..creation.factories import _full
    from ..indexing.index_select import _index_add, _index_select
    from ..indexing.slicing import _slice
    from ..reductions.cumulative import _cumsum

    counts = _expand(repeats, (shape[at],)) if repeats.numel() == 1 else repeats
    numbers = counts.tolist() if counts._array.shape == (shape[at],) and counts.dtype.category == 1 else [-1]
    if min(numbers, default=0) < 0:
        raise ShapeError(
            f"repeat_interleave: repeats must be {shape[at]} integers of 0 or more",
            operands={"input": input, "repeats": repeats},
            fix=f"give one number for each position of dimension {at}",
        )
    total = sum(numbers)
    check_sizes((*shape[:at], total, *shape[at + 1 :]), "repeat_interleave")
    check_room("repeat_interleave", (*shape[:at], total, *shape[at + 1 :]), input)
    ends = _cumsum(counts, 0)
    kind = ends._type
    # Where a position ends the next begins: summing up these marks gives each element's position.
    marks = _full((total + 1,), 0, kind.dtype, kind.device)
    marks = _index_add(marks, ends, _full(ends._array.shape, 1, kind.dtype, kind.device), 0)
    return _index_select(input, _cumsum(_slice(marks, 0, 0, total, 1), 0), at)


# ---------------------------------------------------------------------------------------------------- reversing,
# rolling


@primitive(shape=same, method=False)
def _flip(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Reversed along *dims*."""


gradient(_flip, input=lambda g, dims: _flip(g, dims))
linear_in(_flip, "input")


@function()
def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy reversed along *dims*. Raises IndexError for a dim out of range, RuntimeError for one named twice.

    >>> import polyad
    >>> polyad.flip(polyad.arange(3), (0,))
    tensor([2, 1, 0])
    """
    check_tensor(input, "flip", "input")
    named = normalize_shape(dims, "flip")
    return _flip(input, normalize_dims(named, input.ndim, "flip") if named else ())


@function()
def fliplr(input: Tensor) -> Tensor:
    """A copy reversed along dimension 1. Raises RuntimeError for a tensor of fewer than 2 dimensions.

    >>> import polyad
    >>> polyad.fliplr(polyad.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    _check_rank("fliplr", input, 2)
    return flip(input, 1)


@function()
def flipud(input: Tensor) -> Tensor:
    """A copy reversed along dimension 0. Raises RuntimeError for a 0-d tensor.

    >>> import polyad
    >>> polyad.flipud(polyad.tensor([1, 2]))
    tensor([2, 1])
    """
    _check_rank("flipud", input, 1)
    return flip(input, 0)


def _check_rank(op: str, input: Tensor, least: int) -> None:
    rank = len(check_tensor(input, op, "input")._array.shape)
    if rank < least:
        raise ShapeError(
            f"{op}: input has {rank} dimensions, fewer than {least}", operands={"input": input}, fix="use flip"
        )


@function()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy rotated *k* times by 90 degrees, from the first of two *dims* towards the second.

    Raises RuntimeError unless dims names two dimensions, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.rot90(polyad.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    named = normalize_shape((dims,), "rot90")
    if check_tensor(input, "rot90", "input").ndim < 2 or len(named) != 2:
        raise ShapeError(
            f"rot90: {len(named)} dims of a tensor of {input.ndim} dimensions",
            operands={"input": input},
            fix="name two dimensions of a tensor that has two or more",
        )
    first, second = (normalize_dim(dim, input.ndim, "rot90") for dim in named)
    if first == second:
        raise ShapeError(f"rot90: both dims are {first}", operands={"input": input}, fix="name two dimensions")
    turns = normalize_shape((k,), "rot90")[0] % 4
    if turns == 0:
        return input.clone()
    if turns == 2:
        return _flip(input, tuple(sorted((first, second))))
    flipped = _flip(input, (second if turns == 1 else first,))
    return flipped.transpose(first, second)


@composite(shape=same, method=False)
def _roll(input: Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    """Shifted along *dims*, around the end."""
    for shift, dim in zip(shifts, dims, strict=True):
        size = input._array.shape[dim]
        if size:
            cut = (size - shift) % size
            input = _cat(list(reversed(_pieces(input, dim, [cut, size - cut]))), dim)
        else:
            input = input.clone()  # an op never returns its operand
    return input


gradient(_roll, input=lambda g, shifts, dims: _roll(g, tuple([-shift for shift in shifts]), dims))
linear_in(_roll, "input")


@function()
def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
    """A copy shifted by *shifts* along *dims*; what leaves at the end comes in at the start. Without dims, of the flat
    tensor.

    Raises RuntimeError if shifts and dims differ in number, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.roll(polyad.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    check_tensor(input, "roll", "input")
    amounts = normalize_shape((shifts,), "roll")
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        if len(amounts) != 1:
            raise ShapeError("roll: several shifts need as many dims", operands={"input": input}, fix="give dims")
        return _reshape(_roll(_reshape(input, (input.numel(),)), amounts, (0,)), input._array.shape)
    named = tuple([normalize_dim(dim, input.ndim, "roll") for dim in normalize_shape((dims,), "roll")])
    if len(named) != len(amounts):
        raise ShapeError(
            f"roll: {len(amounts)} shifts and {len(named)} dims",
            operands={"input": input},
            fix="give one shift a dimension",
        )
    return _roll(input, amounts, named) if input.ndim else input.clone()


# ---------------------------------------------------------------------------------------------------- triangles


def _triangle(shape: Shape, diagonal: int) -> Shape:
    if len(shape) < 2:
        raise ShapeError("tril, triu: input needs two dimensions", fix="unsqueeze it")
    return shape


@primitive(shape=_triangle, method=False)
def _tril(input: Tensor, diagonal: int) -> Tensor:
    """The lower triangle of the last two dimensions, zeros above *diagonal*."""


gradient(_tril, input=lambda g, diagonal: _tril(g, diagonal))
linear_in(_tril, "input")


@primitive(shape=_triangle, method=False)
def _triu(input: Tensor, diagonal: int) -> Tensor:
    """The upper triangle of the last two dimensions, zeros below *diagonal*."""


gradient(_triu, input=lambda g, diagonal: _triu(g, diagonal))
linear_in(_triu, "input")


def _check_matrices(input: Tensor, diagonal: int, op: str) -> int:
    if check_tensor(input, op, "input").ndim < 2:
        raise ShapeError(f"{op}: input needs two dimensions or more", operands={"input": input}, fix="unsqueeze it")
    return normalize_shape((diagonal,), op)[0]


@function(inplace=True)
def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of the matrices in the last two dimensions; elements above *diagonal* are zero.

    Raises RuntimeError for fewer than two dimensions.

    >>> import polyad
    >>> polyad.tril(polyad.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _tril(input, _check_matrices(input, diagonal, "tril"))


@function(inplace=True)
def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of the matrices in the last two dimensions; elements below *diagonal* are zero.

    Raises RuntimeError for fewer than two dimensions.

    >>> import polyad
    >>> polyad.triu(polyad.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return _triu(input, _check_matrices(input, diagonal, "triu"))
