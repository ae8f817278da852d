"""From CUDA C to kernels of the host: `build`."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import os
import platform
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from polyad.files.compiled import CompiledFolder

FORWARDS, BACKWARDS, SHUFFLED = 0, 1, 7
SCHEDULES = (FORWARDS, BACKWARDS, SHUFFLED)
"""Orders in which threads and blocks come: by turns from barrier to barrier, in either direction or shuffled (any other
number does that in its own way), and backwards each warp runs as far as it comes without the others.
"""

MAX_THREADS, MAX_BLOCK, MAX_GRID, MAX_SHARED = 1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 48 << 10
"""What a launch may ask for on every GPU, without asking for more shared memory first."""

_HERE = Path(__file__).parent
_HEADERS = ("cuda_on_host.h", "cuda_fp16.h", "cuda_bf16.h")
_FLAGS = (
    "-std=c++20", "-nostdinc++", "-O0", "-w", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-fsanitize=undefined",
    "-fno-sanitize-recover=all", "-fno-sanitize=vptr", "-fvisibility=hidden", "-fno-gnu-unique",
)  # fmt: skip
"""Making kernels faster would take longer than they run; the sanitizer adds a tenth to the compiler's time."""

_LINKED = ("-shared", "-nostdlib", "-Wl,-s,-z,noseparate-code", "-l:libm.so.6")
"""Without names and padding, which are half of such a small library."""

_RUNTIME_FLAGS = ("-std=c++20", "-O2", "-w", "-fPIC", "-shared")
_LIBRARIES = CompiledFolder("cuda-on-host")

_INSTRUCTIONS = {
    "cvt.f32.f16": "cu::half_to_float", "cvt.rn.f16.f32": "cu::float_to_half", "cvt.f32.bf16": "cu::bfloat_to_float",
    "cvt.rn.bf16.f32": "cu::float_to_bfloat",
}  # fmt: skip
"""The instructions that kernels may write in assembly, and what they do."""

_ASSEMBLY = re.compile(r'asm\s*\(\s*"([\w.]+) %0, %1;"\s*:\s*"=\w"\((\w+)\)\s*:\s*"\w"\((\w+)\)\s*\)')
_KERNEL = re.compile(
    r"__global__\s+(?:__launch_bounds__\s*\(([^)]*)\)\s*)?void\s+(?:__launch_bounds__\s*\(([^)]*)\)\s*)?(\w+)\s*\(([^)]*)\)"
)
_DYNAMIC = re.compile(
    r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w ]+?)\s+(?:__align__\(\d+\)\s*)?(\w+)\s*\[\s*\]\s*;"
)
_WAITS = re.compile(r"__sync|__shfl|__ballot_|__any_|__all_")


class BuildError(Exception):
    """The text does not compile; the message is the compiler's."""


class KernelFault(RuntimeError):
    """A kernel did what a GPU leaves undefined."""


class LaunchRefused(ValueError):
    """What a driver refuses as CUDA_ERROR_INVALID_VALUE: a grid, a block, or arguments that do not fit the kernel."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter: its type without qualifiers, its bytes, and whether it is a pointer."""

    type: str
    size: int
    is_pointer: bool


@functools.cache
def compiler() -> str | None:
    """The path of g++; None without one, or on a machine that the fibers are not written for."""
    return shutil.which("g++") if platform.machine() in ("x86_64", "AMD64") and os.name == "posix" else None


def build(source: str, *, options: Sequence[str] = ()) -> Module:
    """The kernels of *source*, CUDA C with ``extern "C"`` kernels; of *options*, as NVRTC has them, -D is heeded.

    What was built is kept on disk. Raises `BuildError`.
    """
    defines = tuple([option for option in options if option.startswith("-D")])
    return _built(source, defines)


@functools.cache
def _built(source: str, defines: tuple[str, ...]) -> Module:
    bounds: dict[str, int | None] = {}
    types: dict[str, list[str]] = {}
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), source, flags=re.DOTALL)
    for before, after, name, listed in _KERNEL.findall(plain):
        bound = (before or after).split(",")[0].strip()
        bounds[name] = int(bound) if bound.isdecimal() else None
        types[name] = [_type_of(each) for each in listed.split(",")] if listed.strip() not in ("", "void") else []
    if not types:
        raise BuildError("there is no kernel: a function that begins with __global__ void")
    text = _DYNAMIC.sub(r"\1 *const \2 = (\1 *)cu_dynamic;", source)
    text = _ASSEMBLY.sub(lambda found: f"{found[2]} = {_instruction(found[1])}({found[3]})", text)
    text = f'#include "cuda_on_host.h"\n#line 1 "kernel.cu"\n{text}\n{_entries(types)}'
    library = _compiled(text, (*_FLAGS, *defines, *_LINKED), f"{_identity()}\0{_headers()}", _headers_folder)
    _runtime()
    return Module(_loaded(library), types, bounds, bool(_WAITS.search(plain)))


