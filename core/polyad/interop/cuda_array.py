"""Sharing memory of a GPU with other libraries through ``__cuda_array_interface__``, both ways.

Source: the CUDA Array Interface, version 3, https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html. It is a
dict: "shape", "typestr" (a dtype as NumPy writes it), "data" (the address, and whether it may only be read), "strides"
in bytes (None for row-major elements), "stream" (the driver's stream by which they are computed: 1 is the default one)
and "version". bfloat16, which NumPy lacks, is written "<V2", as ml_dtypes and PyTorch write it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import dtypes
from ..base.shapes_and_strides import contiguous_strides, int_of, is_contiguous, reach
from ..devices import registry
from ..devices.streams import Stream, current_stream, streams_of
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, NotSupported, PolyadError, safe_repr
from .foreign import over
from .numpy import numpy_dtype, polyad_dtype

if TYPE_CHECKING:
    from ..base.device import Device
    from ..tensor import Tensor

NAME = "__cuda_array_interface__"


class NoCudaArray(PolyadError, AttributeError):
    """The tensor has no memory to show in this way; ``hasattr`` says so."""


def described(tensor: Tensor) -> dict[str, Any]:
    """See ``Tensor.__cuda_array_interface__``."""
    type_ = tensor._type
    if type_.device.type != "cuda":
        raise NoCudaArray(
            f"{NAME}: the tensor is on {type_.device}, not on a cuda device",
            operands={"self": tensor},
            fix="move it there: tensor.cuda()",
        )
    if tensor.requires_grad:
        raise AutogradError(
            f"{NAME}: the tensor requires a gradient, which the other library would not track",
            operands={"self": tensor},
            fix="use tensor.detach()",
        )
    shape, steps = tuple(tensor.shape), tuple(tensor.stride())
    return {
        "shape": shape,
        "typestr": numpy_dtype(type_.dtype).str,
        "data": (tensor.data_ptr() if tensor.numel() else 0, False),
        "strides": None if is_contiguous(shape, steps) else tuple([step * type_.dtype.itemsize for step in steps]),
        "stream": current_stream(type_.device).native_handle or 1,
        "version": 3,
    }


def shared_with(data: Any) -> tuple[Tensor, bool]:
    """A tensor over the memory that *data* describes, which it keeps alive, and whether it may be written to.

    Work of this thread's stream waits for what the stream that *data* names has been asked for.

    Raises ValueError for memory that is laid out backwards or between elements, TypeError for a dtype that polyad
    lacks, NotImplementedError for a mask, RuntimeError where there is no such device.
    """
    said = getattr(data, NAME)
    address, read_only, shape, dtype, steps = _read(said)
    backend = registry.get("cuda")
    root, device = backend.lent(address, reach(shape, steps), dtype, data)
    _wait_for(device, said.get("stream"))
    return over(backend, root, dtype, device, shape, steps), not read_only


def _read(said: Any) -> tuple[int, bool, tuple[int, ...], dtypes.DType, tuple[int, ...]]:
    """(address, whether it may only be read, shape, dtype, strides in elements) of a description."""
    if not isinstance(said, Mapping):
        raise _wrong(f"is {safe_repr(said)}, no dict")
    missing = [key for key in ("shape", "typestr", "data", "version") if key not in said]
    if missing:
        raise _wrong(f"lacks {', '.join(missing)}")
    if said.get("mask") is not None:
        raise NotSupported(
            f"{NAME}: it has a mask, and polyad has no masked memory", fix="fill the masked places first"
        )
    shape, data = said["shape"], said["data"]
    if not isinstance(shape, tuple) or any((int_of(size) or 0) < 0 for size in shape) or None in map(int_of, shape):
        raise _wrong(f"says shape {safe_repr(shape)}, no tuple of sizes")
    if not isinstance(data, tuple) or len(data) != 2 or int_of(data[0]) is None:
        raise _wrong(f"says data {safe_repr(data)}, not (address, read only)")
    dtype = _dtype_of(said["typestr"])
    strides = said.get("strides")
    if strides is None:
        steps = contiguous_strides(shape)
    else:
        if not isinstance(strides, tuple) or len(strides) != len(shape) or None in map(int_of, strides):
            raise _wrong(f"says strides {safe_repr(strides)} for shape {shape}")
        if any(step < 0 or step % dtype.itemsize for step in strides):
            raise ArgumentError(
                f"{NAME}: strides {strides} are no multiples of {dtype.itemsize} bytes, 0 or more",
                fix="copy the array first",
            )
        steps = tuple([step // dtype.itemsize for step in strides])
    return int(data[0]), bool(data[1]), tuple(map(int, shape)), dtype, steps


def _dtype_of(typestr: Any) -> dtypes.DType:
    if typestr in ("<V2", "|V2"):
        return dtypes.bfloat16
    try:
        found = np.dtype(typestr)
    except TypeError:
        raise _wrong(f"says typestr {safe_repr(typestr)}") from None
    if not found.isnative:
        raise ArgumentTypeError(f"{NAME}: numbers of {typestr} are in another byte order", fix="convert them first")
    return polyad_dtype(found)


def _wrong(what: str) -> ArgumentError:
    return ArgumentError(f"{NAME}: it {what}", fix="the library that the object is from has to mend it")


def _wait_for(device: Device, number: Any) -> None:
    """Let this thread's stream wait for the driver's stream *number*: None for none, 1 for the default one."""
    if number is None:
        return
    if int_of(number) is None or number < 1:
        raise _wrong(f"says stream {safe_repr(number)}")
    own = current_stream(device)
    if (own.native_handle or 1) != number:
        handle = None if number == 1 else streams_of(device).external(int(number))
        own.wait_stream(Stream._of(device, handle))
