"""Files in a folder for each class, with torchvision's arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from ..arguments import check_either, explain
from ..errors import SerializationError
from ..files import FileMissing, checked_path
from ..interop.images import loaded_image
from ..utils.data import Dataset, SkipSample

__all__ = ["DatasetFolder", "ImageFolder"]

SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")


class DatasetFolder(Dataset[tuple[Any, Any]]):
    """Files in ``root/CLASS/...``, read by a function; a sample is (what it gave, number of the class).

    Classes are numbered in the order of their names, samples are in the order of their paths.

    Args:
        root: the folder of the classes' folders.
        loader: called with a path.
        extensions: suffixes of the files to take; or
        is_valid_file: called with a path, says whether to take it.
        transform: called with what *loader* gave.
        target_transform: called with the number of the class.
        allow_empty: take a class without a file for a class.

    Raises:
        ValueError: neither or both of *extensions* and *is_valid_file*.
        FileNotFoundError: no such folder, no class in it, or a class without a file to take.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        loader: Callable[[str], Any],
        extensions: Sequence[str] | str | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        name = type(self).__name__
        check_either(name, extensions=extensions, is_valid_file=is_valid_file)
        self.root, self.loader, self.extensions = root, loader, extensions
        self.transform, self.target_transform = transform, target_transform
        self.classes, self.class_to_idx = self.find_classes(os.fspath(checked_path(root, name)))
        self.samples = self.make_dataset(os.fspath(root), self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [number for _, number in self.samples]

    def find_classes(self, directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
        """The names of the classes in *directory*, and their numbers."""
        folder, name = Path(directory), type(self).__name__
        if not folder.is_dir():
            raise FileMissing(f"{name}: {folder} is not a folder", fix="pass the folder of the classes' folders")
        classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        if not classes:
            raise FileMissing(f"{name}: {folder} has no folder in it", fix="make a folder for each class")
        return classes, {name: number for number, name in enumerate(classes)}

    @staticmethod
    def make_dataset(
        directory: str | os.PathLike[str],
        class_to_idx: dict[str, int],
        extensions: Sequence[str] | str | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The (path, number of the class) of each file to take."""
        suffixes = (extensions,) if isinstance(extensions, str) else tuple(extensions or ())
        takes = is_valid_file or (lambda path: path.lower().endswith(suffixes))
        samples = [
            (path, number)
            for name, number in sorted(class_to_idx.items())
            for place, _, names in sorted(os.walk(os.path.join(directory, name), followlinks=True))
            for path in (os.path.join(place, file) for file in sorted(names))
            if takes(path)
        ]
        empty = sorted(class_to_idx.keys() - {name for name, n in class_to_idx.items() if n in {n for _, n in samples}})
        if empty and not allow_empty:
            wanted = f" that ends in {', '.join(suffixes)}" if suffixes else ""
            raise FileMissing(
                f"make_dataset: no file to take for the classes {', '.join(empty)} in {directory}",
                fix=f"give each class a file{wanted}, take the folder away, or pass allow_empty=True",
            )
        return samples

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        path, target = self.samples[index]
        sample = self._load(path)
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target if self.target_transform is None else self.target_transform(target)

    def _load(self, path: str) -> Any:
        return self.loader(path)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Pictures in ``root/CLASS/...``; a sample is (Pillow's picture in RGB, number of the class).

    Needs Pillow: ``pip install 'polyad[images]'``.

    Args:
        root, transform, target_transform, allow_empty: see `DatasetFolder`.
        loader: called with a path, in the place of Pillow.
        is_valid_file: called with a path, says whether to take it; by default suffixes of pictures are taken.
        damaged: what to do with a file that cannot be read: "raise", or "skip", which leaves the sample out of its
            batch.

    Raises:
        FileNotFoundError: see `DatasetFolder`.
        ValueError: another *damaged*.
        RuntimeError (SerializationError): on reading a sample, a damaged file.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        loader: Callable[[str], Any] = loaded_image,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
        *,
        damaged: Literal["raise", "skip"] = "raise",
    ) -> None:
        suffixes = SUFFIXES if is_valid_file is None else None
        super().__init__(root, loader, suffixes, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
        self.damaged = damaged

    def _load(self, path: str) -> Any:
        try:
            return self.loader(path)
        except SerializationError as error:
            if self.damaged == "skip":
                raise SkipSample(str(error)) from error
            raise


explain(globals())
