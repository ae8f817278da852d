"""Moving and casting the tensors of a module, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, Protocol

from ..arguments import check_type
from ..base.device import Device
from ..base.dtypes import DType
from ..base.memory_formats import MemoryFormat
from ..errors import ArgumentTypeError, DTypeError
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from .parameter import is_lazy


class HoldsTensors(Protocol):
    """What conversion needs to know of a module."""

    @property
    def _buffers(self) -> MutableMapping[str, Tensor | None]: ...

    def parameters(self, recurse: bool = True) -> Iterable[Tensor]:
        """Those of all submodules too, each once."""

    def buffers(self, recurse: bool = True) -> Iterable[Tensor]:
        """Likewise."""

    def modules(self) -> Iterable[HoldsTensors]:
        """The module and all submodules."""


def replace_tensors(module: HoldsTensors, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> None:
    """Replace the data of every parameter, gradient and buffer by ``fn`` of it, those of submodules too if *recurse*;
    if *fn* fails, nothing is replaced.
    """
    parameters = list(module.parameters(recurse))
    with no_grad():
        converted = [(p, fn(p), None if p.grad is None else fn(p.grad)) for p in parameters]
        buffers = {id(buffer): fn(buffer) for buffer in module.buffers(recurse)}
    for parameter, data, _ in converted:
        if parameter.requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
            raise DTypeError(
                f"{type(module).__name__}: parameters that require gradients cannot become {data.dtype.name}",
                operands={"parameter": parameter},
                fix="call requires_grad_(False) on the module first",
            )
    # Nothing can fail from here on.
    for parameter, data, grad in converted:
        parameter.grad = None
        parameter.data = data
        parameter.grad = grad
    for part in module.modules() if recurse else (module,):
        for name, buffer in part._buffers.items():
            if is_lazy(buffer):
                buffer.data = buffers[id(buffer)]
            elif buffer is not None:
                part._buffers[name] = buffers[id(buffer)]


def parse_to(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Device | str | int | None, DType | None, bool, MemoryFormat | None]:
    """Read the argument forms of `Module.to` into (device, dtype, non_blocking, memory_format)."""
    unknown = kwargs.keys() - {"device", "dtype", "tensor", "non_blocking", "memory_format"}
    if unknown:
        raise ArgumentTypeError(
            f"Module.to: unknown argument {min(unknown)!r}",
            fix="use device, dtype, tensor, non_blocking or memory_format",
        )
    memory_format = kwargs.get("memory_format")
    check_type("Module.to", "memory_format", memory_format, (MemoryFormat, type(None)), "a memory format")
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    rest = list(args)
    first = rest.pop(0) if rest else kwargs.get("tensor")
    if isinstance(first, Tensor):
        device, dtype = first.device, first.dtype
    elif isinstance(first, DType):
        dtype = first
    elif first is not None or args:
        device = first
        if rest:
            dtype = rest.pop(0)
    non_blocking = bool(rest.pop(0)) if rest else bool(kwargs.get("non_blocking", False))
    if rest:
        raise ArgumentTypeError(
            f"Module.to: takes at most 3 positional arguments, got {len(args)}",
            fix="name the others: dtype=..., non_blocking=...",
        )
    check_type("Module.to", "device", device, (Device, str, int, type(None)), "a device, a dtype or a tensor")
    if dtype is not None and not (isinstance(dtype, DType) and (dtype.is_floating_point or dtype.is_complex)):
        raise ArgumentTypeError(
            "Module.to: dtype must be floating point or complex",
            operands={"dtype": dtype},
            fix="cast single buffers with register_buffer, or all members with Module.type",
        )
    return device, dtype, non_blocking, memory_format


def parsed_to(*args: Any, **kwargs: Any) -> tuple[Device | None, DType | None, bool, MemoryFormat | None]:
    """The arguments of `Module.to` as (device, dtype, non_blocking, memory_format), the device as an object."""
    device, *rest = parse_to(args, kwargs)
    return (None if device is None else Device(device), *rest)  # type: ignore[return-value]
