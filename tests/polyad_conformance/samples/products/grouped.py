"""Products of groups of matrices, and of matrices of 8-bit floats with scales."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from polyad.base.dtypes import bfloat16, float8_e4m3fn, float8_e5m2, float16, float32, float64, int32
from polyad.nn.functional import ScalingType

from ...sample import ErrorCase, Sample, always

FEW = (float16, float32, float64)
TENSOR, ROW = ScalingType.TensorWise, ScalingType.RowWise


def by_group(a, b, offs=None):
    """What the groups' products are, one after another."""
    if offs is None:
        return np.stack([left @ right for left, right in zip(a, b, strict=True)])
    edges = [0, *offs]
    ranges = [slice(begin, end) for begin, end in pairwise(edges)]
    if a.ndim == b.ndim == 2:
        return np.stack([a[:, part] @ b[part] for part in ranges])
    if a.ndim == 2:
        made = np.zeros((a.shape[0], b.shape[2]), a.dtype)
        for group, part in enumerate(ranges):
            made[part] = a[part] @ b[group]
        return made
    made = np.zeros((a.shape[1], b.shape[1]), a.dtype)
    for group, part in enumerate(ranges):
        made[:, part] = a[group] @ b[:, part]
    return made


def sample(name, a, b, offs=None):
    ends = () if offs is None else (np.array(offs, np.int32),)
    return Sample(
        op="nn.functional.grouped_mm",
        name=name,
        inputs=lambda make: (make(a), make(b), *ends),
        call=lambda op, x, y, offs=None: op(x, y, offs=offs),
        reference=by_group,
        magnitude=lambda x, y, offs=None: by_group(np.abs(x), np.abs(y), offs),
        dtypes=FEW,
        gradient=(0, 1),
        steps=4,
        length=9,
    )


def scaled(a, b, scale_a, scale_b, bias=0.0):
    """The product of what matrices with a scale, or one for each row and column, stand for."""
    return (scale_a * a) @ (scale_b * b) + bias


def scaled_by_group(a, b, scale_a, scale_b, offs=None):
    """`by_group` with a scale for each row of the first operands and each column of the second."""
    return by_group(a * scale_a[..., None], b * scale_b[:, None, :], offs)


def scaled_sample(op, name, shapes, scales, reference=scaled, recipe=None, rest=(), **kwargs):
    """Matrices, their scales with a recipe behind each, and the rest of the arguments."""

    def inputs(make):
        # Quarters up to 2 are numbers of both types of 8 bits.
        matrices = [np.round(make(shape) * 4) / 4 for shape in shapes]
        factors = [make.positive(shape) for shape in scales]
        first = factors[:2] if recipe is None else (factors[0], recipe, factors[1], recipe)
        return *matrices, *first, *rest, *factors[2:]

    def numbers(*args, **_):
        return reference(*(arg for arg in args if arg is not None and not isinstance(arg, ScalingType)))

    return Sample(
        op=op,
        name=name,
        inputs=inputs,
        call=lambda op, x, y, *rest, **kwargs: op(x.to(float8_e4m3fn), y.to(float8_e5m2), *rest, **kwargs),
        kwargs=kwargs,
        reference=numbers,
        magnitude=lambda *args, **_: numbers(*(np.abs(arg) if isinstance(arg, np.ndarray) else arg for arg in args)),
        dtypes=(float32,),
        result=always(kwargs.get("out_dtype") or kwargs.get("output_dtype", bfloat16)),
        steps=4,
        length=9,
    )


SAMPLES = [
    sample("stacks", (2, 3, 4), (2, 4, 5)),
    sample("rows by stack", (6, 4), (3, 4, 5), (2, 2, 5)),
    sample("stack by columns", (2, 3, 4), (4, 6), (1, 6)),
    sample("two matrices", (3, 6), (6, 4), (2, 5)),
    scaled_sample("_scaled_mm", "one scale", [(3, 4), (4, 5)], [(), ()], out_dtype=float32),
    scaled_sample("_scaled_mm", "rows, bias", [(3, 4), (4, 5)], [(3, 1), (1, 5), (5,)], out_dtype=float32),
    scaled_sample("nn.functional.scaled_mm", "one scale", [(3, 4), (4, 5)], [(), ()], recipe=TENSOR),
    scaled_sample(
        "nn.functional.scaled_mm",
        "rows, bias",
        [(3, 4), (4, 5)],
        [(3, 1), (1, 5), (5,)],
        recipe=ROW,
        rest=(None, None),
        output_dtype=float32,
    ),
    scaled_sample(
        "nn.functional.scaled_grouped_mm",
        "stacks",
        [(2, 3, 4), (2, 4, 5)],
        [(2, 3), (2, 5)],
        scaled_by_group,
        recipe=ROW,
    ),
    scaled_sample(
        "nn.functional.scaled_grouped_mm",
        "rows by stack",
        [(6, 4), (3, 4, 5)],
        [(6,), (3, 5)],
        scaled_by_group,
        recipe=ROW,
        rest=(None, None, None, np.array((2, 2, 5), np.int32)),
        output_dtype=float32,
    ),
]

