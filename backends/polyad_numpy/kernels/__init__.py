"""Kernels by family: a kernel is in the package of the name that its op's package has in ``polyad.ops``.

`KERNELS` maps op names to kernels. A package's modules, each with a table ``KERNELS`` of its own, are loaded when an
op of the package is first looked up. To add a kernel, add it to the table of its family's module; if
its op has a body, its reason to `polyad_numpy.measured`.
"""

from __future__ import annotations

from polyad.backend import KernelFamilies

KERNELS = KernelFamilies(__name__)
