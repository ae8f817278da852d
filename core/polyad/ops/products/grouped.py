"""Products of groups of matrices, and of matrices of 8-bit floats with scales.

``grouped_mm`` is one product for each group. A stack of matrices (groups, rows, columns) has one for each; a matrix has
them side by side, and *offs* says where each ends: rows of the first operand, columns of the second, or, of two
matrices, what is summed over. Its gradients are grouped products with the same ends. ``scaled_mm`` multiplies what its
operands stand for, each the product of its elements and their scales, in float32.

The body of ``grouped_mm`` reads *offs*, so a device waits there.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

from ...backend.interface import Signature
from ...base.dtypes import FLOAT8, FLOATING, DType, bfloat16, float32, int32
from ...base.kinds import as_ints
from ...base.shapes_and_strides import Shape
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import contraction, row_major
from ...errors import ArgumentError, DTypeError, NotSupported, ShapeError, safe_repr
from ...tensor import Tensor
from ..creation.factories import empty, zeros
from ..shaping.joining import cat, stack
from .mm import bmm, mm

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


# ---------------------------------------------------------------------------------------------------- grouped products


def _of_floats(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Both matrices have one dtype of floats, which is the result's; the ends are int32."""
    first, second, ends = types[0], types[1], types[2]
    if first.dtype is not second.dtype or first.dtype.category != FLOATING or not first.dtype.computes:
        raise DTypeError(
            f"grouped_mm: mat_a is {first.dtype.name} and mat_b {second.dtype.name}, not of one dtype of floats",
            fix="convert them to one of float16, bfloat16, float32 and float64",
        )
    if ends is not NoneType and ends.dtype is not int32:
        raise DTypeError(f"grouped_mm: offs is {ends.dtype.name}, not int32", fix="convert it with offs.int()")
    return Typing((None,) * len(types), (first.dtype,))


def _grouped_shape(input: Shape, mat2: Shape, offs: Shape | None) -> Shape:
    """The shape of a grouped product; raises ShapeError for shapes that do not agree."""
    for name, shape in (("mat_a", input), ("mat_b", mat2)):
        if len(shape) not in (2, 3):
            raise ShapeError(f"grouped_mm: {name} has {len(shape)} dimensions", fix="give 2 or 3")
    flat = len(input) == 2, len(mat2) == 2
    if any(flat) is (offs is None):
        raise ShapeError(
            "grouped_mm: a matrix needs the ends of its groups as offs, and two stacks of matrices have none",
            fix="pass offs, int32, with the end of each group" if any(flat) else "leave offs out",
        )
    if input[-1] != mat2[-2]:
        raise ShapeError(
            f"grouped_mm: the contraction dimension of mat_a and mat_b must match: {input[-1]} != {mat2[-2]}",
            fix="make the last dimension of mat_a that before the last of mat_b",
        )
    counts = {shape[0] for shape, is_flat in ((input, flat[0]), (mat2, flat[1])) if not is_flat}
    counts |= set() if offs is None else {offs[0]} if len(offs) == 1 else {-1}
    if len(counts) > 1 or -1 in counts:
        raise ShapeError(
            f"grouped_mm: the numbers of groups must match: mat_a {input}, mat_b {mat2}, offs {offs}",
            fix="give an end, and a matrix of each stack, for each group",
        )
    stacked = () if flat[0] != flat[1] else (counts.pop(),)
    return (*stacked, input[-2], mat2[-1])


@composite(dtype=_of_floats, structure=contraction, strides=row_major, shape=_grouped_shape, method=False)
def _grouped(input: Tensor, mat2: Tensor, offs: Tensor | None) -> Tensor:
    """The products of the groups, see the module."""
    shape = _grouped_shape(input._array.shape, mat2._array.shape, None if offs is None else offs._array.shape)
    if offs is None:
        return bmm(input, mat2)
    if input.is_meta:  # there are no ends to read
        return empty(shape, dtype=input.dtype, device=input.device)
    sliced = input.shape[-1] if len(shape) == 3 else input.shape[0] if input.dim() == 2 else mat2.shape[1]
    ends = _ends(offs, sliced)
    ranges = list(zip((0, *ends[:-1]), ends, strict=True))
    if len(shape) == 3:
        parts = [mm(input[:, begin:end], mat2[begin:end]) for begin, end in ranges]
        return stack(parts) if parts else zeros(shape, dtype=input.dtype, device=input.device)
    if input.dim() == 2:
        parts = [mm(input[begin:end], mat2[group]) for group, (begin, end) in enumerate(ranges)]
    else:
        parts = [mm(input[group], mat2[:, begin:end]) for group, (begin, end) in enumerate(ranges)]
    dim = 0 if input.dim() == 2 else 1
    rest = sliced - (ends[-1] if ends else 0)
    if rest or not parts:
        left = (rest, shape[1]) if dim == 0 else (shape[0], rest)
        parts.append(zeros(left, dtype=input.dtype, device=input.device))
    return cat(parts, dim)


