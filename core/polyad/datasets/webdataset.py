"""Samples in tar files, as the webdataset format has them: neighbouring members of one base name are a sample.

    000017.jpg  000017.cls  000017.json        the sample "000017": {"jpg": ..., "cls": ..., "json": ...}

Source: https://github.com/webdataset/webdataset (its description of the format; nothing of it is used). Invariants:
nothing is unpacked to a disk, no member's name is used as a path, and no pickle is read.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from ..errors import ArgumentError, SerializationError, wrong_type
from ..files import opened, parsed
from ..interop.images import decoded_picture
from ..interop.npz import array_of, arrays_of
from ..serialization import load
from ..utils.data.nodes import BaseNode
from .folders import SUFFIXES
from .tables import checked_files

__all__ = ["DECODERS", "WebDataset"]

PICKLES = ("pickle", "pkl", "pyd")
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")


def _text(data: bytes, _: str) -> str:
    return data.decode("utf-8")


def _number(data: bytes, _: str) -> int:
    return int(data.decode("ascii"))


def _json(data: bytes, _: str) -> Any:
    return parsed(data)


def _picture(data: bytes, name: str) -> Any:
    return decoded_picture(io.BytesIO(data), name)


def _saved(data: bytes, _: str) -> Any:
    return load(io.BytesIO(data), "cpu")


DECODERS: Mapping[str, Callable[[bytes, str], Any]] = {
    **dict.fromkeys(("txt", "text", "transcript"), _text),
    **dict.fromkeys(("cls", "cls2", "class", "count", "index", "inx", "id"), _number),
    **dict.fromkeys(("json", "jsn"), _json),
    "npy": lambda data, name: array_of(data, name, "WebDataset"),
    "npz": lambda data, name: arrays_of(io.BytesIO(data), name, "WebDataset"),
    **dict.fromkeys(("pt", "pth", "ten", "safetensors", "polyad"), _saved),
    **{suffix.lstrip("."): _picture for suffix in SUFFIXES},
}
"""By the last part of an extension, a function of a member's bytes and its name."""


class WebDataset(BaseNode[dict[str, Any]]):
    """The samples of tar files, one file after the other; a sample is in memory at a time.

    A sample is a dict: ``"__key__"``, the base name; and each member by its extension, which begins behind the first
    dot of the name. Members are decoded by the last part of the extension: pictures to uint8 tensors (channels, height,
    width), npy, npz, pt, pth and safetensors to tensors, txt to str, cls to int, json; others stay bytes. A pickle is
    refused.

    A node: put a `Loader` around it, or further nodes; for several readers, give each its own files. Its state is the
    place of the next sample; resumed, a tar file that is not packed is read from there.

    Args:
        urls: a path or URL, or several; ``{000..123}`` in it stands for these numbers. Files may be packed by gzip,
            bzip2 or xz.
        decoders: by extension, a function of a member's bytes, instead of or in addition to those above; None for
            "leave the bytes". ``decoders=None`` leaves all bytes.

    Raises:
        TypeError, ValueError: urls or decoders that are none.
        FileNotFoundError, OSError: on reading, a path that cannot be read.
        RuntimeError (SerializationError): on reading, a damaged file, or a member that cannot be decoded.

    >>> import io, pathlib, tarfile, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "shard-0.tar")
    >>> with tarfile.open(file, "w") as tar:
    ...     for name, data in (("a.txt", b"a cat"), ("a.cls", b"7"), ("b.txt", b"a dog"), ("b.cls", b"8")):
    ...         member = tarfile.TarInfo(name)
    ...         member.size = len(data)
    ...         tar.addfile(member, io.BytesIO(data))
    >>> [sample["cls"] for sample in WebDataset(file)]
    [7, 8]
    """

    def __init__(
        self,
        urls: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        decoders: Mapping[str, Callable[[bytes], Any] | None] | None = {},  # it is only read
    ) -> None:
        self.urls = [url for pattern in checked_files("WebDataset", urls) for url in _expanded(pattern)]
        if decoders is not None and not (
            isinstance(decoders, Mapping) and all(each is None or callable(each) for each in decoders.values())
        ):
            raise wrong_type("WebDataset", "decoders", decoders, "a dict of functions by extension, or None")
        self.decoders = decoders
        self._start(0, 0, 0)

    def _start(self, shard: int, offset: int, count: int) -> None:
        """Go to a sample: of a file by its number, *count* samples behind the byte *offset*."""
        self._shard, self._offset, self._count = shard, offset, count
        self._samples: Iterator[tuple[int | None, dict[str, Any]]] | None = None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self._start(0, 0, 0)
            return
        if initial_state["shards"] != len(self.urls):
            raise ArgumentError(
                f"WebDataset.reset: the state is of {initial_state['shards']} files, and there are {len(self.urls)}",
                fix="pass the files as they were when the state was taken",
            )
        self._start(initial_state["shard"], initial_state["offset"], initial_state["count"])

    def get_state(self) -> dict[str, Any]:
        return {
            "shards": len(self.urls), "shard": self._shard, "offset": self._offset, "count": self._count
        }  # fmt: skip

    def next(self) -> dict[str, Any]:
        while self._shard < len(self.urls):
            url = self.urls[self._shard]
            if self._samples is None:
                self._samples = _samples(url, self._offset)
                for _ in range(self._count):
                    next(self._samples, None)
            found = next(self._samples, None)
            if found is None:
                self._start(self._shard + 1, 0, 0)
                continue
            end, members = found
            if end is None:
                self._count += 1
            else:
                self._offset, self._count = end, 0
            return {
                name: data if name == "__key__" else self._decoded(data, name, f"{members['__key__']}.{name} in {url}")
                for name, data in members.items()
            }
        raise StopIteration

    def _decoded(self, data: bytes, extension: str, name: str) -> Any:
        if self.decoders is None:
            return data
        last = extension.rsplit(".", 1)[-1].lower()
        try:
            for known in (extension, last):
                if known in self.decoders:
                    own = self.decoders[known]
                    return data if own is None else own(data)
            if last in PICKLES:
                raise SerializationError(
                    f"WebDataset: {name} is a pickle, which could run code",
                    fix=f"write another format; or pass decoders={{{last!r}: None}} for its bytes",
                )
            decode = DECODERS.get(last)
            return data if decode is None else decode(data, name)
        except (ValueError, UnicodeError) as error:
            raise SerializationError(
                f"WebDataset: {name} cannot be decoded: {error}", fix="use another copy, or pass a decoder of your own"
            ) from error


