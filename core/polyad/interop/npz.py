"""NumPy archives (.npz) as tensors."""

from __future__ import annotations

import os
import zipfile
import zlib

import numpy

from ..errors import SerializationError
from ..files import opened
from ..tensor import Tensor
from .numpy import from_numpy

__all__ = ["read_npz"]


def read_npz(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The arrays of an .npz file by name, on the CPU. Pickled objects are refused.

    Raises:
        FileNotFoundError, PermissionError, OSError: a path that cannot be read.
        RuntimeError (SerializationError): a file that is no archive of number arrays.
    """
    with opened(path, "read_npz") as stream:
        try:
            with numpy.load(stream, allow_pickle=False) as archive:
                return {name: from_numpy(archive[name]) for name in archive.files}
        except (ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise SerializationError(
                f"read_npz: {os.fspath(path)} cannot be read as an archive of arrays: {error}",
                fix="write it with numpy.savez or numpy.savez_compressed, from arrays of numbers",
            ) from error
