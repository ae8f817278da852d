"""Pooling over windows of one to three dimensions."""

from __future__ import annotations

from polyad.backend import Kernel

from . import average, maximum

KERNELS: dict[str, Kernel] = {**average.KERNELS, **maximum.KERNELS}
