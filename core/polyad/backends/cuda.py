"""Switches of CUDA's libraries, at PyTorch's path.

Programs set them before they train: ``backends.cuda.matmul.allow_tf32 = True``. They can be set; nothing reads them:
kernels do not choose a smaller precision than that of their operands.
"""

from __future__ import annotations

from types import SimpleNamespace

from ..backend import registry

__all__ = ["is_built", "matmul"]

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)


def is_built() -> bool:
    """Whether a backend for device type "cuda" is installed; `polyad.cuda.is_available` says whether there is a device.

    >>> import polyad
    >>> isinstance(polyad.backends.cuda.is_built(), bool)
    True
    """
    return "cuda" in registry.names()
