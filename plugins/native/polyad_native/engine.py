"""Loading the engine: compiled once for this machine, checked against NumPy, and given its threads and BLAS."""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import os
import struct
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from polyad.backend.c_compiler import Wanted, on_disk
from polyad.base.dtypes import DType, bfloat16, float16, float32, float64
from polyad.errors import CompilerFailure
from polyad_numpy import allocator, workers

from .compiler import compiled, libraries, vector_math

_PARTS = {
    "engine": (),
    "matrices": ("held", "arithmetic", "quick"),
    "convolving": ("held", "arithmetic", "convolution"),
    "attending": ("held", "arithmetic", "attention"),
    "moving": (),
    "pools": ("pooling",),
    "gathering": ("rows",),
    "recurring": ("held", "arithmetic", "recurrent"),
    "steps": ("stepping",),
}
"""Each library's file, and the files that are written out in it for the dtype that it is compiled for."""
AS_WRITTEN = ("-ffp-contract=off",)
"""Flags to round each step, as NumPy does: else the bits could depend on an element's place, or on a layout."""
_FLAGS = {"steps": AS_WRITTEN}
_SOON = {"engine": ("matrices", "gathering", "moving", "steps"), "convolving": ("matrices", "pools")}
"""What programs need soon that need a library."""
_held = ExitStack()
_REALS = {"float": "int", "double": "long long"}
"""What libraries compute in, and a whole number of the same size."""
_HALVES = {"bfloat16": 1, "float16": 2}
"""What products, convolutions and attention take beside these, computing in float, and their numbers in sources."""
_NAMES = {float32: "float", float64: "double", bfloat16: "bfloat16", float16: "float16"}


@cache
def engine() -> Any:
    """The extension. Raises CompilerFailure if it cannot be had; in that case nothing of it is used."""
    module = _imported("engine")
    sample = np.zeros((3, 5))[:, 1:]
    if struct.unpack("4q", module.layout(sample)) != (sample.ctypes.data, 2, 3, sample.strides[0]):
        raise CompilerFailure(
            "the native engine: arrays of this NumPy are laid out in a way that it does not know",
            notes={"NumPy": np.__version__},
            fix="upgrade polyad, or set POLYAD_NATIVE=0",
        )
    arrays = importlib.import_module("numpy._core.multiarray")
    if arrays.get_handler_name() == "default_allocator" and os.environ.get(allocator.SWITCH) != "0":
        module.align(arrays._multiarray_umath._ARRAY_API, arrays._get_madvise_hugepage())
    _held.enter_context(workers.one_thread())  # BLAS's threads would spin beside ours; large products are ours
    module.set_threads(workers.num_threads())
    workers.on_change(module.set_threads)
    return module


@cache
def matrices(real: str) -> Any:
    """The extension of products for a type, compiled when one is needed first."""
    return _bound("matrices", real)


@cache
def convolving(real: str) -> Any:
    """The extension of convolutions for a type."""
    return _bound("convolving", real)


@cache
def attending(real: str) -> Any:
    """The extension of attention for a type."""
    return _bound("attending", real)


@cache
def moving(real: str = "float") -> Any:
    """The extension of kernels that move elements, of any dtype."""
    return _bound("moving", real)


@cache
def pools(real: str) -> Any:
    """The extension of the largest elements of windows."""
    return _bound("pools", real)


@cache
def gathering(real: str) -> Any:
    """The extension of kernels that go over rows, or to indices."""
    return _bound("gathering", real)


@cache
def recurring(real: str) -> Any:
    """The extension of recurrent layers."""
    return _bound("recurring", real)


@cache
def steps(real: str) -> Any:
    """The extension of optimizers' steps."""
    return _bound("steps", real)


def _bound(library: str, real: str, flags: tuple[str, ...] = ()) -> Any:
    """An extension that runs in the engine's threads."""
    module = _imported(library, real, flags)
    module.bind(*engine().addresses(), np.zeros(0))
    return module


def function(library: Callable[[str], Any], name: str, dtype: DType) -> Any:
    """The function *name* of a library for a dtype; None for a dtype that it is not compiled for."""
    real = _NAMES.get(dtype)
    if real is None or (real in _HALVES and library not in (matrices, convolving, attending)):
        return None
    return getattr(library(real), name)


def source(library: str, real: str = "") -> str:
    """The source of a library, for a type if it has arithmetic. What turns blocks over is there for both C types."""
    whole = text(library)
    if real:
        names = ("REAL", "WORD", "NAME", "ENTRY", "HELD")
        undefined = "".join(f"#undef {name}\n" for name in names)
        parts = [f"{_defining(each)}{text('turning')}{undefined}" for each in _REALS]
        whole = whole.replace("<arithmetic>\n", "".join([*parts, _defining(real), *map(text, _PARTS[library])]))
    for part in ("python", "memory", "repeating", "bound", "machine", "functions"):
        whole = whole.replace(f"<{part}>\n", text(part))
    return whole


def _defining(held: str) -> str:
    real = "float" if held in _HALVES else held
    lines = [f"REAL {real}", f"WORD {_REALS[real]}", f"NAME(name) name##_{real}", f"ENTRY(name) name##_{held}"]
    lines += [f"HALF {_HALVES[held]}", "HELD unsigned short"] if held in _HALVES else [f"HELD {real}"]
    return "".join(f"#define {line}\n" for line in lines)


def text(name: str) -> str:
    """The source file *name*."""
    return Path(__file__).with_name(f"{name}.c").read_text(encoding="utf-8")


def _imported(library: str, real: str = "", flags: tuple[str, ...] = ()) -> Any:
    """The extension module; *flags*: beside the usual."""
    what = f"the native {library}"
    name = "_".join(filter(None, ("polyad_native", library, real)))
    soon = [(other, real or "float") for other in _SOON.get(library, ())]
    built = compiled(*_wanted(library, real, flags), lambda: [_wanted(*each) for each in soon])
    try:
        with on_disk(built, name) as path:
            loader = importlib.machinery.ExtensionFileLoader(name, path)
            spec = importlib.util.spec_from_loader(name, loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
    except (ImportError, OSError) as error:
        raise libraries().unloadable(what, error) from error
    return module


def _wanted(library: str, real: str, flags: tuple[str, ...] = ()) -> Wanted:
    return source(library, real), f"the native {library}", (*vector_math(), *_FLAGS.get(library, ()), *flags)


def entry(library: bytes, name: str) -> int:
    """The address of function *name* of a compiled library, which stays loaded."""
    loaded = libraries().loaded(library, "a native kernel")
    return ctypes.cast(loaded[name], ctypes.c_void_p).value or 0
