"""The names of `polyad.amp` for device type "cpu"; PyTorch discourages them."""

from __future__ import annotations

from .. import amp
from ..base.dtypes import DType, bfloat16

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """`polyad.autocast` with ``device_type="cpu"``.

    >>> from polyad.cpu.amp import autocast
    >>> with autocast(enabled=False) as context:
    ...     context.device
    'cpu'
    """

    def __init__(self, enabled: bool = True, dtype: DType = bfloat16, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`polyad.amp.GradScaler` with ``device="cpu"``.

    >>> from polyad.cpu.amp import GradScaler
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
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
