"""`save` and `load`: programs as TorchScript archives, on the disk or in memory."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Mapping
from typing import IO, Any

from polyad.errors import ArgumentTypeError, safe_repr, wrong_type
from polyad.files import checked_path, is_remote, local_path, opened, replacing
from polyad.serialization import MapLocation
from polyad.serialization.source import Source
from polyad.serialization.zips import write_members

from ..modules.functions import ScriptFunction
from ..modules.recursive import RecursiveScriptModule, ScriptModule
from .building import build, checked_unit
from .container import Archive
from .describing import described
from .program import Program
from .writing import members_of

__all__ = ["load", "save", "save_to_buffer"]

FileLike = str | os.PathLike[str] | IO[bytes]


def save(m: Any, f: FileLike, _extra_files: Mapping[str, bytes | str] | None = None) -> None:
    """Write *m*, a scripted or traced module or function; see `polyad.jit.save`."""
    if not isinstance(m, (ScriptFunction, ScriptModule)):
        raise wrong_type("save", "m", m, "a module or function that jit.script or jit.trace gave")
    members = [(f"archive/{name}", data) for name, data in members_of(described(m), _extra_files)]
    if isinstance(f, (str, os.PathLike)):
        with replacing(f, "save") as stream:
            write_members(stream, members)
    elif hasattr(f, "write"):
        write_members(f, members)
    else:
        raise ArgumentTypeError(
            f"save: f is {safe_repr(f)}, neither a path nor a file object with write()",
            fix="pass a path, or an open binary file",
        )


def save_to_buffer(m: Any, _extra_files: Mapping[str, bytes | str] | None = None) -> bytes:
    """The bytes of the file that `save` writes."""
    file = io.BytesIO()
    save(m, file, _extra_files)
    return file.getvalue()


def load(
    f: FileLike,
    map_location: MapLocation = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> RecursiveScriptModule:
    """The module in a file; see `polyad.jit.load`."""
    if isinstance(f, (str, os.PathLike)):
        path = local_path(checked_path(f, "load"))
        with opened(path, "load") as stream:
            if is_remote(path) or not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return _loaded(Source.of_memory(path, stream.read()), map_location, _extra_files)
            return _loaded(Source.of_file(path, stream, mapped=True), map_location, _extra_files)
    if not hasattr(f, "read"):
        raise ArgumentTypeError(
            f"load: f is {safe_repr(f)}, neither a path nor a file object with read()",
            fix="pass a path, or an open binary file",
        )
    return _loaded(Source.of_memory(str(getattr(f, "name", "the file object")), f.read()), map_location, _extra_files)


def _loaded(source: Source, map_location: MapLocation, extra: dict[str, Any] | None) -> RecursiveScriptModule:
    archive = Archive(source, map_location)
    root, constants = archive.checked()
    unit = checked_unit(Program(archive.sources, root, list(constants), source.name, archive.version))
    root, constants = archive.loaded()
    unit.set_constants(list(constants))
    module = build(unit, root, source.name)
    if extra is not None:
        archive.read_extra(extra)
    return module
