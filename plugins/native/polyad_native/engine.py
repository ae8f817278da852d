"""Loading the engine and libraries of kernels, each compiled for a dtype when it is needed first."""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import os
import struct
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np

from polyad.backend.c_compiler import Wanted, on_disk
from polyad.backend.interface import Signature, TensorType
from polyad.base.dtypes import DType, bfloat16, float16, float32, float64
from polyad.errors import CompilerFailure
from polyad_numpy import sharing

from .compiler import compiled, libraries, vector_math
from .sources import source

AS_WRITTEN = ("-ffp-contract=off",)
"""Flags to round each step, as NumPy does: else the bits could depend on an element's place, or on a layout."""
SOONER = ("-O2", "-ftree-vectorize")
"""Flags for large libraries that are as quick with less of the compiler's work, which takes two thirds of the time. By
them, products and convolutions of half types, recurrent layers, sampling and copies lose a tenth or more."""
_held = ExitStack()
_NAMES = {float32: "float", float64: "double", bfloat16: "bfloat16", float16: "float16"}
"""Dtypes as sources call them."""
HALVES = (bfloat16, float16)


class Library:
    """A library of kernels: a C file of this package, compiled for a dtype when that is needed first.

    Attributes:
        path: of the file, without ``.c``.
        dtypes: that it is for.
    """

    all: dict[str, Library] = {}  # noqa: RUF012
    """By path."""

    def __init__(
        self,
        path: str,
        dtypes: tuple[DType, ...] = (float32, float64),
        *,
        flags: tuple[str, ...] = (),
        soon: tuple[str, ...] = (),
    ) -> None:
        """*flags*: beside the usual. *soon*: paths of the libraries that programs need soon that need this one."""
        self.path, self.dtypes, self._flags, self._soon = path, dtypes, flags, soon
        self._loaded: dict[DType, Any] = {}
        Library.all[path] = self

    def function(self, name: str, dtype: DType) -> Any:
        """The function *name* for a dtype; None for a dtype that it is not compiled for."""
        return getattr(self.module(dtype), name) if dtype in self.dtypes else None

    def function_of(self, name: str, types: Signature) -> Any:
        """The function *name* for a dtype that all floating operands of a signature have; else None."""
        found = {entry.dtype for entry in types if isinstance(entry, TensorType) and entry.dtype.is_floating_point}
        return self.function(name, found.pop()) if len(found) == 1 else None

    def module(self, dtype: DType = float32) -> Any:
        """The extension for a dtype, which runs in the engine's threads."""
        module = self._loaded.get(dtype)
        if module is None:
            module = self._loaded[dtype] = self.bound(dtype)
        return module

    def bound(self, dtype: DType, *flags: str) -> Any:
        """The extension as it is compiled with more *flags*."""
        module = self.imported(dtype, *flags)
        module.bind(*engine().addresses(), np.zeros(0))
        return module

    def imported(self, dtype: DType = float32, *flags: str) -> Any:
        """The extension, in no threads yet."""
        name = "_".join(("polyad_native", self.path.rpartition("/")[2], _NAMES[dtype]))
        soon = [other for other in map(Library.all.get, self._soon) if other is not None and dtype in other.dtypes]
        built = compiled(*self.wanted(dtype, *flags), lambda: [other.wanted(dtype) for other in soon])
        try:
            with on_disk(built, name) as path:
                loader = importlib.machinery.ExtensionFileLoader(name, path)
                spec = importlib.util.spec_from_loader(name, loader)
                assert spec is not None
                module = importlib.util.module_from_spec(spec)
                loader.exec_module(module)
        except (ImportError, OSError) as error:
            raise libraries().unloadable(self._what, error) from error
        return module

    def wanted(self, dtype: DType, *flags: str) -> Wanted:
        """What the compiler is asked for."""
        return source(self.path, _NAMES[dtype]), self._what, (*vector_math(), *self._flags, *flags)

    @property
    def _what(self) -> str:
        return f"the native library {self.path}.c"


_ENGINE = Library(
    "common/engine",
    soon=(
        "gemm/gemm",
        "kernels/nn/activation/rectifiers",
        "kernels/nn/losses/classification",
        "kernels/memory/copying",
        "kernels/optim/steps",
    ),
)


@cache
def engine() -> Any:
    """The extension. Raises CompilerFailure if it cannot be had; in that case nothing of it is used."""
    module = _ENGINE.imported()
    sample = np.zeros((3, 5))[:, 1:]
    if struct.unpack("4q", module.layout(sample)) != (sample.ctypes.data, 2, 3, sample.strides[0]):
        raise CompilerFailure(
            "the native engine: arrays of this NumPy are laid out in a way that it does not know",
            notes={"NumPy": np.__version__},
            fix="upgrade polyad, or set POLYAD_NATIVE=0",
        )
    arrays = importlib.import_module("numpy._core.multiarray")
    if arrays.get_handler_name() == "default_allocator" and os.environ.get(sharing.KEEP_FREED_MEMORY) != "0":
        module.align(arrays._multiarray_umath._ARRAY_API, arrays._get_madvise_hugepage())
    _held.enter_context(sharing.one_thread())  # BLAS's threads would spin beside ours; large products are ours
    module.set_threads(sharing.num_threads())
    sharing.on_change(module.set_threads)
    return module


def entry(library: bytes, name: str) -> int:
    """The address of function *name* of a compiled library, which stays loaded."""
    loaded = libraries().loaded(library, "a native kernel")
    return ctypes.cast(loaded[name], ctypes.c_void_p).value or 0