def _ends(offs: Tensor, length: int) -> list[int]:
    """Where groups end; raises ValueError for ends that are not in order, or beyond *length*."""
    ends: list[int] = offs.tolist()
    if any(end < begin for begin, end in zip((0, *ends), ends, strict=False)) or (ends and ends[-1] > length):
        raise ArgumentError(
            f"grouped_mm: offs is {ends}, which are no ends of groups of {length}",
            fix="give ends that do not decrease, of which the last is at most the length",
        )
    return ends


gradient(
    _grouped,
    input=lambda g, mat2, offs: _grouped(g, mat2.mT, offs),
    mat2=lambda g, input, offs: _grouped(input.mT, g, offs),
)


@function(method=False, namespace="nn.functional")
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """A product of matrices for each group: of experts, say, with as many rows as each was given.

    Args:
        mat_a, mat_b: (groups, n, k) and (groups, k, m); a matrix in place of one of them has the groups side by side,
            (rows, k) for *mat_a* and (k, columns) for *mat_b*; two matrices, (n, rows) and (rows, m), are multiplied
            group by group, which gives (groups, n, m).
        offs: int32, where each group ends in a matrix; what lies behind the last end gives zeros.
        bias: refused, as in PyTorch.
        out_dtype: the dtype of the operands, or None.

    Raises RuntimeError for shapes or dtypes that do not agree, ValueError for *offs* out of order.

    >>> import polyad as torch
    >>> tokens, experts = torch.ones(3, 2), torch.tensor([[[1.0], [1.0]], [[5.0], [5.0]]])
    >>> torch.nn.functional.grouped_mm(tokens, experts, offs=torch.tensor([1, 3], dtype=torch.int32)).tolist()
    [[2.0], [10.0], [10.0]]
    """
    if bias is not None:
        raise NotSupported("grouped_mm: a bias is not supported", fix="add it to the result")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise DTypeError(f"grouped_mm: out_dtype is {out_dtype}, not {mat_a.dtype}", fix="convert the result")
    return _grouped(mat_a, mat_b, offs)


# ----------------------------------------------------------------------------------------------------- scaled products


class ScalingType(enum.IntEnum):
    """How a matrix is scaled; PyTorch's names."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """How scales lie in memory; PyTorch's names."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _check_scaled(op: str, mat: Tensor, name: str, scale: Tensor) -> None:
    if mat.dtype not in FLOAT8:
        raise ArgumentError(
            f"{op}: {name} is {mat.dtype}, and only 8-bit floats have scales",
            operands={name: mat},
            fix="convert it, or multiply without scales",
        )
    if scale.dtype is not float32:
        raise ArgumentError(f"{op}: the scale of {name} is no float32", operands={"scale": scale}, fix="convert it")


def _of_scales(op: str, mat: Tensor, name: str, scale: Tensor, wanted: Shape) -> Tensor:
    """What *mat* stands for: one scale for all of it, or as many as *wanted*, a shape that broadcasts to its own."""
    _check_scaled(op, mat, name, scale)
    if scale.numel() != 1 and tuple(scale.shape) != wanted:
        raise ArgumentError(
            f"{op}: the scale of {name} is {tuple(scale.shape)}, neither one number nor {wanted}",
            operands={name: mat, "scale": scale},
            fix="give one scale, or one for each row of mat_a and column of mat_b",
        )
    return mat.to(float32) * (scale.reshape(()) if scale.numel() == 1 else scale.reshape(wanted))


@function(method=False)
def _scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: DType | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of matrices of 8-bit floats with their scales, float32 numbers, or (n, 1) and (1, m) for rows of the
    first and columns of the second. The result has the dtype of *input* unless *out_dtype* says another.

    *scale_result* multiplies a result of 8 bits; *use_fast_accum* has no effect. Raises ValueError for other dtypes
    or shapes of scales, RuntimeError for shapes that do not agree.

    >>> import polyad as torch
    >>> eight = torch.ones(2, 2).to(torch.float8_e4m3fn)
    >>> torch._scaled_mm(eight, eight.t(), torch.tensor(2.0), torch.tensor(0.5), out_dtype=torch.float32).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    rows = _of_scales("scaled_mm", input, "mat_a", scale_a, (input.shape[0], 1))
    columns = _of_scales("scaled_mm", mat2, "mat_b", scale_b, (1, mat2.shape[-1]))
    result = mm(rows, columns)
    if bias is not None:
        result = result + bias
    dtype = out_dtype or input.dtype
    if scale_result is not None and dtype in FLOAT8:
        result = result * scale_result
    return result.to(dtype)


def _only_level(op: str, name: str, value: Any) -> Any:
    """The only one of a list."""
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise NotSupported(f"{op}: {name} has {len(value)} levels of scales", fix="scale once")
        return value[0]
    return value


def _check_recipe(op: str, scale: Tensor, recipe: Any, swizzle: Any, name: str) -> None:
    if recipe not in (ScalingType.TensorWise, ScalingType.RowWise) or swizzle not in (None, SwizzleType.NO_SWIZZLE):
        raise ArgumentError(
            f"{op}: invalid scaling configuration: {name} is scaled by {safe_repr(recipe)}, {safe_repr(swizzle)}",
            fix="use ScalingType.TensorWise or ScalingType.RowWise, without swizzle",
        )
    if (recipe == ScalingType.TensorWise) is not (scale.numel() == 1):
        raise ArgumentError(
            f"{op}: invalid scaling configuration: {name} is scaled by {safe_repr(recipe)} with {scale.numel()} scales",
            operands={"scale": scale},
            fix="give one scale for a tensor, and one for each row or column",
        )


