"""Datasets with torchvision's arguments; a sample is (picture, label), the picture Pillow's unless
a transform changes it.

mnist.py    MNIST and FashionMNIST, whose files `polyad.datasets` reads
cifar.py    CIFAR-10 and CIFAR-100, the binary version and Python's
folders.py  pictures in a folder for each class
fake.py     pictures of noise

Nothing is downloaded: ``download=True`` is taken where the files are there, and else says where to get them.
"""

from .cifar import CIFAR10, CIFAR100
from .fake import FakeData
from .folders import DatasetFolder, ImageFolder
from .mnist import MNIST, FashionMNIST

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "DatasetFolder", "FakeData", "FashionMNIST", "ImageFolder"]