ERRORS = [
    ErrorCase(
        op="nn.functional.grouped_mm",
        name=name,
        call=call,
        raises=RuntimeError,
        match=match,
    )
    for name, call, match in (
        ("no ends", lambda op, tensor: op(tensor(4, 3), tensor(2, 3, 5)), "a matrix needs the ends of its groups"),
        (
            "ends of two stacks",
            lambda op, tensor: op(tensor(2, 4, 3), tensor(2, 3, 5), offs=tensor(2, dtype=int32)),
            "two stacks of matrices have none",
        ),
        ("summed sizes", lambda op, tensor: op(tensor(2, 4, 3), tensor(2, 4, 5)), "contraction dimension .* 3 != 4"),
        ("groups", lambda op, tensor: op(tensor(3, 4, 3), tensor(2, 3, 5)), "the numbers of groups must match"),
        (
            "dtypes",
            lambda op, tensor: op(tensor(2, 4, 3), tensor(2, 3, 5, dtype=float64)),
            "not of one dtype of floats",
        ),
        ("ranks", lambda op, tensor: op(tensor(3), tensor(2, 3, 5)), "mat_a has 1 dimensions"),
    )
]

SCALED_ERRORS = (
    (
        "_scaled_mm",
        "no 8-bit floats",
        lambda op, tensor: op(tensor(3, 4), tensor(4, 5), tensor(), tensor()),
        ValueError,
        "mat_a is .*float32, and only 8-bit floats have scales",
    ),
    (
        "_scaled_mm",
        "scales of another number",
        lambda op, tensor: op(*eight(tensor, (3, 4), (4, 5)), tensor(4, 1), tensor(1, 5)),
        ValueError,
        r"the scale of mat_a is \(4, 1\), neither one number nor \(3, 1\)",
    ),
    (
        "_scaled_mm",
        "dtype of scales",
        lambda op, tensor: op(*eight(tensor, (3, 4), (4, 5)), tensor(dtype=float16), tensor()),
        ValueError,
        "the scale of mat_a is no float32",
    ),
    (
        "nn.functional.scaled_mm",
        "scales of blocks",
        lambda op, tensor: op(
            *eight(tensor, (3, 4), (4, 5)), tensor(), ScalingType.BlockWise1x32, tensor(), ScalingType.TensorWise
        ),
        ValueError,
        "invalid scaling configuration: mat_a",
    ),
    (
        "nn.functional.scaled_mm",
        "one scale for rows",
        lambda op, tensor: op(*eight(tensor, (3, 4), (4, 5)), tensor(3, 1), ROW, tensor(), ROW),
        ValueError,
        "mat_b is scaled by .* with 1 scales",
    ),
    (
        "nn.functional.scaled_mm",
        "summed sizes",
        lambda op, tensor: op(*eight(tensor, (3, 4), (3, 5)), tensor(), TENSOR, tensor(), TENSOR),
        RuntimeError,
        "4.*3",
    ),
    (
        "nn.functional.scaled_grouped_mm",
        "one scale",
        lambda op, tensor: op(*eight(tensor, (2, 3, 4), (2, 4, 5)), tensor(), TENSOR, tensor(), TENSOR),
        NotImplementedError,
        "only a stack of matrices with scales by row",
    ),
    (
        "nn.functional.scaled_grouped_mm",
        "groups",
        lambda op, tensor: op(*eight(tensor, (3, 3, 4), (2, 4, 5)), tensor(3, 3), ROW, tensor(2, 5), ROW),
        RuntimeError,
        "the numbers of groups must match",
    ),
)


def eight(tensor, *shapes):
    return tuple(tensor(*shape).to(float8_e4m3fn) for shape in shapes)


ERRORS += [
    ErrorCase(op=op, name=name, call=call, raises=raises, match=match)
    for op, name, call, raises, match in SCALED_ERRORS
]
