"""How far what a fast way computed is from what the safe one did, for the proofs."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import DType, bfloat16, float16, float32, float64
from polyad.interop.numpy import numpy_dtype
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying

EPSILON = {float16: 2.0**-10, bfloat16: 2.0**-7, float32: 2.0**-23, float64: 2.0**-52}

TF32_EPSILON = 2.0**-10
"""TF32 rounds both factors to 10 bits behind the point."""


def difference(found: Array, wanted: Any) -> float:
    """The largest difference of two elements, by the largest element of *wanted*, which is on the host."""
    return float(np.abs(on_host(found) - wanted).max() / np.abs(wanted).max())


def random(device: Any, rng: Any, dtype: DType, shape: tuple[int, ...]) -> Array:
    """Numbers from -1 to 1."""
    host = rng.uniform(-1, 1, shape).astype(numpy_dtype(dtype))
    x = new(device, shape, dtype)
    device.write(x.buffer, host.reshape(-1).view(np.uint8))
    return x


def on_host(x: Array) -> Any:
    """The elements of *x* as float64."""
    wide = new(x.device, x.shape, float64)
    copying.copy(wide, x)
    host = np.empty(x.shape, np.float64)
    x.device.read(host.reshape(-1).view(np.uint8), wide.buffer, 0)
    return host
