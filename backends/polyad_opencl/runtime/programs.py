"""Compiled programs, in memory and on disk.

A program is known by its source, the options, the device and its driver; what this or an earlier process compiled
is not compiled again. PoCL compiles a kernel for a local size when it is first launched, and what is kept of it holds
what was launched so far (`runtime.objects`): so files are written late, when the process ends or many programs have
gathered, not after building.

The folder is ``polyad/opencl`` in the user's cache folder, or what POLYAD_CACHE_DIR names; POLYAD_CACHE_DIR=""
keeps nothing on disk. Files that cannot be read, are damaged (`runtime.folder`) or that the driver refuses are compiled
anew.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

import pyopencl as cl

from polyad.backend.notice import compiling
from polyad.base.locks import RLock
from polyad.errors import CompilerFailure, KernelFailure

from . import folder
from .bundle import ALONE, Bundle
from .discovery import POCL, missing_tool, unwritable_cache
from .objects import Built, Linked

if TYPE_CHECKING:
    from .device import Device

_FLUSH_EVERY = 64


class Programs:
    """The programs of a device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._built: dict[tuple[str, str], cl.Program] = {}
        self._unsaved: dict[str, Built | Linked] = {}
        self._read: dict[str, Built | Linked] = {}
        self._lock = RLock()
        handle = device.handle
        self._links = handle.platform.name == POCL
        self.bundle = Bundle() if self._links else None
        self.identity = "\0".join(
            (handle.platform.name, handle.platform.version, handle.name, handle.driver_version, handle.vendor)
        )
        self.compiled = self.loaded = 0

    def kernel(self, source: str, name: str, what: str) -> cl.Kernel:
        """Kernel *name* of *source*, which may be compiled with others; else as `get`."""
        suffix = self.bundle.suffix(source) if self.bundle else None
        program = None if suffix is None else self._bundled(source)
        if program is not None:
            return cl.Kernel(program, name + suffix)
        return cl.Kernel(self.get(source, "", what), name)

    def get(self, source: str, options: str, what: str) -> cl.Program:
        """The program of *source*; *what* names it in errors. Raises RuntimeError with the compiler's log."""
        options = self._options(options)
        key = (source, options)
        program = self._built.get(key)
        if program is not None:
            return program
        with self._device.calls, self._lock:
            found = self._known(key)
            if found is None:
                found = self._add(key, self._compile(source, options, what))
            return found

    def _bundled(self, source: str) -> cl.Program | None:
        """The program of the bundle, if it is there or its turn has come; None if *source* is for itself."""
        bundle, options = self.bundle, self._options("")
        assert bundle is not None
        alone, together = (source, options), (bundle.text, options)
        with self._device.calls, self._lock:
            if bundle.failed or self._known(alone):
                return None
            program = self._known(together)
            if program is None:
                bundle.missed += 1
                if bundle.missed > ALONE:
                    program = self._compiled_together(bundle, together)
            return program

    def _compiled_together(self, bundle: Bundle, key: tuple[str, str]) -> cl.Program | None:
        device = self._device
        try:
            with compiling(f"{len(bundle)} common kernels", str(device), folder.BINARIES.path()):
                return self._add(key, Linked.of_source(device.context, *key))
        except cl.Error as error:
            bundle.failed = True
            warnings.warn(
                f"{device}: the driver does not compile the common kernels together; each is compiled alone ({error})",
                stacklevel=2,
            )
            return None

    def _options(self, options: str) -> str:
        return f"-w {self._device.compiler_options}{options}"  # PoCL counts a compiler's warnings on the terminal

    def _name(self, key: tuple[str, str]) -> str:
        kind = "linked" if self._links else ""
        return hashlib.sha256("\0".join((*key, self.identity, kind)).encode()).hexdigest()

    def _known(self, key: tuple[str, str]) -> cl.Program | None:
        """The program that this or an earlier process compiled for a source and options."""
        if key not in self._built:
            name = self._name(key)
            found = self._load(name, key[1])
            if found is None:
                return None
            self._read[name] = found
            self.loaded += 1
            self._built[key] = found.program
        return self._built[key]

    def _add(self, key: tuple[str, str], found: Built | Linked) -> cl.Program:
        self._unsaved[self._name(key)] = found
        self.compiled += 1
        if len(self._unsaved) >= _FLUSH_EVERY:
            self.save()
        self._built[key] = found.program
        return found.program

    def _compile(self, source: str, options: str, what: str) -> Built | Linked:
        device = self._device
        try:
            with compiling(what, str(device), folder.BINARIES.path()):
                if self._links:
                    with suppress(cl.Error):  # the other way has the log
                        return Linked.of_source(device.context, source, options)
                return Built.of_source(device.context, source, options)
        except cl.Error as error:
            trouble = device.explained(error, f"compiling {what}")
            if not isinstance(trouble, KernelFailure):
                raise trouble from error
            with tempfile.NamedTemporaryFile(
                "w", prefix="polyad-", suffix=".cl", delete=False, encoding="utf-8"
            ) as file:
                file.write(source)
            why = missing_tool(device.handle) or unwritable_cache(device.handle.platform)
            raise CompilerFailure(
                f"{what}: the driver of {device} does not compile the kernel",
                notes={"driver": device.description, "source": file.name, "log": _log_of(error)},
                fix=why or "update the driver; if it is new, report source, log and driver to polyad",
            ) from error

    def _load(self, name: str, options: str) -> Built | Linked | None:
        contents = folder.BINARIES.read(name)
        if contents is None:
            return None
        context = self._device.context
        try:
            if self._links:
                with suppress(ValueError):
                    return Linked.of_file(context, contents)
            return Built.of_file(context, contents, options)
        except (cl.Error, OSError, ValueError):
            return None

    def save(self) -> None:
        """Write the binaries of programs that were compiled here. Failing to is no error: they are compiled again."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, {}
        self._write(unsaved)

    def save_all(self) -> None:
        """`save`, and write anew what was read from disk and has more kernels compiled by now."""
        with self._lock:
            found, self._read = self._read, {}
        self.save()
        self._write(found)

    def _write(self, programs: dict[str, Built | Linked]) -> None:
        """Keep those of *programs* that have more in them than what is kept."""
        if not programs or folder.BINARIES.path() is None:
            return
        device = self._device
        if self._links and not folder.pocl_cache().is_dir():
            return  # what is kept is read back from there
        try:
            device.queue.finish()
            for name, program in programs.items():
                with device.lock:  # no kernel of it is compiled for its first launch meanwhile
                    contents = program.contents()
                if contents is not None:
                    folder.BINARIES.write(name, contents)
            folder.BINARIES.prune()
        except (OSError, cl.Error):
            pass


def _log_of(error: Exception) -> str:
    # PyOpenCL repeats what failed, and adds options and a copy of the source of its own.
    lines = [line.rpartition("BUILD_PROGRAM_FAILURE - ")[2] for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("(options: ", "(source saved as "))]
    shown = "\n            ".join(lines[:20])
    return shown + (f"\n            ... {len(lines) - 20} more lines" if len(lines) > 20 else "")
