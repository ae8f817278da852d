"""What is kept of a compiled program: its binary as the driver gives it, and for PoCL something cheaper.

For a binary PoCL compiles each kernel once more, for any local size, which takes longer than what the launches needed.
So its programs are compiled and linked in two steps, as OpenCL 1.2 has them. The object between them is kept, together
with the machine code that launches have added to PoCL's folder meanwhile; a later process puts this code back where
PoCL looks for it, which is the same place for the same object. Where a version of PoCL does not do what is said here,
the binary is kept after all.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pyopencl as cl

from polyad.files import parsed

from . import folder


class Built:
    """A program that was built in one step, of which the driver's binary is kept."""

    __slots__ = ("length", "program")

    def __init__(self, program: cl.Program, length: int = 0) -> None:
        self.program, self.length = program, length

    @classmethod
    def of_source(cls, context: cl.Context, source: str, options: str) -> Built:
        """Compile *source*."""
        return cls(cl.Program(context, source).build(options))

    @classmethod
    def of_file(cls, context: cl.Context, contents: bytes, options: str) -> Built:
        """What `contents` gave. Raises ValueError and pyopencl.Error if the driver refuses it."""
        return cls(cl.Program(context, context.devices, [contents]).build(options), len(contents))

    def contents(self) -> bytes | None:
        """What is to be kept; None if that is no more than what was read."""
        (binary,) = self.program.get_info(cl.program_info.BINARIES)
        return binary if len(binary) > self.length else None


class Linked:
    """A program that was linked from one object.

    Attributes:
        program: what has the kernels.
        place: PoCL's folder of it, if it lies in the one that only this process writes.
        known: the names of the files there that were read from disk.
    """

    __slots__ = ("known", "object", "place", "program")

    def __init__(self, context: cl.Context, compiled: bytes, place: Path | None = None) -> None:
        self.object = compiled
        self.known: frozenset[str] = frozenset()
        before = _places() if place is None else set()
        self.program = cl.link_program(context, [cl.Program(context, context.devices, [compiled])])
        if place is None:
            new = _places() - before
            place = new.pop() if len(new) == 1 else None
        self.place = place

    @classmethod
    def of_source(cls, context: cl.Context, source: str, options: str) -> Linked:
        """Compile *source*. The log of what does not compile is not in the error."""
        # Without PyOpenCL's program around it, which warns of everything that it does not keep itself.
        program = cl._cl._Program(context, source)
        program.compile(options.encode(), context.devices)
        (compiled,) = program.get_info(cl.program_info.BINARIES)
        return cls(context, compiled)

    @classmethod
    def of_file(cls, context: cl.Context, contents: bytes) -> Linked:
        """What `contents` gave. Raises ValueError if it was a binary."""
        header, _, data = contents.partition(b"\n")
        found = parsed(header)
        begin = found["object"]
        own, place = folder.pocl_folder_of_this_process(), None
        if own is not None and found["place"]:
            place = own / found["place"]
            for name, size in found["files"]:
                path = place / name
                path.parent.mkdir(0o700, parents=True, exist_ok=True)
                path.write_bytes(data[begin : begin + size])
                begin += size
        linked = cls(context, data[: found["object"]], place)
        linked.known = frozenset(name for name, _ in found["files"])
        return linked

    def contents(self) -> bytes | None:
        """What is to be kept; None if that is no more than what was read."""
        own = folder.pocl_folder_of_this_process()
        if own is None or self.place is None:
            if self.known:
                return None
            # A folder that the user names has the code, and lasts.
            return _packed(self.object, "", {}) if own is None else Built(self.program).contents()
        files = {str(path.relative_to(self.place)): path for path in sorted(self.place.rglob("*.so"))}
        if self.known and self.known >= files.keys():
            return None
        return _packed(self.object, str(self.place.relative_to(own)), files)


def _packed(compiled: bytes, place: str, files: dict[str, Path]) -> bytes:
    parts = {name: path.read_bytes() for name, path in files.items()}
    sizes = [(name, len(data)) for name, data in parts.items()]
    header = json.dumps({"object": len(compiled), "place": place, "files": sizes})
    return b"\n".join((header.encode(), b"".join((compiled, *parts.values()))))


def _places() -> set[Path]:
    """The folders of programs in PoCL's folder, if only this process writes there."""
    own, found = folder.pocl_folder_of_this_process(), set()
    if own is not None:
        for outer in own.iterdir():
            with suppress(OSError):  # a temporary file
                found.update(Path(each.path) for each in os.scandir(outer) if each.is_dir())
    return found
