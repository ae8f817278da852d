"""Dropout in one pass over its random bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.device import Device

from ...order import arranged
from ...quiet import thread
from ..random.sampling import chances


def dropout(x: Any, p: float, generator: Any) -> tuple[Any, Any]:
    kept = chances(x.shape, 1 - p, generator, Device("cpu"))
    out = thread.run(np.multiply, x, kept)  # an infinity that is dropped is nan, as in PyTorch
    out = np.asarray(thread.run(np.multiply, out, out.dtype.type(1 / (1 - p))))
    return arranged(out, x), arranged(kept, x)


KERNELS = {"dropout": Kernel(dropout)}
