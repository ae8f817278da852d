"""The bundled handwriting: 1,797 digits of 8 x 8 pixels (README.md beside this file says whose they are)."""

from __future__ import annotations

from importlib import resources

from ..base import dtypes
from ..interop.npz import read_npz
from ..ops.creation import factories as creation
from ..tensor import Tensor
from ..utils.data import TensorDataset

__all__ = ["Digits"]


class Digits(TensorDataset):
    """Handwritten digits with their labels: images float32 (n, 1, 8, 8) in [0, 1], labels int64 (n,).

    Args:
        train: the 1,437 digits for training; False gives the 360 held-out ones, every fifth of the file.

    >>> digits = Digits(train=False)
    >>> len(digits), digits.images.shape
    (360, polyad.Size([360, 1, 8, 8]))
    """

    classes = tuple("0123456789")
    images: Tensor
    labels: Tensor

    def __init__(self, train: bool = True) -> None:
        with resources.as_file(resources.files("polyad.datasets") / "digits.npz") as path:
            arrays = read_npz(path)
        held_out = creation.arange(len(arrays["labels"])) % 5 == 0
        chosen = ~held_out if train else held_out
        self.images = arrays["images"][chosen].unsqueeze(1).to(dtypes.float32) / 16
        self.labels = arrays["labels"][chosen].to(dtypes.int64)
        super().__init__(self.images, self.labels)
