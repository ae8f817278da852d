"""Shape and stride arithmetic. Strides and offsets count elements, never bytes; no tensor is touched here.

A layout is (shape, strides, offset): element ``(i, j, ...)`` of a tensor lies at
``offset + i*strides[0] + j*strides[1] + ...`` in its storage. Every view is a new layout over the same storage, so a
backend never implements one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, SupportsIndex

from ..errors import ArgumentTypeError, IndexOutOfRange, ShapeError, safe_repr

Shape = tuple[int, ...]
Strides = tuple[int, ...]


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints that knows its number of elements.

    >>> import polyad
    >>> polyad.Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        if sizes.__class__ is not tuple and getattr(sizes, "ndim", 1) != 1:
            raise ArgumentTypeError(
                f"Size: {safe_repr(sizes)} is no sequence of ints, but has dimensions of its own",
                fix="pass a tuple of ints",
            )
        try:
            shape = tuple.__new__(cls, sizes)
        except TypeError:
            raise ArgumentTypeError(
                f"Size: {safe_repr(sizes)} is no sequence of ints", fix="pass a tuple of ints"
            ) from None
        for size in shape:
            if size.__class__ is not int:
                return tuple.__new__(cls, normalize_shape((shape,), "Size"))
        return shape

    def numel(self) -> int:
        """The product of the dimensions; 1 for a 0-d tensor."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"polyad.Size({list(self)})"

    def __getitem__(self, item: Any) -> Any:
        value = tuple.__getitem__(self, item)
        return tuple.__new__(Size, value) if isinstance(item, slice) else value

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__


class Layout(NamedTuple):
    """Shape, strides and offset of a tensor in its storage, counted in elements of the tensor's dtype."""

    shape: Shape
    strides: Strides
    offset: int


def in_parts(layout: Layout) -> Layout:
    """The layout of complex elements as that of their real parts: a last dimension of 2 is added."""
    return Layout((*layout.shape, 2), (*[2 * stride for stride in layout.strides], 1), 2 * layout.offset)


def why_not_complex(parts: Layout) -> str:
    """What keeps pairs laid out as *parts* from being complex numbers in memory; empty if nothing does."""
    if not parts.shape or parts.shape[-1] != 2:
        return "the last dimension must have size 2"
    if parts.strides[-1] != 1:
        return "the last dimension must have stride 1"
    if parts.offset % 2:
        return f"the storage_offset {parts.offset} must be even"
    if any(stride % 2 for stride in parts.strides[:-1]):
        return f"the strides {parts.strides} must be even, but for the last"
    return ""


LARGEST_RANK = 64
"""Dimensions that a tensor may have: as many as NumPy's arrays."""


def is_addressable(shape: Sequence[int], itemsize: int) -> bool:
    """Whether a tensor can have *shape*: its strides in bytes fit 64 bits, also where a size of 0 leaves no elements.

    >>> is_addressable((0, 2**40), 4), is_addressable((0, 2**40, 2**40), 4)
    (True, False)
    """
    return len(shape) <= LARGEST_RANK and math.prod(size or 1 for size in shape) * itemsize < 2**63


@lru_cache(maxsize=4096)  # several times in each call of a view; a program has few shapes
def contiguous_strides(shape: Shape) -> Strides:
    """Row-major strides of *shape*; dimensions of size 0 count as 1, as PyTorch's do."""
    strides = [1] * len(shape)
    step = 1
    for dim in range(len(shape) - 1, 0, -1):
        step *= shape[dim] or 1
        strides[dim - 1] = step
    return tuple(strides)


