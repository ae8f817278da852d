"""Vision: shown as ``polyad.vision``. It uses what polyad shows to everybody.

compiled      what torchvision has in compiled libraries, in polyad's ops: with it torchvision runs unedited
models        ResNets with torchvision's state-dict keys
transforms    of tensors and of Pillow's pictures
datasets      CIFAR, read without running what its files say; MNIST, FashionMNIST and folders are `polyad.datasets`' own
utils         grids of pictures, and files

Models, transforms and utils are torchvision's by name, for programs that have no torchvision: its wheel asks for
PyTorch's. Whatever else torchvision has is taken from it (docs/vision.md).
"""

from . import datasets, models, transforms, utils

__all__ = ["datasets", "models", "transforms", "utils"]
