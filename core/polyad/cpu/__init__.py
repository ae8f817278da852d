"""PyTorch's path for what concerns the cpu; here that is `polyad.cpu.amp`."""

from . import amp

__all__ = ["amp"]
