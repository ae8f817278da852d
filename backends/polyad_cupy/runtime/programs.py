"""Compiled programs: by NVRTC to machine code for the device, in memory and on disk.

A program is known by its source, the options (which name the device's architecture) and the compiler's version; what
this or an earlier process compiled is not compiled again. The folder is ``polyad/cuda`` in the user's cache folder, or
what POLYAD_CACHE_DIR names.
"""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from cupy.cuda import driver, nvrtc

from polyad.base.locks import RLock
from polyad.errors import CompilerFailure
from polyad.files.compiled import CompiledFolder

if TYPE_CHECKING:
    from .device import Device

BINARIES = CompiledFolder("cuda")
OPTIONS = ("-std=c++17", "-default-device", "--fmad=false")
"""Each step is rounded as it is written, as on all devices."""

_SHOWN = 20


def machine_code(source: str, options: tuple[str, ...], what: str) -> bytes:
    """What NVRTC makes of *source*. Raises CompilerFailure with its words; *what* names the source there."""
    program = nvrtc.createProgram(source, "kernel.cu", (), ())
    try:
        nvrtc.compileProgram(program, options)
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError as error:
        raise _refused(source, options, what, nvrtc.getProgramLog(program) or str(error)) from error
    finally:
        nvrtc.destroyProgram(program)


def _refused(source: str, options: tuple[str, ...], what: str, log: str) -> CompilerFailure:
    with tempfile.NamedTemporaryFile("w", prefix="polyad-", suffix=".cu", delete=False, encoding="utf-8") as file:
        file.write(source)
    lines = [line for line in log.splitlines() if line.strip()]
    shown = "\n            ".join(lines[:_SHOWN])
    return CompilerFailure(
        f"{what}: NVRTC does not compile the kernel",
        notes={
            "options": " ".join(options),
            "source": file.name,
            "log": shown + (f"\n            ... {len(lines) - _SHOWN} more lines" if len(lines) > _SHOWN else ""),
        },
        fix="update CuPy and its CUDA packages; if they are new, report source, log and versions to polyad",
    )


class Programs:
    """The programs of a device.

    Attributes:
        compiled, loaded: how many were compiled here, and how many came from the disk.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.options = (*OPTIONS, f"-arch=sm_{device.architecture}")
        self._identity = f"{self.options}\0{nvrtc.getVersion()}"
        self._modules: dict[str, int] = {}
        self._lock = RLock()
        self.compiled = self.loaded = 0

    def function(self, source: str, name: str, what: str) -> int:
        """The driver's handle of kernel *name* of *source*."""
        key = hashlib.sha256(f"{source}\0{self._identity}".encode()).hexdigest()
        with self._lock:
            self._device.enter()
            module = self._modules.get(key)
            if module is None:
                module = self._modules[key] = self._module(key, source, what)
            return int(driver.moduleGetFunction(module, name))

    def _module(self, key: str, source: str, what: str) -> int:
        kept = BINARIES.read(key)
        if kept is not None:
            with suppress(driver.CUDADriverError):  # of a driver that takes it no more: it is compiled again
                module = int(driver.moduleLoadData(kept))
                self.loaded += 1
                return module
        code = machine_code(source, self.options, what)
        self.compiled += 1
        BINARIES.keep(key, code)
        return int(driver.moduleLoadData(code))
