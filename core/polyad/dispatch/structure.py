"""What an op is: from which elements of its operands an element of its results is computed, and how.

An op says it once, by ``structure=`` beside its other rules. Batching, generated kernels, fuzzing and whatever fuses or
splits work read it there. The tests check it against every call among the conformance suite's samples.

    pointwise                   each element is computed from the operands' elements at its own place
    pointwise_stored            likewise, also of dtypes that are for memory alone: nothing is computed
    Reduction("dims", "sum")    each row becomes one element
    Rowwise("dim")              each row is computed from the operands' same row
    contraction                 each element is a sum of products of the operands' elements
    indexing                    elements come from the places that an operand names, or go there
    shaping                     elements are moved, repeated, left out, or stand among constants; nothing is computed
    creation                    computed from parameters and from the place alone: there are no operands
    random                      computed from the operands' elements at its own place, and from random numbers
    opaque                      nothing is said; the body of a composite says it

A *row* is what lies along the dimensions that a structure names, at one place of all others. Parameters are taken as
fixed: nothing is said of how the results depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ..base.shapes_and_strides import (
    Shape,
    Strides,
    broadcast_shapes,
    broadcast_strides,
    contiguous_strides,
    reduced_shape,
    result_strides,
)
from ..errors import IndexOutOfRange

if TYPE_CHECKING:
    from ..base.dtypes import DType
    from .declared import Op, ShapeRule

StridesRule = Callable[..., Strides]
"""``rule(result_shape, operands, *params)``: the strides of a new result, counting elements, from the `Laid` of those
operands that are tensors."""

Combine = Literal["sum", "mean", "prod", "max", "min", "argmax", "argmin", "any", "all"]

_OF_SOMETHING = {"max", "min", "argmax", "argmin"}
"""Combinations that are not defined for a row without elements."""


@dataclass(frozen=True)
class Last:
    """The last *count* dimensions of every operand, or as many as the parameter of that name says."""

    count: int | str


ALL: Final = "*"
"""All dimensions: a name that no parameter has."""

Dims = str | Last | None
"""The parameter that names a dimension or several, counted from the front (None there means all of them), the `Last`
dimensions, or `ALL`. None where nothing is said."""


@dataclass(frozen=True)
class Structure:
    """What all structures have.

    Attributes:
        dims: the dimensions along which places matter to each other. In all others each row is on its own, so that they
            may be batched, split, or walked in any order.
        stored: whether it takes the dtypes that nothing computes with (`polyad.base.dtypes.STORED`): it moves elements,
            converts them, or tells whether they are equal.
    """

    dims: Dims = None
    stored: bool = field(default=False, kw_only=True)

    def along(self, op: Op, params: Sequence[Any], ndim: int) -> tuple[int, ...]:
        """The dimensions, counted from the front, along which *op* works on an operand of *ndim* dimensions."""
        dims = self.dims
        assert dims is not None, f"{op.name} does not say along which dimensions it works"
        if isinstance(dims, Last):
            count = dims.count if isinstance(dims.count, int) else params[op.params.index(dims.count)]
            return tuple(range(ndim - count, ndim))
        named = None if dims == ALL else params[op.params.index(dims)]
        if named is None:
            return tuple(range(ndim))
        return (named,) if isinstance(named, int) else tuple(named)

    def shape_rule(self, op: Op) -> ShapeRule | None:
        """The shape rule that follows from the structure; None if none does."""
        return None

    def strides_rule(self) -> StridesRule:
        """The rule for the order of new results in memory that follows from the structure."""
        return row_major

    def operations(self, results: Sequence[Shape], operands: Sequence[Any], params: Sequence[Any]) -> int:
        """How many arithmetic operations a call takes, from the shapes of its results and operands: none where
        elements are only moved, or nothing is said.
        """
        return 0


@dataclass(frozen=True)
class Pointwise(Structure):
    """Each element of a result is computed from the operands' elements at its own place, once they are broadcast to it.

    Attributes:
        broadcasts: False where the operands have the same shape already, numbers and 0-d tensors apart: fused kernels,
            of gradients for example, rely on that.
    """

    dims: Dims = field(default=Last(0), init=False)
    broadcasts: bool = True

    def shape_rule(self, op: Op) -> ShapeRule | None:
        return _broadcast(op)

    def strides_rule(self) -> StridesRule:
        return as_operands

    def operations(self, results: Sequence[Shape], operands: Sequence[Any], params: Sequence[Any]) -> int:
        return sum([math.prod(shape) for shape in results])


@dataclass(frozen=True)
class Reduction(Structure):
    """Each row of the one operand becomes one element; with a parameter ``keepdim`` its dimensions may stay, as 1.

    Attributes:
        combine: how the first result is computed from a row; None for something that only the body says.
    """

    combine: Combine | None = None

    def keepdim(self, op: Op, params: Sequence[Any]) -> bool:
        """Whether a call with *params* keeps the dimensions."""
        return "keepdim" in op.params and bool(params[op.params.index("keepdim")])

    def shape_rule(self, op: Op) -> ShapeRule | None:
        extreme = self.combine in _OF_SOMETHING

        def reduced(shape: Shape, *params: Any) -> Shape:
            dims = self.along(op, params, len(shape))
            if extreme:
                _check_not_empty(shape, dims)
            return reduced_shape(shape, dims, self.keepdim(op, params))

        return _of_each(op, reduced)

    def operations(self, results: Sequence[Shape], operands: Sequence[Any], params: Sequence[Any]) -> int:
        return math.prod(operands[0])


@dataclass(frozen=True)
class Rowwise(Structure):
    """Each row of the results is computed from the same row of the operands alone; it may be longer or shorter.

    Where rows lie along the last dimensions, the results may have fewer there: none instead of a matrix's two.
    """


@dataclass(frozen=True)
class Contraction(Structure):
    """Each element is a sum of products, which have at most one element of each operand, and fixed factors.

    Attributes:
        products: how many products there are in all, ``products(result_shape, *operand_shapes, *params)``. None where
            the body says it.
    """

    products: Callable[..., int] | None = None

    def operations(self, results: Sequence[Shape], operands: Sequence[Any], params: Sequence[Any]) -> int:
        # A product, and its addition to the sum.
        return 0 if self.products is None else 2 * self.products(results[0], *operands, *params)


@dataclass(frozen=True)
class Indexing(Structure):
    """Elements come from the places that an operand of integers (or a mask) names; nothing is computed.

    Attributes:
        writes: whether, the other way round, elements go to such places of the first result; if several meet there,
            they are combined.
    """

    writes: bool = False
    stored: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Shaping(Structure):
    """Elements are moved, repeated or left out, or stand among constants, by parameters alone."""

    stored: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Creation(Structure):
    """Each element is computed from parameters and from its place; there are no operands."""

    dims: Dims = field(default=Last(0), init=False)
    stored: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Random(Structure):
    """Each element is computed from the operands' elements at its own place and from random numbers."""

    dims: Dims = field(default=Last(0), init=False)

    def shape_rule(self, op: Op) -> ShapeRule | None:
        return _broadcast(op) if op.operands else None

    def operations(self, results: Sequence[Shape], operands: Sequence[Any], params: Sequence[Any]) -> int:
        return math.prod(results[0])


