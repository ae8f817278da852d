"""Products by cuBLASLt where it is proved: no operand is copied, half types are not widened, a bias is added at once.

TF32 has a proof of its own. It is used for float32 where `polyad.set_float32_matmul_precision` allows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad import get_float32_matmul_precision
from polyad.base.dtypes import DType, float32
from polyad.codegen import collapse
from polyad_kernels.array import Array, new
from polyad_kernels.memo import memoize

from ...libraries.accuracy import EPSILON, TF32_EPSILON, difference, on_host, random
from ...libraries.cublaslt import TYPES, LtError, Multiplier, Operand, Product, version

WAY, TF32_WAY = "products by cuBLASLt", "TF32 by cuBLASLt"
_TRIED = (
    # batch, m, k, n, whether a and b are transposed in memory, and whether a is the same for the whole batch
    ((), 64, 96, 32, False, False, False),
    ((), 33, 65, 17, True, False, False),
    ((3,), 48, 40, 24, False, True, False),
    ((2, 2), 31, 8, 16, True, True, True),
    ((), 256, 512, 128, False, False, False),
)


def multiplied(out: Array, a: Array, b: Array, bias: Array | None = None) -> bool:
    """Write the products of (batch, m, k) and (batch, k, n) into the dense *out*, with *bias* (n,), which is dense too,
    added; False if that is left to others.
    """
    device = out.device
    if out.dtype not in TYPES:
        return False
    if not device.proofs.holds(WAY, version, lambda: _objection(device, False)):
        return False
    tf32 = out.dtype is float32 and get_float32_matmul_precision() != "highest"
    tf32 = tf32 and device.proofs.holds(TF32_WAY, version, lambda: _objection(device, True))
    try:
        return _run(out, a, b, bias, tf32)
    except LtError as error:
        device.proofs.drop(TF32_WAY if tf32 else WAY, error)
        return False


@memoize
def _multiplier(device: Any) -> Multiplier:
    return Multiplier(device)


def _run(out: Array, a: Array, b: Array, bias: Array | None, tf32: bool) -> bool:
    sizes, steps = collapse(out.shape[:-2], [out.steps[:-2], a.steps[:-2], b.steps[:-2]])
    if len(sizes) > 1:
        return False
    count = sizes[0] if sizes else 1
    aparts = [each[0] if each else 0 for each in steps]
    operands = [_operand(x, apart) for x, apart in zip((out, a, b), aparts)]
    result, left, right = operands
    if result is None or left is None or right is None or result.turned:
        return False
    product = Product(out.dtype, count, right, left, result, bias is not None, tf32)
    size = out.dtype.itemsize
    places = [x.buffer + x.offset * size for x in (b, a, out, *([] if bias is None else [bias]))]
    _multiplier(out.device)(product, *places)
    return True


def _operand(x: Array, apart: int) -> Operand | None:
    """The matrices of *x*, each read as column-major; None if they do not lie so."""
    (rows, columns), (down, across) = x.shape[-2:], x.steps[-2:]
    if (across == 1 or columns == 1) and (down >= columns or rows == 1):
        high, wide, pitch, turned = columns, rows, max(down, columns) if rows > 1 else columns, False
    elif (down == 1 or rows == 1) and across >= rows:
        high, wide, pitch, turned = rows, columns, across, True
    else:
        return None
    size = x.dtype.itemsize
    together = (x.buffer + x.offset * size) | apart * size | 256
    return Operand(high, wide, pitch, turned, apart, together & -together)


def _objection(device: Any, tf32: bool) -> str:
    """What is wrong with cuBLASLt's products here, beside the safe ones; empty if nothing is."""
    rng = np.random.default_rng(0)
    for dtype in (float32,) if tf32 else TYPES:
        error = TF32_EPSILON if tf32 else EPSILON[dtype]
        for batch, m, k, n, a_turned, b_turned, shared in _TRIED:
            a = _random(device, rng, dtype, () if shared else batch, m, k, a_turned)
            b = _random(device, rng, dtype, batch, k, n, b_turned)
            bias = None if batch else _random(device, rng, dtype, (), 1, n, False)
            if shared:
                a = Array(a.block, dtype, (*batch, m, k), (*(0,) * len(batch), *a.steps), a.offset)
            fast, safe = (new(device, (*batch, m, n), dtype) for _ in range(2))
            if not _run(fast, a, b, bias, tf32):
                return f"{dtype.name} {batch} {m} x {k} x {n} is not taken"
            _safe(safe, a, b)
            wanted = on_host(safe) if bias is None else on_host(safe) + on_host(bias)
            wrong = difference(fast, wanted)
            if not wrong <= 8 * error:
                return f"{dtype.name} {batch} {m} x {k} x {n} differs by {wrong:.1e} of the largest element"
    return ""


def _safe(out: Array, a: Array, b: Array) -> None:
    from .matmul import multiply_safely

    multiply_safely(out, a, b)


def _random(device: Any, rng: Any, dtype: DType, batch: tuple[int, ...], rows: int, columns: int, turned: bool) -> Any:
    shape = (*batch, columns, rows) if turned else (*batch, rows, columns)
    x = random(device, rng, dtype, shape)
    if not turned:
        return x
    steps = (*x.steps[:-2], x.steps[-1], x.steps[-2])
    return Array(x.block, dtype, (*batch, rows, columns), steps, x.offset)
