"""Kernels of Fourier transforms."""

from __future__ import annotations

from . import dft

KERNELS = dft.KERNELS
