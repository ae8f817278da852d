"""Files that are not on this machine's file systems, by URL: ``s3://bucket/name``, ``memory://name``.

Read and written through fsspec, which has a package for each place (``pip install 'polyad[remote]'``, and s3fs, gcsfs,
...). A ``file://`` URL is a path like any other, and needs none.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import posixpath
import re
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import IO, Any

from ..errors import PackageMissing, PolyadError
from .trouble import trouble

__all__ = ["beside", "is_remote", "local_path", "reading", "replacing_remote"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_remote(path: str) -> bool:
    """Whether it is the URL of a file elsewhere.

    >>> is_remote("s3://bucket/model"), is_remote("file:///tmp/model"), is_remote("models/a:b")
    (True, False, False)
    """
    return _URL.match(path) is not None and not path.lower().startswith("file://")


def local_path(path: str) -> str:
    """The path of a ``file://`` URL; any other text unchanged.

    >>> local_path("file:///tmp/a%20model")
    '/tmp/a model'
    """
    if not path.lower().startswith("file://"):
        return path
    return urllib.request.url2pathname(urllib.parse.urlsplit(path).path)


def beside(path: str, name: str) -> str:
    """The path of the file *name* in the folder of *path*."""
    if is_remote(path):
        return posixpath.join(posixpath.dirname(path), name)
    return os.path.join(os.path.dirname(path), name)


@contextlib.contextmanager
def _of_system(op: str, url: str) -> Iterator[Any]:
    """fsspec's file system of the URL, and errors in the house style."""
    try:
        fsspec: Any = importlib.import_module("fsspec")
    except ImportError as error:
        raise PackageMissing(
            f"{op}: {url} is read and written by fsspec, which is not installed", fix="pip install 'polyad[remote]'"
        ) from error
    try:
        try:
            system, path = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise PackageMissing(
                f"{op}: fsspec cannot open {url}: {error}",
                fix="check the URL's beginning; install the package of fsspec that is named",
            ) from error
        yield system, path
    except OSError as error:
        if isinstance(error, PolyadError):
            raise
        fix = "check the URL; no such file is there" if isinstance(error, FileNotFoundError) else "check the URL"
        raise trouble(op, url, error, fix) from error


@contextlib.contextmanager
def reading(url: str, op: str) -> Iterator[IO[bytes]]:
    """The file at *url*, open for reading; *op* names the caller in errors."""
    with _of_system(op, url) as (system, path), system.open(path, "rb") as stream:
        yield stream


@contextlib.contextmanager
def replacing_remote(url: str, op: str) -> Iterator[IO[bytes]]:
    """A new file, on this machine, which is sent to *url* when the block ends without an exception."""
    with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
        name = os.path.join(folder, "file")
        try:
            with open(name, "wb") as stream:
                yield stream
        except OSError as error:
            if isinstance(error, PolyadError):
                raise
            raise trouble(op, name, error) from error
        with _of_system(op, url) as (system, path):
            system.put_file(name, path)
