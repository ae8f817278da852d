"""CIFAR-10 and CIFAR-100: 32 x 32 pictures in colour, https://www.cs.toronto.edu/~kriz/cifar.html.

Both published forms are read. The binary one is records of labels and pixels; Python's is a pickle of a dict, of which
only data is built: nothing that a file says is called.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import polyad
from polyad.arguments import explain
from polyad.datasets.pictures import Pictures
from polyad.errors import PolyadError, SerializationError

__all__ = ["CIFAR10", "CIFAR100"]

PIXELS = 3 * 32 * 32


class FilesMissing(PolyadError, RuntimeError):
    """The files of a dataset are not where they should be."""


class _Data(pickle.Unpickler):
    """Reads what the published files hold: dicts, lists, numbers, text, and arrays of bytes."""

    def find_class(self, module: str, name: str) -> Any:
        made = {
            ("numpy.core.multiarray", "_reconstruct"): _array,
            ("numpy", "ndarray"): _Array,
            ("numpy", "dtype"): _dtype,
        }
        made["numpy._core.multiarray", "_reconstruct"] = _array
        if name == "encode" and module == "_codecs":
            return _encoded
        if (module, name) not in made:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not built")
        return made[module, name]


def _encoded(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it encodes by {encoding!r}")
    return text.encode("latin1")


class _Kind:
    """Stands for a NumPy dtype; only bytes are read."""

    def __init__(self, code: Any) -> None:
        if code not in ("u1", b"u1"):
            raise pickle.UnpicklingError(f"it holds an array of {code!r}, not of bytes")

    def __setstate__(self, state: Any) -> None:
        pass


def _dtype(code: Any, *_: Any) -> _Kind:
    return _Kind(code)


class _Array:
    """An array of bytes as the pickle describes it."""

    pixels: Any

    def __setstate__(self, state: Any) -> None:
        _, shape, _, fortran, data = state
        if isinstance(data, str):
            data = data.encode("latin1")
        self.pixels = np.frombuffer(data, np.uint8).reshape(shape, order="F" if fortran else "C")


def _array(*_: Any) -> _Array:
    return _Array()


class CIFAR10(Pictures):
    """50,000 pictures of ten classes for training and 10,000 held out.

    Args:
        root: the folder in which ``cifar-10-batches-py`` or ``cifar-10-batches-bin`` is, or that folder itself.
        download: nothing is downloaded; files that are missing are an error that says where to get them.

    Raises:
        RuntimeError: the files are not there, or are damaged.
    """

    folders = ("cifar-10-batches-py", "cifar-10-batches-bin")
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    train_files = tuple(f"data_batch_{number}" for number in range(1, 6))
    test_files: tuple[str, ...] = ("test_batch",)
    meta = ("batches.meta", "label_names")
    names_file = "batches.meta.txt"
    key = "labels"
    labels_in_record = 1
    count = 10

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        self.root, self.train, self.transform, self.target_transform = root, train, transform, target_transform
        pixels, labels = [], []
        files = [self._find(Path(root), name) for name in (self.train_files if train else self.test_files)]
        for path in files:
            part, numbers = self._read_binary(path) if path.suffix == ".bin" else self._read_pickle(path)
            pixels.append(part)
            labels.append(numbers)
        self.targets: list[int] = np.concatenate(labels).tolist()
        self.images = polyad.from_numpy(np.concatenate(pixels).reshape(-1, 3, 32, 32))
        self.data = self.images.permute(0, 2, 3, 1)
        self.classes = self._names(files[0].parent)
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def _find(self, root: Path, name: str) -> Path:
        for folder in (*(root / folder for folder in self.folders), root):
            for path in (folder / name, folder / f"{name}.bin"):
                if path.is_file():
                    return path
        raise FilesMissing(
            f"{type(self).__name__}: {root} has no file {name} or {name}.bin, nor a folder {' or '.join(self.folders)}",
            fix=f"fetch {self.url} and unpack it in {root}",
        )

    def _wrong(self, path: Path, what: str) -> SerializationError:
        return SerializationError(f"{type(self).__name__}: {path} {what}", fix=f"fetch {self.url} again")

    def _checked(self, path: Path, pixels: Any, labels: Any) -> tuple[Any, Any]:
        if len(labels) and (labels.min() < 0 or labels.max() >= self.count):
            raise self._wrong(path, f"holds label {labels.max()}, and there are {self.count} classes")
        return pixels, labels

    def _read_binary(self, path: Path) -> tuple[Any, Any]:
        data = np.fromfile(path, np.uint8)
        record = self.labels_in_record + PIXELS
        if not len(data) or len(data) % record:
            raise self._wrong(path, f"has {len(data)} bytes, which are no records of {record}")
        data = data.reshape(-1, record)
        labels = data[:, self.labels_in_record - 1].astype(np.int64)
        return self._checked(path, data[:, self.labels_in_record :], labels)

    def _unpickled(self, path: Path) -> dict[str, Any]:
        try:
            with path.open("rb") as file:
                found = _Data(file, encoding="latin1").load()
            return {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
        except Exception as error:  # of many types, by what is damaged
            raise self._wrong(path, f"cannot be read: {error}") from error

    def _read_pickle(self, path: Path) -> tuple[Any, Any]:
        entry = self._unpickled(path)
        pixels, labels = getattr(entry.get("data"), "pixels", None), entry.get(self.key)
        if pixels is None or pixels.ndim != 2 or pixels.shape[1] != PIXELS or not isinstance(labels, list):
            raise self._wrong(path, f"holds no 'data' of bytes (n, {PIXELS}) and no list {self.key!r}")
        if len(labels) != len(pixels) or not all(type(label) is int for label in labels):
            raise self._wrong(path, f"holds {len(pixels)} pictures and {len(labels)} labels, or no numbers as labels")
        return self._checked(path, pixels, np.array(labels, np.int64))

    def _names(self, folder: Path) -> list[str]:
        if (folder / self.meta[0]).is_file():
            names = self._unpickled(folder / self.meta[0]).get(self.meta[1])
            if not isinstance(names, list):
                raise self._wrong(folder / self.meta[0], f"holds no list {self.meta[1]!r}")
            return [str(name) for name in names]
        if (folder / self.names_file).is_file():
            return [line for line in (folder / self.names_file).read_text().splitlines() if line]
        return [str(number) for number in range(self.count)]


class CIFAR100(CIFAR10):
    """50,000 pictures of a hundred classes for training and 10,000 held out; see `CIFAR10`."""

    folders = ("cifar-100-python", "cifar-100-binary")
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    train_files = ("train",)
    test_files = ("test",)
    meta = ("meta", "fine_label_names")
    names_file = "fine_label_names.txt"
    key = "fine_labels"
    labels_in_record = 2
    count = 100


explain(globals())
