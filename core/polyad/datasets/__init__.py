"""Real data to train on: handwritten digits that come with polyad, and readers for MNIST and Fashion-MNIST files.

A dataset here is a :class:`polyad.utils.data.TensorDataset` of (image, label) with the attributes ``images``,
``labels`` and ``classes``. Nothing is downloaded.

To add a dataset, add a module with a TensorDataset like :class:`Digits`; data may only be bundled with its licence,
which goes into README.md beside the file.
"""

from .digits import Digits
from .idx import read_idx
from .mnist import MNIST, FashionMNIST

__all__ = ["MNIST", "Digits", "FashionMNIST", "read_idx"]
