"""Factorizations and what is made of them."""

from __future__ import annotations

from polyad.backend import Kernel

from . import factorizations

KERNELS: dict[str, Kernel] = {**factorizations.KERNELS}
