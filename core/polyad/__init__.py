"""polyad: a PyTorch-compatible tensor library whose hardware is a plug-in.

    import polyad as torch

    x = torch.randn(64, 784, device="cpu")

The namespace is PyTorch's. Functions of tensors come from the op declarations (`polyad.ops`). A family of ops is loaded
when one of its names is first wanted, and so is everything else that not every program needs (nn, optim, jit, ...).
"""

from __future__ import annotations

import importlib
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

from .tensor import Tensor as Tensor  # first: it loads storages and histories in their order

# isort: split
from . import (
    autograd as autograd,
    errors as errors,
    functions as functions,
    interop as interop,
    mounted as _mounted,
    ops as ops,
)
from ._version import torch_api_version as torch_api_version
from .base import provided as _provided
from .base.device import Device
from .base.dtypes import (
    DType,
    bfloat16 as bfloat16,
    bool_,
    can_cast as can_cast,
    complex64 as complex64,
    complex128 as complex128,
    finfo as finfo,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    iinfo as iinfo,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from .base.memory_formats import (
    MemoryFormat,
    MemoryLayout,
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    jagged as jagged,
    preserve_format as preserve_format,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
)
from .base.shapes_and_strides import Size as Size
from .compatibility import absent as _absent, moved as _moved, unfound as _unfound, unknown as _unknown
from .devices.registry import get_default_device as get_default_device, set_default_device as set_default_device
from .dispatch.catalogue import PUBLIC
from .history.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .ops.declaring.attach import IN_PLACE as _IN_PLACE
from .random import (
    Generator as Generator,
    default_generator as default_generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import (
        accelerator as accelerator,
        amp as amp,
        backends as backends,
        compiler as compiler,
        cpu as cpu,
        cuda as cuda,
        datasets as datasets,
        distributed as distributed,
        distributions as distributions,
        export as export,
        fft as fft,
        func as func,
        futures as futures,
        graph as graph,
        hub as hub,
        jit as jit,
        library as library,
        linalg as linalg,
        masked as masked,
        mps as mps,
        multiprocessing as multiprocessing,
        nn as nn,
        optim as optim,
        overrides as overrides,
        profiler as profiler,
        quasirandom as quasirandom,
        serialization as serialization,
        signal as signal,
        special as special,
        testing as testing,
        torch_version as torch_version,
        types as types,
        utils as utils,
        version as version,
        xpu as xpu,
    )
    from ._lobpcg import lobpcg as lobpcg
    from .accelerator import get_device_module as get_device_module
    from .amp.autocast_mode import (
        autocast as autocast,
        get_autocast_cpu_dtype as get_autocast_cpu_dtype,
        get_autocast_dtype as get_autocast_dtype,
        get_autocast_gpu_dtype as get_autocast_gpu_dtype,
        is_autocast_cache_enabled as is_autocast_cache_enabled,
        is_autocast_cpu_enabled as is_autocast_cpu_enabled,
        is_autocast_enabled as is_autocast_enabled,
    )
    from .autograd.anomaly import (
        detect_nonfinite as detect_nonfinite,
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
        is_anomaly_enabled as is_anomaly_enabled,
        set_anomaly_enabled as set_anomaly_enabled,
    )
    from .backend.hookspecs import hookimpl as hookimpl
    from .compiler import compile as compile
    from .devices.streams import Event as Event, Stream as Stream
    from .func.mapping import vmap as vmap
    from .functions import *
    from .futures import Future as Future
    from .inspection.linting import lint as lint
    from .inspection.summary import summary as summary
    from .inspection.tracing import explain as explain, trace_dispatch as trace_dispatch
    from .interop.dlpack import from_dlpack as from_dlpack, to_dlpack as to_dlpack
    from .interop.numpy import from_file as from_file, from_numpy as from_numpy, frombuffer as frombuffer
    from .interop.printing import set_printoptions as set_printoptions
    from .serialization import load as load, save as save
    from .settings import (
        are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
        get_deterministic_debug_mode as get_deterministic_debug_mode,
        get_float32_matmul_precision as get_float32_matmul_precision,
        get_num_interop_threads as get_num_interop_threads,
        get_num_threads as get_num_threads,
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
        is_warn_always_enabled as is_warn_always_enabled,
        set_deterministic_debug_mode as set_deterministic_debug_mode,
        set_float32_matmul_precision as set_float32_matmul_precision,
        set_flush_denormal as set_flush_denormal,
        set_num_interop_threads as set_num_interop_threads,
        set_num_threads as set_num_threads,
        set_warn_always as set_warn_always,
        use_deterministic_algorithms as use_deterministic_algorithms,
    )
    from .symbolic_numbers import (
        SymBool as SymBool,
        SymFloat as SymFloat,
        SymInt as SymInt,
        sym_float as sym_float,
        sym_int as sym_int,
        sym_ite as sym_ite,
        sym_max as sym_max,
        sym_min as sym_min,
        sym_not as sym_not,
        sym_sum as sym_sum,
    )

_provided.capture.fill_later(f"{__name__}.jit", "capture")
_provided.class_dispatch.fill_later(f"{__name__}.aten.dispatching", "of_classes")
_provided.sparse_parts.fill_later(f"{__name__}.sparse.conversion", "parts_of")
_provided.sparse_tensor.fill_later(f"{__name__}.sparse.conversion", "of_parts")
_provided.sparse_zeros.fill_later(f"{__name__}.sparse.creation", "zeros")
_provided.sparse_rows.fill_later(f"{__name__}.sparse.embeddings", "rows")
_provided.compile_forward.fill_later(f"{__name__}.compiler.entry", "compile_forward")
_moved.forward()
_unfound.ask(_moved.find, _mounted.find, _absent.find, _unknown.find)

device = Device
dtype = DType
memory_format = MemoryFormat
layout = MemoryLayout

bool = bool_
half = float16
float = float32
double = float64
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128

newaxis = None

AcceleratorError = errors.KernelFailure
OutOfMemoryError = errors.OutOfMemory

globals().pop("tensor", None)  # the module; the function of that name is looked up like all others

_LAZY_MODULES = frozenset(
    {
        "_C",
        "__config__",
        "_dynamo",
        "_higher_order_ops",
        "_inductor",
        "_ops",
        "_prims_common",
        "_tensor_str",
        "_utils",
        "accelerator",
        "amp",
        "backends",
        "compiler",
        "cpu",
        "cuda",
        "datasets",
        "distributed",
        "distributions",
        "export",
        "fft",
        "func",
        "futures",
        "graph",
        "hub",
        "jit",
        "library",
        "linalg",
        "masked",
        "mps",
        "multiprocessing",
        "nn",
        "optim",
        "overrides",
        "profiler",
        "quasirandom",
        "serialization",
        "signal",
        "special",
        "storage",
        "testing",
        "torch_version",
        "types",
        "utils",
        "version",
        "xpu",
    }
)
_LAZY_NAMES = {
    **dict.fromkeys(
        (
            "are_deterministic_algorithms_enabled",
            "get_deterministic_debug_mode",
            "get_float32_matmul_precision",
            "get_num_interop_threads",
            "get_num_threads",
            "is_deterministic_algorithms_warn_only_enabled",
            "is_warn_always_enabled",
            "set_deterministic_debug_mode",
            "set_float32_matmul_precision",
            "set_flush_denormal",
            "set_num_interop_threads",
            "set_num_threads",
            "set_warn_always",
            "use_deterministic_algorithms",
        ),
        "settings",
    ),
    **dict.fromkeys(
        (
            "autocast",
            "get_autocast_cpu_dtype",
            "get_autocast_dtype",
            "get_autocast_gpu_dtype",
            "is_autocast_cache_enabled",
            "is_autocast_cpu_enabled",
            "is_autocast_enabled",
        ),
        "amp.autocast_mode",
    ),
    **dict.fromkeys(("Event", "Stream"), "devices.streams"),
    **dict.fromkeys(
        (
            "detect_nonfinite",
            "is_anomaly_check_nan_enabled",
            "is_anomaly_enabled",
            "set_anomaly_enabled",
        ),
        "autograd.anomaly",
    ),
    **dict.fromkeys(
        (
            "_assert",
            "_assert_async",
            "_check",
            "_check_index",
            "_check_is_size",
            "_check_not_implemented",
            "_check_tensor_all",
            "_check_tensor_all_with",
            "_check_type",
            "_check_value",
            "_check_with",
        ),
        "checks",
    ),
    "compile": "compiler",
    "explain": "inspection.tracing",
    **dict.fromkeys(
        (
            "BFloat16Tensor",
            "BoolTensor",
            "ByteTensor",
            "CharTensor",
            "DoubleTensor",
            "FloatTensor",
            "HalfTensor",
            "IntTensor",
            "LongTensor",
            "ShortTensor",
            "set_default_tensor_type",
            "typename",
        ),
        "tensor.legacy_types",
    ),
    **dict.fromkeys(
        (
            "BFloat16Storage",
            "BoolStorage",
            "ByteStorage",
            "CharStorage",
            "ComplexDoubleStorage",
            "ComplexFloatStorage",
            "DoubleStorage",
            "FloatStorage",
            "HalfStorage",
            "IntStorage",
            "LongStorage",
            "ShortStorage",
            "TypedStorage",
            "UntypedStorage",
            "is_storage",
        ),
        "ops.memory.storage_types",
    ),
    **dict.fromkeys(
        (
            "SymBool",
            "SymFloat",
            "SymInt",
            "sym_float",
            "sym_int",
            "sym_ite",
            "sym_max",
            "sym_min",
            "sym_not",
            "sym_sum",
        ),
        "symbolic_numbers",
    ),
    "Future": "futures",
    "from_dlpack": "interop.dlpack",
    "from_file": "interop.numpy",
    "from_numpy": "interop.numpy",
    "frombuffer": "interop.numpy",
    "get_device_module": "accelerator",
    "hookimpl": "backend.hookspecs",
    **dict.fromkeys(("CompilationUnit", "ScriptFunction", "ScriptModule"), "jit"),
    "_segment_reduce": "ops.indexing.segment_reduce",
    "_sample_dirichlet": "distributions.dirichlet",
    "_shape_as_tensor": "ops.queries",
    "_grouped_mm": "ops.products.grouped",
    "_scaled_grouped_mm": "ops.products.grouped",
    "_scaled_mm": "ops.products.grouped",
    "lobpcg": "_lobpcg",
    "lint": "inspection.linting",
    "load": "serialization",
    "save": "serialization",
    "set_printoptions": "interop.printing",
    **dict.fromkeys(
        (
            "_convert_indices_from_coo_to_csr",
            "_convert_indices_from_csr_to_coo",
            "dsmm",
            "hsmm",
            "hspmm",
            "saddmm",
            "smm",
            "sparse_bsc_tensor",
            "sparse_bsr_tensor",
            "sparse_compressed_tensor",
            "sparse_coo_tensor",
            "sparse_csc_tensor",
            "sparse_csr_tensor",
            "sspaddmm",
        ),
        "sparse",
    ),
    "summary": "inspection.summary",
    "to_dlpack": "interop.dlpack",
    "trace_dispatch": "inspection.tracing",
    "vmap": "func",
}
"""Names that are looked up on first use, with the module that has them."""

_NOT_OURS = {
    "Any",
    "DType",
    "Device",
    "MemoryFormat",
    "MemoryLayout",
    "PUBLIC",
    "TYPE_CHECKING",
    "annotations",
    "functions",
    "importlib",
    "multiprocessing",
    "types",
    "version",
}
"""Globals of this module that `from polyad import *` leaves out."""


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        return importlib.import_module(f".{name}", __package__)
    if name in _LAZY_NAMES:
        value = getattr(importlib.import_module(f".{_LAZY_NAMES[name]}", __package__), name)
        globals()[name] = value
        return value
    if name == "__all__":  # of `from polyad import *`
        apart = _NOT_OURS | _mounted.names()  # what a plug-in brings has names that nobody here chose
        return [public for public in __dir__() if not public.startswith("_") and public not in apart]
    if name in PUBLIC or name in _IN_PLACE:
        value = globals()[name] = getattr(functions, name)
        return value
    if name == "torch":  # PyTorch's module holds itself
        return importlib.import_module(__package__)
    if f"polyad.{name}" in _moved.FORWARDED:
        return importlib.import_module(f".{name}", __package__)
    if name in _absent.ABSENT:
        return _absent.stand_in(name)
    if name in _absent.ALIASES:
        return _absent.aliased(name)
    if name in _absent.modules():
        return importlib.import_module(f".{name}", __package__)
    if _mounted.shows(name):
        return importlib.import_module(f".{name}", __package__)
    if name.startswith("_foreach_"):
        return importlib.import_module(".foreach", __package__).function(name)
    raise AttributeError(f"module 'polyad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES, *_LAZY_NAMES, *dir(functions), *_mounted.names()})
