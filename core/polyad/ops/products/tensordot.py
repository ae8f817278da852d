"""Contractions of several tensors: tensordot, and products of many matrices in the cheapest order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dispatch.op import function
from ...errors import ArgumentTypeError, ShapeError
from ...layout import normalize_dim
from ...tensor import Tensor, check_tensor
from ..shaping.reshape import _reshape, _unsqueeze
from .einsum import plan, run
from .mm import check_rank, check_same_dtype, mm


@function(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sums of products over several dimensions: the last *dims* of *a* and first of *b*, or ``dims=([...], [...])``.

    What remains of a's dimensions comes first, then b's. Summed sizes must be equal or 1. Raises RuntimeError when
    sizes, numbers of dimensions or dtypes do not agree.

    >>> import polyad
    >>> polyad.tensordot(polyad.ones(2, 3, 4), polyad.ones(3, 4, 5)).shape
    polyad.Size([2, 5])
    """
    left = check_tensor(a, "tensordot", "a")._array.shape
    right = check_tensor(b, "tensordot", "b")._array.shape
    check_same_dtype("tensordot", a=a, b=b)
    operands = {"a": a, "b": b}
    pairs = _dims_of(dims, a, b)
    labels = [list(range(1, len(left) + 1)), list(range(len(left) + 1, len(left) + len(right) + 1))]
    for first, second in pairs:
        if left[first] != right[second] and 1 not in (left[first], right[second]):
            raise ShapeError(
                f"tensordot: dimension {first} of a and {second} of b are summed together, but "
                f"{left[first]} != {right[second]}",
                operands=operands,
                fix="name dimensions of equal sizes",
            )
        labels[1][second] = labels[0][first]
    first_dims, second_dims = ([pair[side] for pair in pairs] for side in (0, 1))
    if len(set(first_dims)) != len(pairs) or len(set(second_dims)) != len(pairs):
        raise ShapeError(
            "tensordot: a dimension is summed twice",
            operands=operands,
            notes={"dims": f"{first_dims}, {second_dims}"},
            fix="name each once",
        )
    summed = {labels[0][dim] for dim in first_dims}
    free = [label for term in labels for label in term if label not in summed]
    result = run(plan((tuple(labels[0]), tuple(labels[1])), tuple(free), (left, right)), (a, b)).contiguous()
    if out is not None:
        from ...dispatch.caller import write_out

        return write_out(out, result)  # type: ignore[no-any-return]
    return result


def _dims_of(dims: Any, a: Tensor, b: Tensor) -> list[tuple[int, int]]:
    """The pairs of dimensions that *dims* says to sum over."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int) and not isinstance(dims, bool):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ShapeError(
                f"tensordot: dims is {dims}, but the operands have {a.ndim} and {b.ndim} dimensions",
                operands={"a": a, "b": b},
                fix=f"choose dims in [0, {min(a.ndim, b.ndim)}]",
            )
        return [(a.ndim - dims + at, at) for at in range(dims)]
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        raise ArgumentTypeError(
            f"tensordot: dims is {dims!r}", fix="give an int, or two lists of dimensions, one for each operand"
        )
    first, second = ([one] if isinstance(one, int) else list(one) for one in dims)
    if len(first) != len(second):
        raise ShapeError(
            f"tensordot: dims names {len(first)} dimensions of a and {len(second)} of b",
            operands={"a": a, "b": b},
            fix="name as many of each",
        )
    return [
        (normalize_dim(one, a.ndim, "tensordot"), normalize_dim(other, b.ndim, "tensordot"))
        for one, other in zip(first, second, strict=True)
    ]


def product_of_chain(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices in the order with the fewest multiplications.

    Dynamic programming over intervals: Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", 15.2.
    """
    count = len(matrices)
    sizes = [matrices[0]._array.shape[0], *[matrix._array.shape[1] for matrix in matrices]]
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            cost[first][last], cut[first][last] = min(
                (cost[first][at] + cost[at + 1][last] + sizes[first] * sizes[at + 1] * sizes[last + 1], at)
                for at in range(first, last)
            )

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        at = cut[first][last]
        return mm(product(first, at), product(at + 1, last))

    return product(0, count - 1)


def check_chain(op: str, tensors: Sequence[Tensor]) -> None:
    """Raise unless neighbouring matrices can be multiplied and all have one dtype."""
    operands = {f"tensors[{place}]": tensor for place, tensor in enumerate(tensors)}
    check_same_dtype(op, **operands)
    for place in range(len(tensors) - 1):
        columns, rows = tensors[place]._array.shape[1], tensors[place + 1]._array.shape[0]
        if columns != rows:
            raise ShapeError(
                f"{op}: tensors {place} and {place + 1} do not agree: {columns} != {rows}",
                operands=operands,
                fix="give matrices whose neighbouring sizes are equal",
            )


@function(method=False)
def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """The product of matrices, multiplied in the cheapest order; newer programs say ``linalg.multi_dot``.

    Raises RuntimeError without a matrix, or when sizes or dtypes do not agree.

    >>> import polyad
    >>> polyad.chain_matmul(polyad.ones(2, 3), polyad.ones(3, 4), polyad.ones(4, 1))
    tensor([[12.],
            [12.]])
    """
    if not matrices:
        raise ShapeError("chain_matmul: there is no matrix", fix="give at least one")
    check_rank("chain_matmul", 2, **{f"matrices[{place}]": matrix for place, matrix in enumerate(matrices)})
    check_chain("chain_matmul", matrices)
    return matrices[0].clone() if len(matrices) == 1 else product_of_chain(matrices)


@function(namespace="linalg")
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of two or more matrices, multiplied in the cheapest order; the first and last may be vectors.

    Raises RuntimeError for fewer than two tensors, or when sizes or dtypes do not agree.

    >>> import polyad
    >>> polyad.linalg.multi_dot([polyad.ones(3), polyad.ones(3, 4), polyad.ones(4)])
    tensor(12.)
    """
    if not isinstance(tensors, (tuple, list)):
        raise ArgumentTypeError(f"multi_dot: tensors is {type(tensors).__name__}, not a list", fix="pass a list")
    if len(tensors) < 2:
        raise ShapeError(f"multi_dot: there are {len(tensors)} tensors, not two or more", fix="give at least two")
    operands = {f"tensors[{place}]": tensor for place, tensor in enumerate(tensors)}
    last = len(tensors) - 1
    for place, tensor in enumerate(tensors):
        ndim = check_tensor(tensor, "multi_dot", f"tensors[{place}]").ndim
        if ndim != 2 and not (ndim == 1 and place in (0, last)):
            raise ShapeError(
                f"multi_dot: tensor {place} has {ndim} dimensions",
                operands=operands,
                fix="give matrices; only the first and the last may be vectors",
            )
    shape = (*tensors[0]._array.shape[:-1], *tensors[-1]._array.shape[1:])
    matrices = [
        tensor if tensor.ndim == 2 else _unsqueeze(tensor, 0 if place == 0 else 1)
        for place, tensor in enumerate(tensors)
    ]
    check_chain("multi_dot", matrices)
    result = product_of_chain(matrices)
    return result if result._array.shape == shape else _reshape(result, shape)