@function(method=False, namespace="nn.functional")
def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | Sequence[Tensor],
    scale_recipe_a: Any,
    scale_b: Tensor | Sequence[Tensor],
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    output_dtype: DType | None = bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of matrices of 8-bit floats with their scales.

    Args:
        mat_a, mat_b: (n, k) and (k, m), 8-bit floats.
        scale_a, scale_b: float32: one, or (n, 1) and (1, m).
        scale_recipe_a, scale_recipe_b: ``ScalingType.TensorWise`` or ``RowWise``; scales of blocks are refused, as
            PyTorch does on the cpu.
        swizzle_a, swizzle_b: none, or ``SwizzleType.NO_SWIZZLE``.
        bias: added.
        output_dtype: of the result; None for that of *mat_a*.
        contraction_dim: what PyTorch has besides the last and the first dimension is refused.
        use_fast_accum: has no effect.

    Raises ValueError for scales that do not fit, RuntimeError for shapes that do not agree.

    >>> import polyad as torch
    >>> from polyad.nn.functional import ScalingType, scaled_mm
    >>> eight, two = torch.ones(2, 2).to(torch.float8_e5m2), torch.tensor(2.0)
    >>> scaled_mm(eight, eight, two, ScalingType.TensorWise, two, ScalingType.TensorWise)
    tensor([[8., 8.],
            [8., 8.]], dtype=polyad.bfloat16)
    """
    dims = as_ints(contraction_dim)
    if dims not in ((), (-1, -2), (1, 0)):
        raise NotSupported(f"scaled_mm: contraction_dim is {safe_repr(contraction_dim)}", fix="transpose the operand")
    scales = _only_level("scaled_mm", "scale_a", scale_a), _only_level("scaled_mm", "scale_b", scale_b)
    for name, scale, recipe, swizzle in (
        ("mat_a", scales[0], scale_recipe_a, swizzle_a),
        ("mat_b", scales[1], scale_recipe_b, swizzle_b),
    ):
        recipe, swizzle = _only_level("scaled_mm", "scale_recipe", recipe), _only_level("scaled_mm", "swizzle", swizzle)
        _check_recipe("scaled_mm", scale, recipe, swizzle, name)
    return _scaled_mm(mat_a, mat_b, *scales, bias, None, output_dtype)


@function(method=False, namespace="nn.functional")
def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | Sequence[Tensor],
    scale_recipe_a: Any,
    scale_b: Tensor | Sequence[Tensor],
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: DType | None = bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """`grouped_mm` of 8-bit floats with a scale for each row of *mat_a* and column of *mat_b*: (rows,) and (groups, m),
    or (groups, n) for a stack of matrices. Other scales, and two matrices without stack, raise NotImplementedError.

    The other parameters are those of `scaled_mm` and `grouped_mm`.

    >>> import polyad as torch
    >>> from polyad.nn.functional import ScalingType, scaled_grouped_mm
    >>> eight, by_row = torch.ones(2, 3, 3).to(torch.float8_e4m3fn), ScalingType.RowWise
    >>> scaled_grouped_mm(eight, eight, torch.ones(2, 3), by_row, torch.ones(2, 3), by_row).sum()
    tensor(54., dtype=polyad.bfloat16)
    """
    op = "scaled_grouped_mm"
    rows, columns = _only_level(op, "scale_a", scale_a), _only_level(op, "scale_b", scale_b)
    recipes = [_only_level(op, "scale_recipe", recipe) for recipe in (scale_recipe_a, scale_recipe_b)]
    swizzles = {_only_level(op, "swizzle", swizzle) or SwizzleType.NO_SWIZZLE for swizzle in (swizzle_a, swizzle_b)}
    if recipes != [ScalingType.RowWise] * 2 or swizzles != {SwizzleType.NO_SWIZZLE} or mat_b.dim() != 3:
        raise NotSupported(f"{op}: only a stack of matrices with scales by row is multiplied", fix="use RowWise scales")
    left = _of_scales(op, mat_a, "mat_a", rows.unsqueeze(-1), (*mat_a.shape[:-1], 1))
    right = _of_scales(op, mat_b, "mat_b", columns.unsqueeze(-2), (mat_b.shape[0], 1, mat_b.shape[2]))
    result = grouped_mm(left, right, offs=offs, bias=bias)
    return result.to(output_dtype or mat_a.dtype)


def _grouped_mm(
    input: Tensor,
    mat2: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """`grouped_mm` under the name that PyTorch's programs have for it."""
    return grouped_mm(input, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


def _scaled_grouped_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: DType | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """`scaled_grouped_mm` of scales by row."""
    by_row = ScalingType.RowWise
    return scaled_grouped_mm(
        input, mat2, scale_a, by_row, scale_b, by_row, bias=bias, offs=offs, output_dtype=out_dtype
    )