def _type_of(parameter: str) -> str:
    words = re.sub(r"\b(const|volatile|__restrict__|__restrict|restrict)\b", " ", parameter)
    found = re.fullmatch(r"\s*(.*?[\s*])\w+\s*", words, re.DOTALL)
    if not found:
        raise BuildError(f"a kernel's parameter has a type and a name: {parameter.strip()!r}")
    return re.sub(r"\s+", " ", found[1].replace("*", " *")).strip()


def _instruction(name: str) -> str:
    if name not in _INSTRUCTIONS:
        raise BuildError(f"the instruction {name} is not among those that run on the host: {', '.join(_INSTRUCTIONS)}")
    return _INSTRUCTIONS[name]


def _entries(types: dict[str, list[str]]) -> str:
    """What follows the kernels: a function for each by which it is launched, and its parameters' sizes."""
    lines = [
        '#line 1 "entries"',
        'extern "C" char __start_cuda_shared[] __attribute__((weak)), __stop_cuda_shared[] __attribute__((weak));',
        '#define CU_SEEN extern "C" __attribute__((visibility("default")))',
        "CU_SEEN char *cu_shared_begin() { return __start_cuda_shared; }",
        "CU_SEEN char *cu_shared_end() { return __stop_cuda_shared; }",
    ]
    for name, listed in types.items():
        given = ", ".join(f"*({each} *)a[{n}]" for n, each in enumerate(listed))
        sizes = "".join(f"sizeof({each}), " for each in listed)
        lines.append(f"CU_SEEN void cu_start_{name}(void **a) {{ {name}({given}); }}")
        lines.append(f"CU_SEEN const size_t cu_sizes_{name}[] = {{ {sizes}0 }};")
    return "\n".join(lines) + "\n"


