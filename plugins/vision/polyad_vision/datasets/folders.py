"""Files in a folder for each class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from polyad import datasets
from polyad.arguments import explain
from polyad.errors import ArgumentError, PolyadError
from polyad.utils.data import Dataset

from ..transforms.functional import to_pil_image

__all__ = ["DatasetFolder", "ImageFolder"]


class NoFiles(PolyadError, FileNotFoundError):
    """A folder has no files of a dataset."""


class DatasetFolder(Dataset[tuple[Any, Any]]):
    """Files in ``root/CLASS/...``, read by a function; a sample is (what it gave, number of the class).

    Args:
        loader: called with a path.
        extensions: suffixes of the files to take; or
        is_valid_file: called with a path, says whether to take it.

    Raises:
        ValueError: neither or both of *extensions* and *is_valid_file*.
        FileNotFoundError: no such folder, or no file in it.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        loader: Callable[[str], Any],
        extensions: Sequence[str] | str | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        if (extensions is None) == (is_valid_file is None):
            raise ArgumentError("DatasetFolder: pass either extensions or is_valid_file", fix="pass one of them")
        suffixes = (extensions,) if isinstance(extensions, str) else tuple(extensions or ())
        takes = is_valid_file or (lambda path: path.lower().endswith(suffixes))
        folder = Path(root)
        if not folder.is_dir():
            raise NoFiles(f"DatasetFolder: {folder} is not a folder", fix="pass the folder of the classes' folders")
        self.root, self.loader, self.extensions = root, loader, extensions
        self.transform, self.target_transform = transform, target_transform
        self.classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [
            (path, number)
            for name, number in self.class_to_idx.items()
            for place, _, names in sorted(os.walk(folder / name))
            for path in (os.path.join(place, file) for file in sorted(names))
            if takes(path)
        ]
        if not self.samples:
            raise NoFiles(
                f"DatasetFolder: no folder of a class in {folder} has a file to take", fix="look at extensions"
            )
        self.targets = [number for _, number in self.samples]

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(datasets.ImageFolder):
    """`polyad.datasets.ImageFolder`, whose pictures are Pillow's, as transforms of torchvision's expect them."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        *,
        mode: str = "RGB",
        damaged: str = "raise",
    ) -> None:
        super().__init__(root, None, target_transform, mode=mode, damaged=damaged)
        self.picture_transform = transform
        self.imgs = self.samples

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        pixels, target = super().__getitem__(index)
        picture = to_pil_image(pixels)
        return picture if self.picture_transform is None else self.picture_transform(picture), target


explain(globals())