def _expanded(pattern: str) -> list[str]:
    """What a pattern such as ``train-{000..123}.tar`` stands for."""
    match = _RANGE.search(pattern)
    if match is None:
        return [pattern]
    first, last = match.groups()
    if int(last) < int(first) or int(last) - int(first) >= 1_000_000:
        raise ArgumentError(f"WebDataset: {pattern} stands for no files", fix="write the smaller number first")
    return [
        text
        for number in range(int(first), int(last) + 1)
        for text in _expanded(f"{pattern[: match.start()]}{number:0{len(first)}}{pattern[match.end() :]}")
    ]


def _samples(url: str, offset: int) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Samples of a tar file from the byte *offset* on, as bytes by extension, each with the byte where the next begins;
    None for that in a packed file.
    """
    with opened(url, "WebDataset") as stream:
        packed = stream.read(6).startswith(_PACKED)
        stream.seek(offset)
        try:
            with tarfile.open(fileobj=stream, mode="r:*" if packed else "r:", tarinfo=_Header) as tar:
                key: str | None = None
                sample: dict[str, Any] = {}
                while (member := tar.next()) is not None:
                    cast(Any, tar).members = []  # it keeps what it has seen
                    folder, name = posixpath.split(member.name)
                    base, _, extension = name.partition(".")
                    if not member.isreg() or not base or not extension:
                        continue
                    base = posixpath.join(folder, base)
                    if key is not None and base != key:
                        yield (None if packed else member.offset), {"__key__": key, **sample}
                        sample = {}
                    key = base
                    if extension in sample:
                        raise SerializationError(
                            f"WebDataset: {url} has {member.name} twice in a sample", fix="give samples their own names"
                        )
                    file = tar.extractfile(member)
                    sample[extension] = b"" if file is None else file.read()
                    if len(sample[extension]) != member.size:
                        raise tarfile.ReadError("unexpected end of data")
                while packed and tar.fileobj is not None and tar.fileobj.read(1 << 16):
                    pass  # the checksum of a packed file is behind all else
                if key is not None:
                    yield (None if packed else tar.offset), {"__key__": key, **sample}
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise SerializationError(
                f"WebDataset: {url} cannot be read as a tar file: {error}", fix="use another copy: it is damaged"
            ) from error


_END_OF_FILE: type[Exception] = vars(tarfile)["EOFHeaderError"]


class _Header(tarfile.TarInfo):
    """A member's header. A damaged header, or none where the end is not marked either, is an error, not an end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Any:
        try:
            return super().fromtarfile(tarfile_)
        except _END_OF_FILE:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error} at byte {tarfile_.offset}") from error
