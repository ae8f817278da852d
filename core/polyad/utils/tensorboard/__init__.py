"""Event files of TensorBoard, at PyTorch's path ``polyad.utils.tensorboard``; needs ``polyad[tensorboard]``.

writer.py  `SummaryWriter`
graph.py   a model as the nodes that TensorBoard draws
"""

from ...compatibility.absent import lacking
from .writer import SummaryWriter

__all__ = ["SummaryWriter"]

__getattr__ = lacking(__name__)
