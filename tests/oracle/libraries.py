"""The two libraries behind one interface, and which function of PyTorch is the twin of which of polyad's."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import torch

import polyad
from polyad.base.dtypes import DType
from polyad.dispatch.op import PUBLIC
from polyad.interop.numpy import numpy_dtype

from .calls import Call, Given, mapped

torch.set_num_threads(1)

BENEATH = frozenset(
    {
        "batch_norm",
        "binary_cross_entropy_with_logits",
        "dropout",
        "embedding",
        "group_norm",
        "kl_div",
        "layer_norm",
        "max_pool2d",
    }
)
"""Functions of ``torch`` that are the layer beneath those of ``torch.nn.functional``, with signatures of their own:
polyad's function of that name is the documented one, unless it has both."""

NO_TWIN: dict[str, str] = {}
"""Public functions of polyad that PyTorch has nowhere, with the reason."""


def twin(path: str) -> Callable[..., Any] | None:
    """PyTorch's function for polyad's at *path*: of the same module, else of ``nn.functional``, else a method."""
    places = [path, f"nn.functional.{path}", f"Tensor.{path}"]
    layer = PUBLIC.get(f"nn.functional.{path}")
    if layer is not None and path in PUBLIC and PUBLIC[path].call is layer.call:
        places = places[1:]  # the function of a layer, shown twice
    if path in BENEATH and layer is None:
        places = places[1:]
    for place in places:
        try:
            return reduce(getattr, place.split("."), torch)
        except AttributeError:
            continue
    return None


class Polyad:
    """polyad, on "cpu"."""

    name = "polyad"
    Tensor = polyad.Tensor

    def tensor(self, given: Given) -> tuple[Any, Any]:
        """The tensor, and one over all its memory."""
        memory = polyad.tensor(given.memory)
        if given.shape == memory.shape and given.strides == (1,):
            made = memory.detach()
        else:
            made = memory.as_strided(given.shape, given.strides, given.offset).detach()
        return made.requires_grad_() if given.requires_grad else made, memory

    def argument(self, value: Any) -> Any:
        """*value* with the dtypes of this library."""
        return value

    def dtype(self, tensor: Any) -> DType:
        """The tensor's dtype."""
        return tensor.dtype

    def host(self, tensor: Any) -> np.ndarray:
        """A copy of the tensor's values."""
        return np.array(tensor._type.backend.to_host(tensor._array))

    def function(self, path: str) -> Callable[..., Any]:
        """The function at *path*."""
        if path in PUBLIC:
            return PUBLIC[path].call
        return reduce(getattr, path.split("."), polyad)

    def new(self, values: np.ndarray) -> Any:
        """A tensor of *values*."""
        return polyad.tensor(values)

    def gradients(self, outputs: list[Any], inputs: list[Any], incoming: list[Any]) -> Any:
        """Gradients of the outputs with respect to the inputs, None for an input that is not used."""
        return polyad.autograd.grad(outputs, inputs, grad_outputs=incoming, allow_unused=True)


class Torch:
    """PyTorch, on "cpu"."""

    name = "PyTorch"
    Tensor = torch.Tensor

    def tensor(self, given: Given) -> tuple[Any, Any]:
        """The tensor, and one over all its memory."""
        memory = self.new(given.memory)
        made = torch.as_strided(memory, given.shape, given.strides, given.offset).detach()
        return made.requires_grad_() if given.requires_grad else made, memory

    def argument(self, value: Any) -> Any:
        """*value* with the dtypes of this library."""
        value = mapped(value, DType, lambda dtype: getattr(torch, dtype.name))
        return mapped(value, polyad.memory_format, lambda one: getattr(torch, one.name))

    def dtype(self, tensor: Any) -> Any:
        """polyad's name for the tensor's dtype; PyTorch's own dtype if polyad has none."""
        name = str(tensor.dtype).removeprefix("torch.")
        found = getattr(polyad, "bool_" if name == "bool" and not hasattr(polyad, "bool") else name, None)
        return found if isinstance(found, DType) else tensor.dtype

    def host(self, tensor: Any) -> np.ndarray:
        """A copy of the tensor's values."""
        tensor = tensor.detach().resolve_conj().resolve_neg().clone()  # zeros may have no memory at all
        if tensor.dtype is torch.complex32:  # NumPy has no such dtype, nor has polyad
            return np.array(tensor.to(torch.complex64).numpy())
        if tensor.dtype is torch.bfloat16:
            return np.array(tensor.contiguous().view(torch.int16).numpy()).view(numpy_dtype(polyad.bfloat16))
        return np.array(tensor.numpy())

    def function(self, path: str) -> Callable[..., Any]:
        """The function at *path*."""
        found = twin(path)
        if found is None:
            raise LookupError(path)
        return found

    def new(self, values: np.ndarray) -> Any:
        """A tensor of *values*."""
        if values.dtype == numpy_dtype(polyad.bfloat16):
            return torch.from_numpy(np.array(values).view(np.int16)).view(torch.bfloat16).clone()
        return torch.from_numpy(np.array(values)).clone()  # memory of PyTorch's own can be resized, as out= does

    def gradients(self, outputs: list[Any], inputs: list[Any], incoming: list[Any]) -> Any:
        """Gradients of the outputs with respect to the inputs, None for an input that is not used."""
        return torch.autograd.grad(outputs, inputs, grad_outputs=incoming, allow_unused=True)


POLYAD, TORCH = Polyad(), Torch()
Library = Polyad | Torch


def invoke(library: Library, call: Call, tensors: dict[int, Any]) -> Any:
    """Make *call* in *library*, its `Given` arguments being the *tensors* by identity."""

    def placed(tree: Any) -> Any:
        return library.argument(mapped(tree, Given, lambda given: tensors[id(given)]))

    args, kwargs = placed(tuple(call.args)), placed(dict(call.kwargs))
    if call.form == "property":
        return getattr(args[0], call.name)
    if call.form in ("method", "in place"):
        return getattr(args[0], call.name + ("_" if call.form == "in place" else ""))(*args[1:], **kwargs)
    return library.function(call.path)(*args, **kwargs)


def bytes_of(tensor: Any) -> tuple[int, int]:
    """The addresses between which the elements of a tensor lie."""
    size = tensor.element_size()
    if tensor.numel() == 0:
        return 0, 0
    reach = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
    start = tensor.data_ptr()
    return start, start + (reach + 1) * size
