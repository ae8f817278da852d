"""Loading the engine: compiled once for this machine, checked against NumPy, and given its threads and BLAS."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import struct
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from polyad.backend.c_compiler import on_disk
from polyad.dtypes import DType, float32, float64
from polyad.errors import CompilerFailure
from polyad_numpy import workers

from .compiler import compiled, libraries, vector_math

_LIBRARIES = {
    "engine": ("turning", "arithmetic", "convolution", "attention"),
    "elements": ("turning", "pooling", "rows"),
}
"""Each library's file, and the files that are written out in it for each of `_REALS`."""
_held = ExitStack()
_REALS = {"float": "int", "double": "long long"}
"""What these are compiled for, and a whole number of the same size."""
_NAMES = {float32: "float", float64: "double"}


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
    _held.enter_context(workers.one_thread())  # BLAS's threads would spin beside ours; large products are ours
    module.set_threads(workers.num_threads())
    workers.on_change(module.set_threads)
    return module


@cache
def elements() -> Any:
    """The extension of kernels that move elements or go over rows, compiled when one of them is needed first."""
    module = _imported("elements")
    module.bind(engine().parallel())
    return module


def function(library: Callable[[], Any], name: str, dtype: DType) -> Any:
    """The function *name* of `engine` or `elements` for a dtype; None for a dtype that it is not compiled for."""
    real = _NAMES.get(dtype)
    return None if real is None else getattr(library(), f"{name}_{real}")


def source(library: str = "engine") -> str:
    """The source of a library, its arithmetic written out for each dtype."""
    body = "".join(map(text, _LIBRARIES[library]))
    written = [
        f"#define REAL {real}\n#define WORD {word}\n#define NAME(name) name##_{real}\n{body}"
        "\n#undef REAL\n#undef WORD\n#undef NAME\n#undef ACCUMULATE\n"
        for real, word in _REALS.items()
    ]
    whole = text(library).replace("<arithmetic>\n", "".join(written))
    for part in ("python", "machine", "functions"):
        whole = whole.replace(f"<{part}>\n", text(part))
    return whole


def text(name: str) -> str:
    """The source file *name*."""
    return Path(__file__).with_name(f"{name}.c").read_text(encoding="utf-8")


def _imported(library: str) -> Any:
    """The extension module."""
    what, name = f"the native {library}", f"polyad_native_{library}"
    with on_disk(compiled(source(library), what, vector_math()), name) as path:
        loader = importlib.machinery.ExtensionFileLoader(name, path)
        spec = importlib.util.spec_from_loader(name, loader)
        assert spec is not None
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            raise libraries().unloadable(what, error) from error
    return module


def entry(library: bytes, name: str) -> int:
    """The address of function *name* of a compiled library, which stays loaded."""
    loaded = libraries().loaded(library, "a native kernel")
    return ctypes.cast(loaded[name], ctypes.c_void_p).value or 0
