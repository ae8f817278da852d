"""Tensors in pickles: for other processes and for ``copyreg``, never for files (`polyad.load` refuses pickles).

A tensor is pickled as data: class, dtype, shape, device, its elements. From protocol 5 on the elements are a
`pickle.PickleBuffer`, so that whoever pickles may keep them out of the pickle and bring them another way, without a
copy. What a tensor shares memory with, and its history and gradient, stay behind.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor import Tensor
from ..tensor.subclasses import NoArray
from .numpy import from_numpy, numpy_dtype

if TYPE_CHECKING:
    from ..base.device import Device
    from ..base.dtypes import DType

__all__ = ["reduced", "restored"]


def reduced(tensor: Tensor, protocol: Any) -> tuple[Any, ...]:
    """See ``Tensor.__reduce_ex__``."""
    type_ = tensor._type
    if tensor._array.__class__ is NoArray:
        layout = tuple(tensor.shape), tensor.stride(), type_.dtype, type_.device, tensor.requires_grad
        return restored_wrapper, (type(tensor), *layout), tensor.__dict__ or None
    host: Any = np.ascontiguousarray(type_.backend.to_host(tensor._array)).reshape(-1).view(np.uint8)
    data = pickle.PickleBuffer(host) if protocol >= 5 else host.tobytes()
    attributes = tensor.__dict__ or None
    described = (type(tensor), type_.dtype, tuple(tensor.shape), type_.device, tensor.requires_grad)
    return restored, (*described, data), attributes


def restored_wrapper(
    cls: type[Tensor], shape: Any, strides: Any, dtype: DType, device: Device, requires_grad: bool
) -> Tensor:
    """The tensor that was pickled, of a class with ``__torch_dispatch__``: its attributes are what it is made of."""
    made = {"strides": strides, "dtype": dtype, "device": device, "requires_grad": requires_grad}
    return Tensor._make_wrapper_subclass(cls, shape, **made)


def restored(
    cls: type[Tensor], dtype: DType, shape: tuple[int, ...], device: Device, requires_grad: bool, data: Any
) -> Tensor:
    """The tensor that was pickled; it shows *data*'s memory where that can be written to."""
    flat = np.frombuffer(data, numpy_dtype(dtype)) if memoryview(data).nbytes else np.empty(0, numpy_dtype(dtype))
    if not flat.flags.writeable:
        flat = flat.copy()
    tensor = from_numpy(flat.reshape(shape))
    if device != tensor.device:
        tensor = tensor.to(device)
    if type(tensor) is not cls:
        tensor = tensor._alias(cls)
        tensor._storage = tensor._view = None
    return tensor.requires_grad_() if requires_grad else tensor