class Module:
    """Built kernels."""

    def __init__(
        self,
        library: ctypes.CDLL,
        types: dict[str, list[str]],
        bounds: dict[str, int | None],
        waits: bool,
    ) -> None:
        self._library, self._bounds, self._waits = library, bounds, waits
        self.kernels: dict[str, tuple[Parameter, ...]] = {}
        for name, listed in types.items():
            sizes = (ctypes.c_size_t * (len(listed) + 1)).in_dll(library, f"cu_sizes_{name}")
            self.kernels[name] = tuple(
                [Parameter(each, size, each.endswith("*")) for each, size in zip(listed, sizes, strict=False)]
            )
        begin, end = library.cu_shared_begin, library.cu_shared_end
        begin.restype = end.restype = ctypes.c_void_p
        self._shared = begin() or 0
        self._shared_bytes = (end() or 0) - self._shared
        self._starts = {name: ctypes.cast(getattr(library, f"cu_start_{name}"), ctypes.c_void_p) for name in types}

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[int | bytes],
        *,
        shared: int = 0,
        schedule: int = FORWARDS,
    ) -> None:
        """Run kernel *name* in *grid* blocks of *block* threads, each of up to three dimensions, and wait for it.

        An argument is an address, for a pointer, or the bytes of what is passed by value. Raises `KernelFault` for
        what a GPU leaves undefined, after which results are unspecified, `LaunchRefused` for what a driver refuses, and
        KeyError for an unknown kernel.
        """
        parameters = self.kernels[name]
        grid, block = (tuple(sizes) + (1,) * (3 - len(sizes)) for sizes in (grid, block))
        self._check(name, grid, block, shared)
        if len(args) != len(parameters):
            raise LaunchRefused(f"{name} has {len(parameters)} parameters, it is given {len(args)} arguments")
        places, values = [], []
        for n, (parameter, given) in enumerate(zip(parameters, args, strict=True)):
            if isinstance(given, int) != parameter.is_pointer:
                raise LaunchRefused(f"{name}: argument {n} is for {parameter.type}, it is {given!r}")
            value = given.to_bytes(8, "little") if isinstance(given, int) else given
            if len(value) != parameter.size:
                raise LaunchRefused(f"{name}: argument {n} has {len(value)} bytes, {parameter.type} {parameter.size}")
            values.append(ctypes.create_string_buffer(value + b"\0" * 16, len(value) + 16))
            # Sixteen bytes more, so that every type is aligned.
            begin = ctypes.addressof(values[-1])
            at = -(-begin // 16) * 16
            ctypes.memmove(at, value, len(value))
            places.append(at)
        with _ONE_AT_A_TIME:
            said = _runtime().cu_run(
                self._starts[name], (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), shared,
                (ctypes.c_void_p * max(1, len(places)))(*places), self._waits, schedule, self._shared,
                self._shared_bytes,
            )  # fmt: skip
        if said is not None:
            raise KernelFault(f"{name}: {said.decode()}")

    def _check(self, name: str, grid: Sequence[int], block: Sequence[int], shared: int) -> None:
        threads, bound = math.prod(block), self._bounds[name]
        if min(*grid, *block) < 1:
            raise LaunchRefused(f"{name}: a grid of {grid} blocks of {block} threads: sizes are at least 1")
        if threads > MAX_THREADS or any(size > most for size, most in zip(block, MAX_BLOCK, strict=True)):
            raise LaunchRefused(f"{name}: a block of {block} threads: at most {MAX_THREADS}, and {MAX_BLOCK}")
        if any(size > most for size, most in zip(grid, MAX_GRID, strict=True)):
            raise LaunchRefused(f"{name}: a grid of {grid} blocks: at most {MAX_GRID}")
        if bound is not None and threads > bound:
            raise LaunchRefused(f"{name}: a block of {block} threads: __launch_bounds__ says at most {bound}")
        static = self._shared_bytes if len(self.kernels) == 1 else 0
        if shared < 0 or shared + static > MAX_SHARED:
            raise LaunchRefused(f"{name}: {shared + static} bytes of shared memory: at most {MAX_SHARED}")


_ONE_AT_A_TIME = threading.Lock()


@functools.cache
def _identity() -> str:
    said = subprocess.run([compiler() or "g++", "--version"], capture_output=True, text=True, check=False).stdout
    return f"{said}\0{platform.machine()}"


@functools.cache
def _headers() -> str:
    return "\0".join((_HERE / name).read_text() for name in _HEADERS)


@functools.cache
def _headers_folder() -> str:
    """A folder of this process: the headers, and what the compiler made of the first of them in an earlier run."""
    folder = Path(_temporary().name)
    for name in _HEADERS:
        shutil.copy(_HERE / name, folder)
    text = (_HERE / _HEADERS[0]).read_text()
    precompiled = _compiled(text, _FLAGS, f"{_identity()}\0precompiled", language="c++-header")
    (folder / f"{_HEADERS[0]}.gch").write_bytes(precompiled)
    return str(folder)


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="polyad-")


@functools.cache
def _runtime() -> ctypes.CDLL:
    """The threads; kernels find its functions by name."""
    source = (_HERE / "runtime.cpp").read_text()
    library = _loaded(_compiled(source, _RUNTIME_FLAGS, _identity()), ctypes.RTLD_GLOBAL)
    library.cu_run.restype = ctypes.c_char_p
    library.cu_run.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int,
        ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t,
    ]  # fmt: skip
    return library


def _compiled(
    text: str,
    flags: Sequence[str],
    identity: str,
    headers: Callable[[], str] | None = None,
    *,
    language: str = "c++",
) -> bytes:
    """What the compiler makes of *text*, kept on disk, with the folder that *headers* returns on its path."""
    name = hashlib.sha256("\0".join((text, *flags, identity)).encode()).hexdigest()
    found = _LIBRARIES.read(name)
    if found is not None:
        return found
    command = compiler()
    if command is None:
        raise BuildError("there is no g++ on PATH, or the machine is no x86-64 of a Unix")
    includes = (f"-I{headers()}",) if headers else ()
    with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
        given, out = Path(folder, "given"), Path(folder, "out")
        given.write_text(text)
        before = [flag for flag in flags if not flag.startswith("-l")]
        libraries = [flag for flag in flags if flag.startswith("-l")]
        done = subprocess.run(
            [command, *before, *includes, "-x", language, str(given), "-o", str(out), *libraries],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise BuildError(f"g++ does not compile the kernel:\n{done.stderr}\n{text}")
        library = out.read_bytes()
    with suppress(OSError):  # it is compiled again
        _LIBRARIES.write(name, library)
    return library


def _loaded(library: bytes, mode: int = 0) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="polyad-") as folder:
        path = Path(folder, "kernel.so")
        path.write_bytes(library)
        return ctypes.CDLL(str(path), mode | ctypes.RTLD_LOCAL)
