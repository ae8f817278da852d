"""MNIST and its drop-in replacements: four IDX files in a folder, compressed or not.

To add a dataset of the same form, derive from :class:`MNIST` and name its classes.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..base import dtypes
from ..errors import SerializationError
from ..files import FileMissing, checked_path
from ..tensor import Tensor
from ..utils.data import TensorDataset
from .idx import read_idx

__all__ = ["MNIST", "FashionMNIST"]


class MNIST(TensorDataset):
    """60,000 handwritten digits for training and 10,000 held out.

    Images are float32 (n, 1, 28, 28) in [0, 1], labels int64 (n,).

    Args:
        root: the folder with ``train-images-idx3-ubyte.gz``, ``train-labels-idx1-ubyte.gz``,
            ``t10k-images-idx3-ubyte.gz`` and ``t10k-labels-idx1-ubyte.gz``, or the same unpacked, without ``.gz``.
            Nothing is downloaded.
        train: the training part; False gives the held-out part.
        download: nothing is downloaded; files that are missing are an error that says what to do.

    Raises:
        FileNotFoundError: no such folder, or a file is not in it.
        PermissionError, OSError: a file cannot be read.
        RuntimeError (SerializationError): a file is damaged, or images and labels do not belong together.
    """

    classes = tuple("0123456789")
    install = "put the four IDX files into one folder and pass it as root"
    images: Tensor
    labels: Tensor

    def __init__(self, root: str | os.PathLike[str], train: bool = True, download: bool = False) -> None:
        part = "train" if train else "t10k"
        folder = Path(checked_path(root, type(self).__name__))
        images_path, labels_path = (
            self._find(folder, f"{part}-{what}-ubyte") for what in ("images-idx3", "labels-idx1")
        )
        images, labels = read_idx(images_path), read_idx(labels_path)
        name = type(self).__name__
        if images.dim() != 3 or tuple(images.shape[1:]) != (28, 28):
            raise self._wrong(f"{name}: {images_path} holds shape {tuple(images.shape)}, not images of 28 x 28")
        if labels.dim() != 1 or len(labels) != len(images):
            raise self._wrong(
                f"{name}: {labels_path} holds shape {tuple(labels.shape)}, not a label for each of {len(images)} images"
            )
        if len(labels) and int(labels.max()) >= len(self.classes):
            raise self._wrong(
                f"{name}: {labels_path} holds label {int(labels.max())}, and there are {len(self.classes)} classes"
            )
        self.images = images.unsqueeze(1).to(dtypes.float32) / 255
        self.labels = labels.to(dtypes.int64)
        super().__init__(self.images, self.labels)

    @classmethod
    def _find(cls, root: Path, stem: str) -> Path:
        for path in (root / f"{stem}.gz", root / stem):
            if path.exists():
                return path
        what = f"has no {stem}.gz" if root.is_dir() else "is not a folder" if root.exists() else "does not exist"
        raise FileMissing(f"{cls.__name__}: root {root} {what}", fix=cls.install)

    @classmethod
    def _wrong(cls, message: str) -> SerializationError:
        return SerializationError(message, fix="fetch the four files again, all from one place")


class FashionMNIST(MNIST):
    """60,000 pictures of clothes for training and 10,000 held out, in the same form as MNIST.

    H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine learning
    algorithms", 2017. Debian's package ``dataset-fashion-mnist`` puts the files into
    ``/usr/share/datasets/fashion-mnist``.
    """

    classes = (
        "T-shirt",
        "trousers",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    )
    install = (
        "on Debian and Ubuntu: apt install dataset-fashion-mnist, then pass root /usr/share/datasets/fashion-mnist; "
        "elsewhere put the four IDX files into one folder and pass that"
    )
