"""Kernels by family. `KERNELS` maps op names to kernels; a family module adds its own table to it."""

from __future__ import annotations

from polyad.backend import Kernel

from . import copying

KERNELS: dict[str, Kernel] = {
    **copying.KERNELS,
}
