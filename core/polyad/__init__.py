"""polyad: a PyTorch-compatible tensor library whose hardware is a plug-in.

    import polyad as torch

    x = torch.randn(64, 784, device="cpu")

The namespace is PyTorch's. Functions of tensors come from the op declarations (`polyad.ops`, listed in functions.py); everything
that is not needed by every program (nn, optim, utils, jit, ...) is imported when it is first named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import autograd as autograd
from . import ops as ops
from ._version import __version__ as __version__
from .autograd.grad_mode import enable_grad as enable_grad
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled
from .autograd.grad_mode import no_grad as no_grad
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .backend.registry import get_default_device as get_default_device
from .backend.registry import set_default_device as set_default_device
from .device import Device as device
from .dtypes import DType as dtype
from .dtypes import bfloat16 as bfloat16
from .dtypes import can_cast as can_cast
from .dtypes import complex64 as complex64
from .dtypes import complex128 as complex128
from .dtypes import finfo as finfo
from .dtypes import float16 as float16
from .dtypes import float32 as float32
from .dtypes import float64 as float64
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import iinfo as iinfo
from .dtypes import int8 as int8
from .dtypes import int16 as int16
from .dtypes import int32 as int32
from .dtypes import int64 as int64
from .dtypes import promote_types as promote_types
from .dtypes import set_default_dtype as set_default_dtype
from .dtypes import uint8 as uint8
from .functions import *
from .layout import Size as Size
from .tensor import Tensor as Tensor

if TYPE_CHECKING:
    from . import backends as backends
    from . import jit as jit
    from . import nn as nn
    from . import optim as optim
    from . import utils as utils
    from .backend.hookspecs import hookimpl as hookimpl
    from .dispatch.tracing import explain as explain
    from .dispatch.tracing import trace_dispatch as trace_dispatch
    from .interop.numpy import from_numpy as from_numpy
    from .interop.printing import set_printoptions as set_printoptions

from .dispatch.op import PUBLIC as _PUBLIC

globals().update({_name: _public.call for _name, _public in _PUBLIC.items()})

from .dtypes import bool_ as bool

half = float16
float = float32
double = float64
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128

_LAZY_MODULES = frozenset({"backends", "datasets", "jit", "nn", "optim", "utils"})
_LAZY_NAMES = {
    "explain": "dispatch.tracing",
    "from_numpy": "interop.numpy",
    "frombuffer": "interop.numpy",
    "hookimpl": "backend.hookspecs",
    "set_printoptions": "interop.printing",
    "trace_dispatch": "dispatch.tracing",
}
"""Names that are looked up on first use, with the module that has them."""


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _LAZY_NAMES:
        value = getattr(importlib.import_module(f".{_LAZY_NAMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'polyad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES, *_LAZY_NAMES})
