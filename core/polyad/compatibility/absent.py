"""Names that PyTorch has and polyad has not: each is there, and says when it is called what to use instead.

So a program that names such a thing fails where it uses it, with advice, and not at its import. The table in
docs/compatibility.md is generated from `ABSENT`.

A name that begins with a capital is a class of which nothing is an instance, so that programs may ask. A module of
which nothing but absent names is known (``polyad.nested``) is there, too: `watch` finds it.

To add a name, add a row; to bring the thing itself, delete the row. A module of polyad's that lacks names which PyTorch
has in it takes ``__getattr__ = lacking(__name__)``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import ModuleSpec
from types import GenericAlias, ModuleType
from typing import Any, NamedTuple, NoReturn

from ..errors import NotSupported, PolyadError
from .absent_names import BY_PROCESSES, COMPILED, EXPORTED, MASKED_BLOCKS, NESTED, PACKAGED, QUANTIZED, SPARSE
from .aliases import ALIASES as ALIASES


class Absence(NamedTuple):
    """Why a name does nothing here, and what to use."""

    reason: str
    instead: str


_SPARSE = Absence("it is for one vendor's matrices, or for a test of PyTorch's own", "Tensor.to_sparse_bsr, or a mask")

_NOT_DISTRIBUTED = Absence(
    "models are not split between processes",
    "polyad.nn.parallel.DistributedDataParallel, of which each process has the whole model",
)

ABSENT: dict[str, Absence] = {
    **dict.fromkeys(
        ("onnx.ExportableModule", "onnx.InputObserver"),
        Absence("what is open is named", "polyad.onnx.export(model, args, dynamic_axes={...})"),
    ),
    **dict.fromkeys(
        ("onnx.ops.attention", "onnx.ops.rotary_embedding", "onnx.ops.symbolic", "onnx.ops.symbolic_multi_out"),
        Absence("programs are made of polyad's ops", "polyad.onnx.register_custom_op_symbolic"),
    ),
    **dict.fromkeys(
        (*SPARSE,),
        _SPARSE,
    ),
    **dict.fromkeys(("SymBool", "SymFloat", "SymInt"), Absence("sizes are numbers", "int, float or bool")),
    **dict.fromkeys(
        (
            "overrides.enable_reentrant_dispatch",
            "overrides.get_testing_overrides",
            "overrides.redispatch_function",
        ),
        Absence("it is for what tests PyTorch or goes into it again", "polyad.overrides.get_overridable_functions"),
    ),
    "float4_e2m1fn_x2": Absence("floating point numbers have 8 bits or more", "polyad.float8_e4m3fn"),
    "utils.hooks.BackwardHook": Absence("modules have hooks of their own", "Module.register_full_backward_hook"),
    **dict.fromkeys(
        (
            "utils.benchmark.CallgrindStats",
            "utils.benchmark.CopyIfCallgrind",
            "utils.benchmark.FunctionCount",
            "utils.benchmark.FunctionCounts",
            "utils.benchmark.FuzzedParameter",
            "utils.benchmark.FuzzedSparseTensor",
            "utils.benchmark.FuzzedTensor",
            "utils.benchmark.Fuzzer",
            "utils.benchmark.ParameterAlias",
        ),
        Absence("instructions are not counted, and cases not drawn", "polyad.utils.benchmark.Timer"),
    ),
    **dict.fromkeys(
        tuple(
            f"utils.cpp_extension.{name}"
            for name in ("BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline")
        ),
        Absence("extensions in C++ are not built", "polyad.library.custom_op, or a plug-in that brings kernels"),
    ),
    **dict.fromkeys(NESTED, Absence("tensors have one shape", "padding, and polyad.nn.utils.rnn.pad_sequence")),
    **dict.fromkeys(QUANTIZED, Absence("numbers are not quantized", "polyad.float16 or bfloat16 for smaller models")),
    **dict.fromkeys(
        PACKAGED, Absence("no code is packed or run from files", "polyad.save of state, and a Python package")
    ),
    **dict.fromkeys(
        EXPORTED, Absence("models are not exported", "polyad.jit.capture(f, *inputs), whose nodes can be read")
    ),
    **dict.fromkeys(
        COMPILED,
        Absence(
            "this part of the compiler is PyTorch's own",
            "polyad.compile, or polyad.jit.capture(f, *inputs) for a graph of ops",
        ),
    ),
    **dict.fromkeys(
        MASKED_BLOCKS,
        Absence("masks are not compiled", "polyad.nn.functional.scaled_dot_product_attention(attn_mask=)"),
    ),
    "fx.passes.graph_drawer.FxGraphDrawer": Absence("graphs of calls are not drawn", "polyad.utils.viz, for models"),
    "fx.experimental.rewriter.RewritingTracer": Absence(
        "no code is rewritten before it is traced", "polyad.fx.Tracer, with trace_asserts = True for assert"
    ),
    **dict.fromkeys(
        ("fx.experimental.const_fold.FoldedGraphModule", "fx.experimental.const_fold.split_const_subgraphs"),
        Absence("graphs of calls are not folded", "polyad.graph.optimize(polyad.jit.capture(f, *inputs))"),
    ),
    **dict.fromkeys(
        ("library.triton_op", "library.wrap_triton"),
        Absence("kernels are not written in Triton", "polyad.library.custom_op, with a kernel for each device"),
    ),
    **dict.fromkeys(
        ("PyTorchFileReader", "PyTorchFileWriter", "_C.PyTorchFileReader", "_C.PyTorchFileWriter"),
        Absence("archives are read and written as a whole", "polyad.load(f, mmap=True), or polyad.save"),
    ),
    **dict.fromkeys(
        ("_C.Graph", "_C.Value"),
        Absence("PyTorch's graphs of TorchScript are its own", "polyad.fx.symbolic_trace, or polyad.jit.capture"),
    ),
    **dict.fromkeys(
        ("qint32", "qint8", "quint2x4", "quint4x2", "quint8", "complex32"),
        Absence("there is no such dtype", "polyad.int8 with a scale of your own, or polyad.complex64"),
    ),
    **dict.fromkeys(
        (
            "_subclasses.FakeTensor",
            "_subclasses.FakeTensorMode",
            "_subclasses.fake_tensor.FakeTensor",
            "_subclasses.fake_tensor.FakeTensorMode",
        ),
        Absence("tensors without data are on device meta", 'device="meta"'),
    ),
    **dict.fromkeys(
        ("FloatType", "IntType", "ListType", "TensorType"),
        Absence("types of scripts are polyad's own", "polyad.Tensor, int, float or list in annotations"),
    ),
    **{
        f"hub.{name}": Absence(
            "no code is fetched and run", "the model's own package, and polyad.hub.load_state_dict_from_url"
        )
        for name in ("help", "list", "load")
    },
    "serialization.register_package": Absence(
        "files say where a tensor was by its device", "polyad.load(f, map_location=function)"
    ),
    "serialization.skip_data": Absence("a file has the data of its tensors", "shapes and dtypes in a dict, saved"),
    **dict.fromkeys(BY_PROCESSES, _NOT_DISTRIBUTED),
    **dict.fromkeys(
        ("cuda.MemPool", "cuda.use_mem_pool"),
        Absence(
            "each device has one allocator", "polyad.cuda.set_per_process_memory_fraction, or polyad.cuda.empty_cache()"
        ),
    ),
    **dict.fromkeys(
        (
            "cuda.clock_rate",
            "cuda.list_gpu_processes",
            "cuda.memory_usage",
            "cuda.power_draw",
            "cuda.temperature",
            "cuda.utilization",
        ),
        Absence(
            "sensors are not read", "nvidia-smi --query-gpu=utilization.gpu,temperature.gpu,power.draw --format=csv"
        ),
    ),
}
"""What is absent, by its name under ``polyad``."""


class AbsentAttribute(NotSupported, AttributeError):
    """An attribute of an absent class."""


class _Absent(type):
    """The class of absent classes, of which nothing is an instance."""

    path: str

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):  # Python's own questions
            raise AttributeError(name)
        raise _refusal(cls.path, AbsentAttribute)

    def __getitem__(cls, parameters: Any) -> GenericAlias:  # in annotations of functions that are never called
        return GenericAlias(cls, parameters)

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(cls.path)


def _refusal(path: str, kind: type[PolyadError] = NotSupported) -> PolyadError:
    reason, instead = ABSENT[path]
    return kind(f"{path}: {reason}", fix=f"use {instead}")


def stand_in(path: str) -> Any:
    """What stands at an absent name: a callable that raises NotSupported (a NotImplementedError) with the advice."""
    reason, instead = ABSENT[path]
    name = path.rpartition(".")[2]
    said = f"Not in polyad: {reason}. Use {instead}. Raises NotImplementedError."
    if name[0].isupper():
        return _Absent(name, (), {"__doc__": said, "path": path})

    def absent(*args: Any, **kwargs: Any) -> NoReturn:
        raise _refusal(path)

    absent.__name__ = absent.__qualname__ = name
    absent.__doc__ = said
    return absent


def aliased(path: str) -> Any:
    """What polyad has under another name: see `ALIASES`."""
    where, _, name = f"polyad.{ALIASES[path]}".rpartition(".")
    return getattr(importlib.import_module(where), name)


def lacking(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: stands in for the absent names in it, and finds those of `ALIASES`."""
    inside = module.removeprefix("polyad.")

    def stand(name: str) -> Any:
        path = f"{inside}.{name}"
        if path in modules():
            return importlib.import_module(f"polyad.{path}")
        if path in ALIASES:
            found = aliased(path)
        elif path in ABSENT:
            found = stand_in(path)
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        sys.modules[module].__dict__[name] = found
        return found

    return stand


@cache
def modules() -> set[str]:
    """The modules under ``polyad`` that absent names and `ALIASES` are in, and the packages that these are in."""
    parts = [path.split(".")[:-1] for path in (*ABSENT, *ALIASES)]
    return {".".join(path[:end]) for path in parts for end in range(1, len(path) + 1)}


def find(fullname: str) -> ModuleSpec | None:
    """A module of which nothing but absent names is known."""
    parent, _, name = fullname.partition(".")
    if parent != "polyad" or name not in modules():
        return None
    return ModuleSpec(fullname, _Loader(), is_package=True)  # type: ignore[arg-type]


class _Loader:
    """Makes a module of names that say what to use instead."""

    def create_module(self, spec: ModuleSpec) -> None:
        """See `importlib.abc.Loader`: Python's own way."""

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        inside = module.__name__.removeprefix("polyad.")
        paths = (*ABSENT, *ALIASES)
        names = {path[len(inside) + 1 :].partition(".")[0] for path in paths if path.startswith(f"{inside}.")}
        module.__doc__ = "A module of PyTorch's that polyad has not: its names are found, or say what to use instead."
        module.__dict__["__getattr__"] = lacking(module.__name__)
        module.__dict__["__dir__"] = lambda: sorted(names)
