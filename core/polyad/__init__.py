"""polyad: a PyTorch-compatible tensor library whose hardware is a plug-in."""

from __future__ import annotations

from . import ops as ops
from ._version import __version__ as __version__
from .autograd.grad_mode import enable_grad as enable_grad
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled
from .autograd.grad_mode import no_grad as no_grad
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .device import Device as device
from .dispatch.op import PUBLIC as _PUBLIC
from .dtypes import DType as dtype
from .dtypes import bfloat16, bool_, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8
from .tensor import Tensor as Tensor
from . import dtypes, autograd
bool = bool_
globals().update({n: f.call for n, f in _PUBLIC.items()})
