"""Datasets with torchvision's arguments; a sample is (picture, label), the picture Pillow's unless
a transform changes it.

cifar.py    CIFAR-10 and CIFAR-100, the binary version and Python's

MNIST, FashionMNIST, DatasetFolder and ImageFolder are those of `polyad.datasets`.

Nothing is downloaded: ``download=True`` is taken where the files are there, and else says where to get them.
"""

from polyad.datasets import MNIST, DatasetFolder, FashionMNIST, ImageFolder

from .cifar import CIFAR10, CIFAR100

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "DatasetFolder", "FashionMNIST", "ImageFolder"]
