"""Products of matrices and vectors."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, float16, int64

from ...sample import NUMBERS, ErrorCase, Sample


def product_of_magnitudes(a, b):
    """What the errors of a product are relative to: the product without cancellation."""
    return np.abs(a) @ np.abs(b)


def matmul(name, left, right):
    return Sample(
        op="matmul",
        name=name,
        inputs=lambda make: (make(left), make(right)),
        reference=lambda a, b: a @ b,
        magnitude=product_of_magnitudes,
        dtypes=NUMBERS,
        gradient=True,
        length=left[-1],
    )


def gemm(name, left, right, transpose_left, transpose_right):
    def operands(a, b, *flags):
        return (np.swapaxes(a, -1, -2) if transpose_left else a), (np.swapaxes(b, -1, -2) if transpose_right else b)

    return Sample(
        op="_gemm",
        name=name,
        inputs=lambda make: (make(left), make(right), transpose_left, transpose_right),
        reference=lambda *given: np.matmul(*operands(*given)),
        magnitude=lambda *given: product_of_magnitudes(*operands(*given)),
        dtypes=NUMBERS,
        gradient=(0, 1),
        length=left[-2] if transpose_left else left[-1],
    )


SAMPLES = [
    Sample(
        op="matmul",
        name="a long sum of small terms",
        # Above 2048 (256 for bfloat16) a half type does not notice when a number below 1 is added.
        inputs=lambda make: (make.positive((1, 4099), 0.5, 1.0), make.positive((4099, 2), 0.5, 1.0)),
        reference=lambda a, b: a @ b,
        magnitude=product_of_magnitudes,
        dtypes=(float16, bfloat16),
        length=4099,
    ),
    matmul("matrices", (3, 4), (4, 5)),
    matmul("vector by matrix", (4,), (4, 3)),
    matmul("matrix by vector", (3, 4), (4,)),
    matmul("vectors", (5,), (5,)),
    matmul("batches", (2, 3, 4), (2, 4, 2)),
    matmul("batches broadcast", (2, 1, 2, 3), (3, 3, 2)),
    matmul("batch by matrix", (2, 3, 4), (4, 2)),
    matmul("batch by vector", (2, 3, 4), (4,)),
    matmul("past every tile", (17, 33), (33, 19)),
    matmul("no rows", (0, 4), (4, 3)),
    matmul("sum of nothing", (2, 0), (0, 3)),
    matmul("no batches", (0, 2, 3), (3, 2)),
    gemm("plain", (3, 4), (4, 5), False, False),
    gemm("left transposed", (4, 3), (4, 5), True, False),
    gemm("right transposed", (3, 4), (5, 4), False, True),
    gemm("both transposed, batched", (2, 4, 3), (5, 4), True, True),
]

ERRORS = [
    ErrorCase(
        op="matmul",
        name="inner sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4, 5)),
        raises=RuntimeError,
        match=r"matmul: .*3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4, 5\)",
    ),
    ErrorCase(
        op="matmul",
        name="0-d",
        call=lambda op, tensor: op(tensor(), tensor(4, 5)),
        raises=RuntimeError,
        match=r"matmul: .*\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="matmul",
        name="vectors of different lengths",
        call=lambda op, tensor: op(tensor(3), tensor(4)),
        raises=RuntimeError,
        match=r"matmul: .*3 != 4\n.*input .*\(3,\).*\n.*other .*\(4,\)",
    ),
    ErrorCase(
        op="matmul",
        name="a list",
        call=lambda op, tensor: op(tensor(2, 3), [[1.0], [2.0], [3.0]]),
        raises=TypeError,
        match=r"matmul: other is list",
    ),
    ErrorCase(
        op="matmul",
        name="batches that do not broadcast",
        call=lambda op, tensor: op(tensor(2, 3, 4), tensor(3, 4, 5)),
        raises=RuntimeError,
        match=r"input .*\(2, 3, 4\).*\n.*other .*\(3, 4, 5\)",
    ),
    ErrorCase(
        op="matmul",
        name="out of another kind of dtype",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), out=tensor(2, 2, dtype=int64)),
        raises=RuntimeError,
        match=r"out: .*dtype.*\n.*out .*int64",
    ),
    ErrorCase(
        op="_gemm",
        name="inner sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4, 5), False, False),
        raises=RuntimeError,
        match=r"3 != 4\n.*input .*\n.*other",
    ),
]
