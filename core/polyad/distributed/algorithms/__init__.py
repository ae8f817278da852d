"""What changes how gradients of several processes are reduced, at PyTorch's path ``polyad.distributed.algorithms``."""

from ...compatibility.absent import lacking

__getattr__ = lacking(__name__)
