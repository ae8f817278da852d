"""Sums of products over several dimensions of two tensors."""

from __future__ import annotations

from typing import Any

from ...base.shapes_and_strides import normalize_dim
from ...dispatch.op import function
from ...dispatch.out import write_out
from ...errors import ArgumentTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .einsum import plan, run
from .mm import check_same_dtype


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
    program = plan((tuple(labels[0]), tuple(labels[1])), tuple(free), (left, right))
    result = run(program, (a, b), a.dtype).contiguous()
    if out is not None:
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
            f"tensordot: dims is {safe_repr(dims)}", fix="give an int, or two lists of dimensions, one for each operand"
        )
    first, second = (list(given) if isinstance(given, (tuple, list, range)) else [given] for given in dims)
    if len(first) != len(second):
        raise ShapeError(
            f"tensordot: dims names {len(first)} dimensions of a and {len(second)} of b",
            operands={"a": a, "b": b},
            fix="name as many of each",
        )
    return [
        (normalize_dim(dim_a, a.ndim, "tensordot"), normalize_dim(dim_b, b.ndim, "tensordot"))
        for dim_a, dim_b in zip(first, second, strict=True)
    ]
