"""Copies that join tensors: `cat`, `stack` and their kin, `block_diag`; and what makes tensors fit for each other:
`atleast_2d`, `meshgrid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import Shape, normalize_dim
from ...dispatch.forward import linear_in
from ...dispatch.op import alias, composite, function, gradient, primitive
from ...dispatch.promotion import promoted
from ...dispatch.structure import shaping
from ...errors import ArgumentError, DTypeError, OptionError, ShapeError, wrong_type
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full, zeros
from ..declaring.checks import check_choice, check_ndim
from ..indexing.slicing import _slice
from .reshape import _expand, _reshape, _unsqueeze
from .splitting import _pieces, unbind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _check_tensors(tensors: Any, op: str) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)):
        raise wrong_type(op, "tensors", tensors, "a list of tensors")
    if not tensors:
        raise OptionError(f"{op}: the list of tensors is empty", fix="give one tensor or more")
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            check_tensor(tensor, op, f"tensors[{position}]")
    return list(tensors)


def _cat_shape(tensors: Sequence[Shape], dim: int) -> Shape:
    head = tensors[0]
    for position, shape in enumerate(tensors):
        if len(shape) != len(head) or any(
            size != head_size for at, (size, head_size) in enumerate(zip(shape, head, strict=False)) if at != dim
        ):
            raise ShapeError(
                f"cat: tensors[0] {tuple(head)} and tensors[{position}] {tuple(shape)} "
                f"must agree in all dimensions but {dim}",
                fix="reshape them, or join along another dimension",
            )
    return (*head[:dim], sum([shape[dim] for shape in tensors]), *head[dim + 1 :])


@primitive(dtype=promoted, structure=shaping, shape=_cat_shape, method=False)
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
    if not any(shapes):
        raise ShapeError("cat: 0-d tensors cannot be joined", operands={"tensors[0]": given[0]}, fix="use stack")
    skips = (0,) in shapes
    model = next((shape for shape in shapes if shape != (0,)), (0,)) if skips else shapes[0]
    if model == (0,):
        dim = 0  # of nothing but skipped tensors: they are one such tensor, along whatever dim
    at = normalize_dim(dim, len(model), "cat")
    if skips and max(map(len, shapes)) > 1:
        # A skipped tensor becomes a slice without elements of the shape that fits: so it has a gradient, though empty.
        nothing = (*model[:at], 0, *model[at + 1 :])
        given = [tensor.reshape(nothing) if tensor._array.shape == (0,) else tensor for tensor in given]
        shapes = [tensor._array.shape for tensor in given]
    _check_shapes(shapes, at)
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


@composite(dtype=promoted, structure=shaping, shape=_stack_shape, method=False)
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
            _stack_shape([other._array.shape for other in given], at)
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
    """The tensors one behind another along dimension 2, each 3-d as by `atleast_3d`; see `cat`.

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
    return cat([_reshape(tensor, (tensor.numel(), 1)) if tensor.ndim < 2 else tensor for tensor in given], 1)


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
    check_choice("meshgrid", "indexing", indexing, ("ij", "xy"), ArgumentError, fix="use 'ij' or 'xy'")
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


def _name_tensors(op: str, tensors: tuple[Any, ...]) -> dict[str, Tensor]:
    return {f"tensors[{place}]": check_tensor(tensor, op, f"tensors[{place}]") for place, tensor in enumerate(tensors)}


def _block_shape(tensors: Sequence[Shape]) -> Shape:
    return tuple([sum(sizes) for sizes in zip(*tensors, strict=True)])


@composite(dtype=promoted, structure=shaping, shape=_block_shape, method=False)
def _block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """The matrices *tensors* in order on the diagonal, zeros elsewhere."""
    type_ = tensors[0]._type
    columns = sum([block._array.shape[1] for block in tensors])
    rows, before = [], 0
    for block in tensors:
        height, width = block._array.shape
        pads = [_full((height, size), 0, type_.dtype, type_.device) for size in (before, columns - before - width)]
        rows.append(_cat([pads[0], block, pads[1]], 1))
        before += width
    return _cat(rows, 0)


def _blocks(g: Tensor, tensors_shape: Sequence[Shape]) -> list[Tensor]:
    gradients, row, column = [], 0, 0
    for height, width in tensors_shape:
        gradients.append(_slice(_slice(g, 0, row, height, 1), 1, column, width, 1))
        row, column = row + height, column + width
    return gradients


gradient(_block_diag, tensors=_blocks)
linear_in(_block_diag, "tensors")


@function(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given matrices on its diagonal and zeros elsewhere; vectors count as rows, 0-d as 1 x 1.

    Dtypes promote. Raises RuntimeError for more than two dimensions.

    >>> import polyad
    >>> polyad.block_diag(polyad.tensor([[1], [2]]), polyad.tensor([3, 4]))
    tensor([[1, 0, 0],
            [2, 0, 0],
            [0, 3, 4]])
    """
    operands = _name_tensors("block_diag", tensors)
    if not operands:
        return zeros(1, 0)
    for name, tensor in operands.items():
        check_ndim("block_diag", name, tensor, 0, 2, operands=operands, fix="reshape it")
    return _block_diag([tensor if tensor.ndim == 2 else _reshape(tensor, (1, tensor.numel())) for tensor in tensors])
