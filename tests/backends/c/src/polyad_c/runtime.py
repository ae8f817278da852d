"""Generated C: compiled once for this machine, kept, and called from as many threads as there are processors."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyad.backend.runtime import Launch, Runtime
from polyad.codegen import CPU, C, DeviceDescription, KernelSource
from polyad.errors import CompilerFailure
from polyad.files.compiled import CompiledFolder
from polyad.layout import Layout, Shape, Strides

if TYPE_CHECKING:
    from polyad.device import Device
    from polyad.dtypes import DType

    from .backend import CArray, CBackend

FLAGS = ("-O2", "-shared", "-fPIC", "-w", *C.flags)
LIBRARIES = CompiledFolder("c")


@cache
def compiler() -> tuple[str, ...] | None:
    """The command of the machine's C compiler; None if it has none."""
    named = os.environ.get("CC")
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return tuple(shlex.split(named)) if named else (found,) if found else None


@cache
def _identity() -> str:
    """What else than source and flags decides what a compiler makes."""
    said = subprocess.run([*(compiler() or ()), "--version"], capture_output=True, text=True, check=False).stdout
    return f"{said}\0{platform.machine()}\0{FLAGS}"


class CRuntime(Runtime):
    """Runs generated C in this process."""

    dialect = C

    def __init__(self, backend: CBackend, device: Device) -> None:
        super().__init__(backend, device)
        self._made = backend.laid_out
        self._units = os.cpu_count() or 1
        self.description = DeviceDescription(CPU, compute_units=self._units)
        self._start_threads()
        os.register_at_fork(after_in_child=self._start_threads)  # threads are not forked

    def _start_threads(self) -> None:
        self._threads = ThreadPoolExecutor(self._units, thread_name_prefix="polyad-c")

    def compile(self, source: KernelSource, what: str) -> Any:
        name = hashlib.sha256(f"{source.text}\0{_identity()}".encode()).hexdigest()
        library = LIBRARIES.read(name)
        if library is None:
            library = self._built(source.text, what)
            with suppress(OSError):  # it is compiled again
                LIBRARIES.write(name, library)
        entry = _loaded(library)[source.entry]
        entry.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_longlong] * 2
        entry.restype = None
        return entry

    def _built(self, text: str, what: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
            path, out = Path(folder, "kernel.c"), Path(folder, "kernel.so")
            path.write_text(text, encoding="utf-8")
            command = [*(compiler() or ()), *FLAGS, "-o", str(out), str(path), "-lm"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as error:
                done = subprocess.CompletedProcess(command, -1, "", str(error))
            if done.returncode or not out.exists():
                raise CompilerFailure(
                    f"{what}: the C compiler does not compile the kernel",
                    notes={"command": shlex.join(command[:-2]), "exit status": done.returncode, "log": done.stderr},
                    fix="set CC to a C99 compiler; if it is one, report source, log and compiler to polyad",
                )
            return out.read_bytes()

    def launcher(self, kernel: Any, instances: int, geometry: bytes) -> Launch:
        workers = min(instances, self._units)

        def launch(arrays: Sequence[CArray], numbers: tuple[bytes, ...]) -> None:
            pointers = (ctypes.c_void_p * len(arrays))(*[array.address for array in arrays])
            places = (ctypes.c_char_p * max(1, len(numbers)))(*numbers)
            if workers == 1:
                kernel(pointers, places, geometry, 0, 1)
                return
            calls = [self._threads.submit(kernel, pointers, places, geometry, at, workers) for at in range(1, workers)]
            kernel(pointers, places, geometry, 0, workers)
            for call in calls:
                call.result()

        return launch

    def empty(self, dtype: DType, shape: Shape, steps: Strides) -> CArray:
        return self._made(dtype, shape, steps)

    def layout(self, array: CArray) -> Layout:
        return Layout(array.shape, array.steps, array.offset)

    def same_memory(self, first: CArray, second: CArray) -> bool:
        return first.memory is second.memory


def _loaded(library: bytes) -> ctypes.CDLL:
    """The library as it was checked, whatever happens to kept files meanwhile."""
    with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
        path = Path(folder, "kernel.so")
        path.write_bytes(library)
        return ctypes.CDLL(str(path))
