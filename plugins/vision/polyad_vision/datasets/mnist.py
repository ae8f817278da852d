"""MNIST and FashionMNIST."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polyad
from polyad import datasets
from polyad.arguments import explain

from .samples import Pictures

__all__ = ["MNIST", "FashionMNIST"]


class MNIST(Pictures):
    """60,000 handwritten digits for training and 10,000 held out, 28 x 28, grey.

    Args:
        root: the folder with the four IDX files, or that in which they are in ``MNIST/raw``.
        download: nothing is downloaded; files that are missing are an error that says what to do.

    Raises:
        FileNotFoundError, RuntimeError (SerializationError): see `polyad.datasets.MNIST`.
    """

    reader: type[datasets.MNIST] = datasets.MNIST

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        self.root, self.train, self.transform, self.target_transform = root, train, transform, target_transform
        inner = Path(root) / type(self).__name__ / "raw"
        read = self.reader(inner if inner.is_dir() else root, train=train)
        self.images = (read.images * 255).round().to(polyad.uint8)
        self.data = self.images.squeeze(1)
        self.targets = read.labels
        self.classes = list(read.classes)
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}


class FashionMNIST(MNIST):
    """60,000 pictures of clothes for training and 10,000 held out, in the same form as `MNIST`."""

    reader = datasets.FashionMNIST


explain(globals())
