"""Signal processing under PyTorch's path ``polyad.signal``: windows."""

from . import windows as windows

__all__ = ["windows"]
