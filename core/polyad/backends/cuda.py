"""Switches of CUDA's libraries, at PyTorch's path.

Programs set them before they train: ``backends.cuda.matmul.allow_tf32 = True``, which is another form of
`polyad.set_float32_matmul_precision`. Nothing reads the others: kernels compute as precisely as they can.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..devices import registry
from ..nn.attention import SDPBackend, sdpa_kernel
from ..settings import allowed_attention, get_float32_matmul_precision, set_float32_matmul_precision

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]


class _Matmul:
    """Switches of matrix products."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 products may be computed in TF32.

        >>> import polyad
        >>> polyad.backends.cuda.matmul.allow_tf32
        False
        """
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        set_float32_matmul_precision("high" if allowed else "highest")


matmul = _Matmul()


def is_built() -> bool:
    """Whether a backend for device type "cuda" is installed, and CuPy with it; whether there is a device says
    `polyad.cuda.is_available`.

    >>> import polyad
    >>> isinstance(polyad.backends.cuda.is_built(), bool)
    True
    """
    info = registry.info_of("cuda")
    return info is not None and not info.lacking()


def _switch(name: str) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    def enable(enabled: bool) -> None:
        allowed_attention()[name] = bool(enabled)

    def enabled() -> bool:
        return allowed_attention()[name]

    enable.__name__ = enable.__qualname__ = f"enable_{name}_sdp"
    enable.__doc__ = "Allow this way to compute attention, or not; see `polyad.nn.attention`."
    enabled.__name__ = enabled.__qualname__ = f"{name}_sdp_enabled"
    enabled.__doc__ = "Whether this way to compute attention is allowed; see `polyad.nn.attention`."
    return enable, enabled


enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")
enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> AbstractContextManager[Any]:
    """The older form of `polyad.nn.attention.sdpa_kernel`."""
    wanted = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    return sdpa_kernel([backend for backend, enabled in wanted.items() if enabled])