def element_strides(shape: Shape, byte_strides: Strides, itemsize: int) -> Strides:
    """A backend's strides, which count bytes, in elements. NumPy and its like give zeros to a new array without
    elements, where PyTorch's strides are row-major.
    """
    if 0 in shape and not any(byte_strides):
        return contiguous_strides(shape)
    return tuple([stride // itemsize for stride in byte_strides])


def coordinates(number: int, shape: Shape) -> Shape:
    """Where element *number*, row by row, of *shape* is.

    >>> coordinates(5, (2, 4))
    (1, 1)
    """
    found: list[int] = []
    for size in reversed(shape):
        number, at = divmod(number, size)
        found.insert(0, at)
    return tuple(found)


def is_contiguous(shape: Shape, strides: Strides) -> bool:
    """Whether elements lie in row-major order without gaps; strides of size-1 dimensions do not matter."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != expected:
                return 0 in shape
            expected *= size
    return True


def is_dense(shape: Shape, strides: Strides) -> bool:
    """Whether elements lie without gaps and overlaps, in any order of dimensions."""
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride != expected:
            return 0 in shape
        expected *= size
    return True


def has_internal_overlap(shape: Shape, strides: Strides) -> bool:
    """Whether two indices may name the same element through a zero stride (an expanded dimension)."""
    return (
        0 in strides
        and 0 not in shape
        and any(stride == 0 and size > 1 for size, stride in zip(shape, strides, strict=True))
    )


def has_shared_places(shape: Shape, strides: Strides) -> bool:
    """Whether two indices name the same element, through a zero stride or because windows overlap.

    >>> has_shared_places((4, 3), (1, 1)), has_shared_places((4, 3), (3, 1)), has_shared_places((3, 2), (2, 3))
    (True, False, False)
    """
    if 0 in shape:
        return False
    reach = 0
    dims = sorted((stride, size) for size, stride in zip(shape, strides, strict=True) if size > 1)
    for stride, size in dims:
        if stride <= reach:
            break
        reach += (size - 1) * stride
    else:
        return False
    if dims[0][0] == 0:
        return True
    count = math.prod(shape)
    if count > 1 + sum((size - 1) * stride for stride, size in dims):
        return True  # there are more indices than places
    # Dimensions may interleave without meeting: only counting the places tells.
    places = {0}
    for stride, size in dims:
        places = {place + stride * index for place in places for index in range(size)}
    return len(places) < count


def reduced_shape(shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Shape:
    """*shape* with *dims* removed or, with *keepdim*, made 1."""
    if keepdim:
        return tuple([1 if dim in dims else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in dims])


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False) -> int:
    """How many windows fit along a dimension; with *ceil_mode* a further window that starts inside may reach out."""
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that all *shapes* broadcast to.

    Raises ShapeError naming the dimension that does not fit.
    """
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return shapes[0]
    return _broadcast(shapes)


@lru_cache(maxsize=4096)
def _broadcast(shapes: tuple[Shape, ...]) -> Shape:
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        start = rank - len(shape)
        for dim, size in enumerate(shape, start):
            if size != 1:
                if result[dim] not in (1, size):
                    listed = " and ".join(str(tuple(s)) for s in shapes)
                    raise ShapeError(
                        f"broadcast: shapes {listed} do not agree in dimension {dim - rank}: {result[dim]} != {size}",
                        fix="sizes must be equal or 1, counted from the last dimension; "
                        "reshape or unsqueeze one operand",
                    )
                result[dim] = size
    return tuple(result)


def broadcast_strides(shape: Shape, strides: Strides, target: Shape) -> Strides:
    """The strides of an array of *shape* seen in the *target* shape that it broadcasts to: 0 where it repeats.

    >>> broadcast_strides((3, 1), (1, 1), (2, 3, 4))
    (0, 1, 0)
    """
    lead = len(target) - len(shape)
    own = [0 if size == 1 != want else step for size, step, want in zip(shape, strides, target[lead:], strict=True)]
    return (0,) * lead + tuple(own)


def broadcast_layout(layout: Layout, target: Shape) -> Layout:
    """*layout* seen in the *target* shape that it broadcasts to.

    >>> broadcast_layout(Layout((3, 1), (1, 1), 5), (3, 4))
    Layout(shape=(3, 4), strides=(1, 0), offset=5)
    """
    return Layout(target, broadcast_strides(layout.shape, layout.strides, target), layout.offset)


def result_strides(shape: Shape, operands: Sequence[Strides]) -> Strides:
    """The strides that a new elementwise result has: dense, in the order in memory of the operands, as PyTorch's are.

    Two dimensions are compared by the strides of the first operand that is not broadcast along either; between equal
    strides the longer dimension is inner; where no operand decides, the order is row-major. *operands* are
    strides along the result's dimensions, 0 where an operand is broadcast; they may as well count bytes.

    >>> result_strides((2, 3), [(1, 2)])
    (1, 2)
    """
    rank = len(shape)
    order = list(range(rank - 1, -1, -1))  # the innermost first
    if 0 not in shape:
        for position in range(1, rank):
            place = position
            for other in range(position - 1, -1, -1):
                later = _belongs_outside(operands, shape, order[other], order[place])
                if later > 0:
                    order[other], order[place] = order[place], order[other]
                    place = other
                elif later < 0:
                    break
    strides, step = [0] * rank, 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def _belongs_outside(operands: Sequence[Strides], shape: Shape, inner: int, outer: int) -> int:
    """1 if dimension *inner* belongs outside of *outer*, -1 if it is where it belongs, 0 if no operand says."""
    for strides in operands:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def int_of(value: Any) -> int | None:
    """*value* as an int if it stands for one (an int, a NumPy integer, an integer tensor of one element), else None.

    A bool stands for none.

    >>> int_of(2), int_of(2.0), int_of(True)
    (2, None, None)
    """
    if value.__class__ is int:
        return value
    if isinstance(value, (bool, type)) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except (TypeError, ValueError):  # an array of several elements has the method, too
        return None


def normalize_dim(dim: Any, ndim: int, op: str) -> int:
    """*dim* counted from the front; a 0-d tensor takes 0 and -1, as PyTorch's does.

    Raises IndexError for a dim outside ``[-ndim, ndim)`` and TypeError for anything that is no int.
    """
    place: int = dim
    if dim.__class__ is not int:  # asking what else an int may be takes several microseconds
        found = int_of(dim)
        if found is None:
            raise ArgumentTypeError(f"{op}: dim is {safe_repr(dim)}, not an int", fix="pass an int")
        place = found
    limit = max(ndim, 1)
    if not -limit <= place < limit:
        raise IndexOutOfRange(
            f"{op}: dim {place} is out of range [{-limit}, {limit - 1}]",
            fix=f"the tensor has {ndim} dimensions; choose one of them",
        )
    return place + limit if place < 0 else place


def normalize_dims(dim: Any, ndim: int, op: str) -> tuple[int, ...]:
    """A dim, a sequence of dims, None or ``()`` (all dims) as sorted distinct dims counted from the front."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        dims = sorted(normalize_dim(d, ndim, op) for d in dim)
        if len(set(dims)) != len(dims):
            raise ShapeError(f"{op}: dim {tuple(dim)} names a dimension twice", fix="name each dimension once")
        return tuple(dims) if ndim else ()
    result = normalize_dim(dim, ndim, op)
    return (result,) if ndim else ()


def normalize_shape(args: Iterable[Any], op: str) -> Shape:
    """Sizes or dimensions given as ``f(2, 3)`` or ``f((2, 3))`` as a tuple of ints; raises TypeError for non-integers,
    and where not even ``()`` is given.
    """
    sizes = tuple(args)
    if not sizes:
        raise ArgumentTypeError(
            f"{op}: it is given no sizes or dimensions", fix="name them; () says that there are none"
        )
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    for size in sizes:
        if size.__class__ is not int:
            break
    else:
        return sizes
    result = []
    for size in sizes:
        number = int_of(size)
        if number is None:
            raise ArgumentTypeError(
                f"{op}: size {safe_repr(size)} is not an int", fix="give sizes as ints or as one tuple of ints"
            )
        result.append(number)
    return tuple(result)


def check_sizes(shape: Shape, op: str) -> Shape:
    """*shape* itself if no size is negative and the element count fits in 63 bits."""
    for dim, size in enumerate(shape):
        if size < 0:
            raise ShapeError(f"{op}: size {size} of dimension {dim} is negative", fix="sizes must be 0 or more")
    if math.prod(shape) >= 2**63:
        raise ShapeError(
            f"{op}: shape {shape} has {math.prod(shape)} elements, more than 2**63 - 1", fix="use a smaller shape"
        )
    return shape


def infer_shape(shape: Shape, numel: int, op: str) -> Shape:
    """*shape* with its one -1, if any, replaced so that it has *numel* elements; raises ShapeError if it cannot."""
    product = math.prod(shape)
    if product == numel and (not shape or min(shape) >= 0):
        return shape
    if product < 0 and min(shape) == -1 and shape.count(-1) == 1 and not numel % product:
        return tuple([-numel // product if size == -1 else size for size in shape])
    unknown = [dim for dim, size in enumerate(shape) if size == -1]
    known = math.prod(size for size in shape if size != -1)
    if len(unknown) > 1:
        raise ShapeError(f"{op}: shape {shape} has more than one -1", fix="only one dimension can be inferred")
    if any(size < -1 for size in shape):
        raise ShapeError(f"{op}: shape {shape} has a negative size", fix="sizes must be 0 or more, or one -1")
    if unknown:
        if known == 0 or numel % known:
            raise ShapeError(
                f"{op}: shape {shape} cannot hold {numel} elements: {numel} is no multiple of {known}",
                fix="choose sizes whose product divides the number of elements",
            )
        return tuple(numel // known if size == -1 else size for size in shape)
    if known != numel:
        raise ShapeError(
            f"{op}: shape {shape} holds {known} elements, the tensor has {numel}",
            fix="the product of the sizes must stay the same",
        )
    return shape


def view_strides(shape: Shape, strides: Strides, new_shape: Shape) -> Strides | None:
    """Strides that show the elements of (shape, strides), in row-major order, as *new_shape*; None if only a copy can.

    The old dimensions fall into runs that are contiguous among themselves; the new dimensions must fall into groups
    that each fill one run. A new dimension of size 1 belongs to the run before it (counted from the last).
    """
    if 0 in shape:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    if strides == contiguous_strides(shape):
        return contiguous_strides(new_shape)
    result = [0] * len(new_shape)
    dim = len(new_shape)
    innermost, length = strides[-1], 1
    for old in range(len(shape) - 1, -1, -1):
        length *= shape[old]
        if old and (shape[old - 1] == 1 or strides[old - 1] == length * innermost):
            continue
        taken = 1
        while dim and (taken < length or new_shape[dim - 1] == 1):
            dim -= 1
            result[dim] = taken * innermost
            taken *= new_shape[dim]
        if taken != length:
            return None
        if old:
            innermost, length = strides[old - 1], 1
    return tuple(result)


def has_channels_last(shape: Shape, strides: Strides) -> bool:
    """Whether PyTorch takes these strides for channels-last ones; where both orders fit, they are row-major."""
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if not shape[dim] or not strides[1] or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * max(shape[dim], 1)
    return True


def reach(shape: Shape, strides: Strides) -> int:
    """How many elements of memory a layout at offset 0 spans."""
    if 0 in shape:
        return 0
    return 1 + sum([(size - 1) * stride for size, stride in zip(shape, strides, strict=True)])
