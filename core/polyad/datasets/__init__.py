"""Real data to train on: handwritten digits that come with polyad, and readers for MNIST files, folders of pictures,
tables and tar files.

Datasets that fit into memory are a :class:`polyad.utils.data.TensorDataset` of (image, label) with the attributes
``images``, ``labels`` and ``classes``; :class:`ImageFolder` reads each picture when it is asked for.
:class:`CSVReader`, :class:`ParquetReader` and :class:`WebDataset` are nodes of a pipeline
(:mod:`polyad.utils.data.nodes`), which read files as they go. Nothing is downloaded.

To add a dataset, add a module with a TensorDataset like :class:`Digits`; data may only be bundled with its licence,
which goes into README.md beside the file.
"""

from .digits import Digits
from .hugging_face import HuggingFaceDataset
from .idx import read_idx
from .images import ImageFolder
from .mnist import MNIST, FashionMNIST
from .tables import CSVReader, ParquetReader
from .webdataset import WebDataset

__all__ = [
    "MNIST",
    "CSVReader",
    "Digits",
    "FashionMNIST",
    "HuggingFaceDataset",
    "ImageFolder",
    "ParquetReader",
    "WebDataset",
    "read_idx",
]
