"""What scripts for torchrun import, at PyTorch's path ``polyad.distributed.elastic``."""

from ...compatibility.absent import lacking

__getattr__ = lacking(__name__)
