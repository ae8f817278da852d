"""Real data to train on: handwritten digits that come with polyad, readers for MNIST files, folders of pictures.

Datasets that fit into memory are a :class:`polyad.utils.data.TensorDataset` of (image, label) with the attributes
``images``, ``labels`` and ``classes``; :class:`ImageFolder` reads each picture when it is asked for. Nothing is
downloaded.

To add a dataset, add a module with a TensorDataset like :class:`Digits`; data may only be bundled with its licence,
which goes into README.md beside the file.
"""

from .digits import Digits
from .idx import read_idx
from .images import ImageFolder
from .mnist import MNIST, FashionMNIST

__all__ = ["MNIST", "Digits", "FashionMNIST", "ImageFolder", "read_idx"]
