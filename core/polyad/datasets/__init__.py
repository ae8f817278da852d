"""Real data to train on: handwritten digits that come with polyad, and readers for MNIST files, folders of pictures,
tables and tar files.

:class:`Digits` is a :class:`polyad.utils.data.TensorDataset` of (image, label) with the attributes ``images``,
``labels`` and ``classes``. :class:`MNIST`, :class:`FashionMNIST`, :class:`ImageFolder` and :class:`DatasetFolder` are
torchvision's, and ``polyad.vision.datasets`` shows them too: pictures are Pillow's until a transform changes them.
:class:`CSVReader`, :class:`ParquetReader` and :class:`WebDataset` are nodes of a pipeline
(:mod:`polyad.utils.data.nodes`), which read files as they go. Nothing is downloaded.

To add a dataset, add a module with a TensorDataset like :class:`Digits`; data may only be bundled with its licence,
which goes into README.md beside the file.
"""

from .digits import Digits
from .folders import DatasetFolder, ImageFolder
from .hugging_face import HuggingFaceDataset
from .idx import read_idx
from .mnist import MNIST, FashionMNIST
from .tables import CSVReader, ParquetReader
from .webdataset import WebDataset

__all__ = [
    "MNIST",
    "CSVReader",
    "DatasetFolder",
    "Digits",
    "FashionMNIST",
    "HuggingFaceDataset",
    "ImageFolder",
    "ParquetReader",
    "WebDataset",
    "read_idx",
]
