"""Vision: shown as ``polyad.vision``, with torchvision's names. It uses what polyad shows to everybody.

models        networks with torchvision's state-dict keys
transforms    of tensors and of Pillow's pictures
datasets      MNIST, FashionMNIST, CIFAR, folders
utils         grids of pictures, and files
ops           boxes
io            files of pictures as tensors
"""

from . import datasets, io, models, ops, transforms, utils

__all__ = ["datasets", "io", "models", "ops", "transforms", "utils"]
