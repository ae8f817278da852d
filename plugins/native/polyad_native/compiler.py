"""The machine's C compiler, and what it compiled before.

What is compiled is kept on disk by source, flags, compiler and processor, see `polyad.files.compiled`. ``CC`` names the
compiler; else it is cc, gcc or clang, whichever is on the path, else that of the package ``ziglang``
(``pip install "polyad[native]"``). ``POLYAD_NATIVE=0`` turns the plug-in off.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from polyad.codegen.dialects import VECTOR_MATH, C
from polyad.errors import CompilerFailure
from polyad.files.compiled import CompiledFolder

SWITCH = "POLYAD_NATIVE"
SYSTEMS = ("linux", "darwin")
LIBRARIES = CompiledFolder("cpu")
SANITIZER = "POLYAD_NATIVE_SANITIZE"
"""An environment variable with what goes after ``-fsanitize=``, for tests."""

_PATIENCE = 120
"""Seconds after which a compiler is taken for hung."""


def usable() -> bool:
    """Whether kernels can be compiled and loaded here."""
    return not why_not()


@cache
def why_not() -> str:
    """Why no kernel is compiled; empty if they are."""
    if os.environ.get(SWITCH) == "0":
        return f"the environment variable {SWITCH} is 0"
    if sys.platform not in SYSTEMS or sys.implementation.name != "cpython":
        return f"native kernels are for CPython on {' and '.join(SYSTEMS)}, not {sys.platform}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "native kernels are not for free-threaded Python yet"
    if compiler() is None:
        return "there is no C compiler: neither $CC, nor cc, gcc or clang on PATH, nor the package ziglang"
    return ""


@cache
def compiler() -> tuple[str, ...] | None:
    """The command of the machine's C compiler; None if it has none."""
    named = os.environ.get("CC")
    if named:
        return tuple(shlex.split(named))
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found:
        return (found,)
    return (sys.executable, "-m", "ziglang", "cc") if find_spec("ziglang") else None


@cache
def _flags() -> tuple[str, ...]:
    sanitized = os.environ.get(SANITIZER)
    extra = (f"-fsanitize={sanitized}", "-fno-omit-frame-pointer", "-g") if sanitized else ()
    wide = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()  # where it has them
    return ("-shared", "-fPIC", "-w", *C.flags, *C.fast, *wide, *extra)


@cache
def _identity() -> str:
    """What else than a source and its flags decides what the compiler makes."""
    said = subprocess.run(
        [*(compiler() or ()), "--version"], capture_output=True, text=True, check=False, timeout=_PATIENCE
    ).stdout
    return "\0".join((said, platform.machine(), _processor(), *platform.libc_ver()))


def _processor() -> str:
    """The processor's model and features: code for one need not run on another."""
    with suppress(OSError):
        found = {}
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            found.setdefault(name.strip(), value.strip())
        return f"{found.get('model name')} {found.get('flags', found.get('Features'))}"
    return platform.processor()


@cache
def vector_math() -> tuple[str, ...]:
    """Flags for math functions of vectors, where the compiler and the library have them all."""
    test = f"{C.prologue}\nvoid f(float *x) {{ for (int i = 0; i < 64; ++i) x[i] = tanhf(x[i]) + erff(x[i]); }}"
    try:
        compiled(test, "a test for math functions of vectors", VECTOR_MATH)
    except CompilerFailure:
        return ()
    return VECTOR_MATH


def compiled(source: str, what: str, extra: tuple[str, ...] = ()) -> bytes:
    """The shared library of *source*, compiled now or before. Raises CompilerFailure; *what* names it there."""
    flags = (*_flags(), *extra)
    try:
        name = hashlib.sha256("\0".join((source, *flags, _identity())).encode()).hexdigest()
        library = LIBRARIES.read(name)
        if library is None:
            library = _built(source, flags, what)
            with suppress(OSError):  # it is compiled again
                LIBRARIES.write(name, library)
    except (OSError, subprocess.SubprocessError) as error:
        raise CompilerFailure(
            f"{what}: the C compiler does not run: {error}",
            fix=f"mend it, set CC to another, or {SWITCH}=0 to do without",
        ) from error
    return library


def _built(source: str, flags: tuple[str, ...], what: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
        path, out = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        path.write_text(source, encoding="utf-8")
        command = [*(compiler() or ()), *flags, "-o", str(out), str(path), "-lm", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
        if done.returncode or not out.exists():
            raise CompilerFailure(
                f"{what}: the C compiler does not compile the kernel",
                notes={"command": shlex.join(command[:-4]), "exit status": done.returncode, "log": done.stderr[-2000:]},
                fix="set CC to another C compiler (gcc, clang); if it is one of these, report source, log and version",
            )
        return out.read_bytes()
