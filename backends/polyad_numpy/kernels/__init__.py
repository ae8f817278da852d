"""Kernels by family: a kernel stands in the package under which its op stands in ``polyad.ops``.

`KERNELS` maps op names to kernels. A package's modules, each with a table ``KERNELS`` of its own, are loaded when one
of its ops is first looked up. To add a kernel, add it to the table of its family's module.
"""

from __future__ import annotations

from polyad.backend import KernelFamilies

KERNELS = KernelFamilies(__name__)
