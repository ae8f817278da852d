"""The names of `polyad.amp` for device type "cuda"; PyTorch discourages them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import amp
from ..base.dtypes import DType, float16
from ..compatibility.absent import lacking

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

__path__: list[str] = []  # modules of aliases are found in it: see `polyad.compatibility.aliases`
__getattr__ = lacking(__name__)


class autocast(amp.autocast):
    """`polyad.autocast` with ``device_type="cuda"``.

    >>> from polyad.cuda.amp import autocast
    >>> with autocast(enabled=False) as context:
    ...     context.device
    'cuda'
    """

    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`polyad.amp.GradScaler` with ``device="cuda"``.

    >>> from polyad.cuda.amp import GradScaler
    >>> GradScaler(enabled=False).get_scale()
    1.0
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: DType | None = None) -> Callable[..., Any]:
    """`polyad.amp.custom_fwd` with ``device_type="cuda"``."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """`polyad.amp.custom_bwd` with ``device_type="cuda"``."""
    return amp.custom_bwd(bwd, device_type="cuda")
