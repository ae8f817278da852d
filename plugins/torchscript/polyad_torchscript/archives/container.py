"""A TorchScript archive as a file: a zip archive of a program's text, its objects and their tensors.

    code/__torch__/net.py       text of the classes and functions of ``__torch__.net``
    data.pkl, data/0            the module, and the memory of its tensors
    constants.pkl, constants/0  the tensors that the text names ``CONSTANTS.c0``
    extra/name                  bytes that somebody put beside
    version, byteorder          of the format

Format: https://github.com/pytorch/pytorch/blob/main/torch/csrc/jit/docs/serialization.md

Invariants: no more memory is taken than the file has, and `MOST_TEXT`; nothing is loaded before all is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from polyad.serialization import MapLocation, placer, read_flat
from polyad.serialization.pytorch import ZipPickle
from polyad.serialization.source import Source, damaged
from polyad.serialization.zips import Members
from polyad.tensor import Tensor

from .objects import PROGRAM, TYPED, ScriptClasses, ScriptObject

__all__ = ["Archive"]

MOST_TEXT = 1 << 25
"""Bytes of a program's text, unpacked."""
MOST_EXTRA = 1 << 28
OLDEST, NEWEST = 1, 20
"""Versions of the format: PyTorch 1.3 wrote 1, PyTorch 2.13 writes 3 to 10 by what a program uses."""


class Archive:
    """An archive that is open.

    Attributes:
        name: what errors call it.
        version: of the format.
        sources: the program's texts by module: ``__torch__.net``.
        classes: what the pickles name.

    Raises:
        SerializationError: it is no TorchScript archive, or is damaged.
    """

    def __init__(self, source: Source, map_location: MapLocation = None) -> None:
        self.name = source.name
        self._source = source
        self._members = Members(source)
        found = [name for name in self._members.members if re.fullmatch(r"([^/]*/)?constants\.pkl", name)]
        if len(found) != 1 or found[0].replace("constants", "data") not in self._members.members:
            raise damaged(
                source.name,
                "is no TorchScript archive: it has no constants.pkl beside a data.pkl",
                fix="read files of torch.save with polyad.load",
            )
        self._prefix = found[0].removesuffix("constants.pkl")
        self.version = self._read_version()
        self.sources = self._read_sources()
        self.classes = ScriptClasses()
        place = placer(map_location, source.name)
        self._pickles = [self._pickle(name, place) for name in ("data.pkl", "constants.pkl")]

    def _read_version(self) -> int:
        name = f"{self._prefix}version"
        name = name if name in self._members.members else f"{self._prefix}.data/version"
        text = self._members.unpacked(name, 100).decode("ascii", "replace") if name in self._members.members else ""
        if not text.strip().isdigit():
            raise damaged(self.name, f"has no version of its format, but {text[:20]!r}")
        version = int(text)
        if not OLDEST <= version <= NEWEST:
            raise damaged(
                self.name,
                f"has version {version} of the format; versions {OLDEST} to {NEWEST} are read",
                fix="write it with another version of PyTorch",
            )
        return version

    def _read_sources(self) -> dict[str, str]:
        texts: dict[str, str] = {}
        total = 0
        for name in self._members.members:
            match = re.fullmatch(re.escape(self._prefix) + rf"code/({PROGRAM}[^.]*)\.py", name)
            if match is None:
                continue
            data = self._members.unpacked(name, MOST_TEXT - total)
            total += len(data)
            try:
                texts[match[1].replace("/", ".")] = data.decode()
            except UnicodeDecodeError:
                raise damaged(self.name, f"has a program whose text {name!r} is not UTF-8") from None
        return texts

    def _pickle(self, name: str, place: Callable[[Tensor, str], Tensor]) -> ZipPickle:
        return ZipPickle(
            self._source,
            self._members,
            self._prefix + name,
            place,
            read_flat,
            self.classes,
            TYPED,
        )

    def checked(self) -> tuple[ScriptObject, tuple[Any, ...]]:
        """The module and the constants, with `polyad.serialization.pickles.Pending` for each tensor."""
        return self._shaped([pickle.checked() for pickle in self._pickles])

    def loaded(self) -> tuple[ScriptObject, tuple[Any, ...]]:
        """The module and the constants, with their tensors."""
        return self._shaped([pickle.object() for pickle in self._pickles])

    def _shaped(self, objects: list[Any]) -> tuple[ScriptObject, tuple[Any, ...]]:
        module, constants = objects
        if not isinstance(module, ScriptObject):
            raise damaged(self.name, f"holds {type(module).__name__}, not a module")
        if type(constants) not in (tuple, list):
            raise damaged(self.name, f"has constants in {type(constants).__name__}, not in a tuple")
        return module, tuple(constants)

    def read_extra(self, files: dict[str, Any]) -> None:
        """Put into *files*, for each name that it has, the bytes of that name, where there are any."""
        for name in files:
            member = f"{self._prefix}extra/{name}"
            if member in self._members.members:
                files[name] = self._members.unpacked(member, MOST_EXTRA)

    @property
    def extra(self) -> Mapping[str, int]:
        """The names and sizes of what is beside the program."""
        begin = f"{self._prefix}extra/"
        return {
            name.removeprefix(begin): member.size
            for name, member in self._members.members.items()
            if name.startswith(begin)
        }