@dataclass(frozen=True)
class Opaque(Structure):
    """Nothing is said. What other packages declare is this unless they say more."""


pointwise: Final = Pointwise()
pointwise_stored: Final = Pointwise(stored=True)
contraction: Final = Contraction()
indexing: Final = Indexing()
shaping: Final = Shaping()
creation: Final = Creation()
random: Final = Random()
opaque: Final = Opaque()


def is_elementwise(op: Op) -> bool:
    """Whether operands are broadcast, and each element of a result is computed from those at its own place."""
    return isinstance(op.structure, Pointwise) and op.structure.broadcasts


def check_structure(op: Op) -> None:
    """Raise TypeError for a structure that *op* cannot have."""
    dims = op.structure.dims
    named = dims.count if isinstance(dims, Last) else dims
    if isinstance(named, str) and named not in (ALL, *op.params):
        raise TypeError(f"structure of {op.name}: {named!r} is no parameter; parameters are {op.params}")
    if isinstance(op.structure, Reduction) and (dims is None or len(op.operands) != 1):
        raise TypeError(f"structure of {op.name}: a reduction has one operand, and says over which dimensions it goes")
    if isinstance(op.structure, Creation) and op.operands:
        raise TypeError(f"structure of {op.name}: a creation has no operands, not {tuple(op.operands)}")


# ------------------------------------------------------------------------------------------------------- strides rules


class Laid(NamedTuple):
    """How an operand lies in memory; strides count bytes."""

    shape: Shape
    strides: Strides
    dtype: DType


def row_major(shape: Shape, operands: Sequence[Laid], *params: Any) -> Strides:
    """The last dimension innermost, whatever the operands."""
    return contiguous_strides(shape)


def as_operands(shape: Shape, operands: Sequence[Laid], *params: Any) -> Strides:
    """The order in memory of operands that broadcast to the result, as `result_strides` of base says."""
    if len(shape) < 2:
        return contiguous_strides(shape)
    return result_strides(shape, [broadcast_strides(own, strides, shape) for own, strides, _ in operands])


def as_first(shape: Shape, operands: Sequence[Laid], *params: Any) -> Strides:
    """The order in memory of the first operand."""
    return as_operands(shape, operands[:1])


def columns(shape: Shape, operands: Sequence[Laid], *params: Any) -> Strides:
    """Matrices column by column, as LAPACK writes them: results that have as many dimensions as the operands."""
    if len(shape) < 2 or len(shape) != max([len(one.shape) for one in operands]):
        return contiguous_strides(shape)
    *batch, outer, inner = contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
    return (*batch, inner, outer)


# --------------------------------------------------------------------------------------------------------- shape rules


def _of_each(op: Op, rule: Callable[..., Shape]) -> ShapeRule:
    """*rule* for each result."""
    count = len(op.outputs)
    return (lambda *given: (rule(*given),) * count) if count else rule


def _broadcast(op: Op) -> ShapeRule:
    """The operands' shapes broadcast together, which for a single operand is its own shape."""
    count = len(op.operands)

    def broadcast(*given: Any) -> Shape:
        return broadcast_shapes(*[shape for shape in given[:count] if shape is not None])

    return _of_each(op, broadcast if count > 1 else lambda shape, *params: shape)


def _check_not_empty(shape: Shape, dims: tuple[int, ...]) -> None:
    for dim in dims:
        if shape[dim] == 0:
            raise IndexOutOfRange(
                f"dimension {dim} has no elements, so there is no extreme among them",
                fix="reduce other dimensions, or concatenate a value for that case",
            )
