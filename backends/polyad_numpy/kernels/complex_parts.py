"""Parts of complex numbers."""

from __future__ import annotations

from polyad.backend import Kernel

KERNELS = {"real": Kernel(lambda a: a.real.copy()), "imag": Kernel(lambda a: a.imag.copy())}
