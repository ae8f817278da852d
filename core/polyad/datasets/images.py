"""A folder of pictures, each class in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, SerializationError
from ..files import FileMissing, checked_path
from ..interop.images import decoded_image
from ..utils.data import Dataset, SkipSample

__all__ = ["ImageFolder"]

SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")


class ImageFolder(Dataset[tuple[Any, Any]]):
    """Pictures in ``root/CLASS/...``, in folders of any depth; a sample is (picture, number of the class).

    Classes are numbered in the order of their names, samples are in the order of their paths. Needs Pillow: ``pip
    install 'polyad[images]'``.

    Args:
        root: the folder; of its files those with suffixes of pictures are taken.
        transform: called with the picture, a uint8 tensor (channels, height, width).
        target_transform: called with the number of the class.
        mode: Pillow's mode of the pictures: "RGB", or "L" for grey.
        damaged: what to do with a file that cannot be read: "raise", or "skip", which leaves the sample out of its
            batch.

    Raises:
        FileNotFoundError: no such folder, or no folder of a class with a picture in it.
        ValueError: another *damaged*.
        RuntimeError (SerializationError): on reading a sample, a damaged file.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        *,
        mode: str = "RGB",
        damaged: str = "raise",
    ) -> None:
        if damaged not in ("raise", "skip"):
            raise ArgumentError(f"ImageFolder: damaged is {damaged!r}", fix='pass "raise" or "skip"')
        folder = Path(checked_path(root, "ImageFolder"))
        if not folder.is_dir():
            raise FileMissing(f"ImageFolder: {folder} is not a folder", fix="pass the folder of the classes' folders")
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        found = {name: sorted(_pictures(folder / name)) for name in names}
        self.classes = [name for name in names if found[name]]
        if not self.classes:
            raise FileMissing(
                f"ImageFolder: {folder} has no folder with a picture in it",
                fix=f"put pictures ({', '.join(SUFFIXES)}) into a folder for each class",
            )
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [(path, self.class_to_idx[name]) for name in self.classes for path in found[name]]
        self.targets = [number for _, number in self.samples]
        self.transform = transform
        self.target_transform = target_transform
        self.mode = mode
        self.damaged = damaged

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        path, target = self.samples[index]
        try:
            picture: Any = decoded_image(path, self.mode)
        except SerializationError as error:
            if self.damaged == "skip":
                raise SkipSample(str(error)) from error
            raise
        if self.transform is not None:
            picture = self.transform(picture)
        return picture, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        return len(self.samples)


def _pictures(folder: Path) -> list[str]:
    return [
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(SUFFIXES)
    ]
