"""DataParallel: the batch is split over devices, each computes its part with copies of the parameters, and the results
are put together on one of them. Copies are made by ops, so that gradients add up in the module's own parameters.

Devices work one after the other as far as their work is not queued.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import accelerator
from ...arguments import check_dims
from ...base.device import Device
from ...errors import DeviceError
from ...functions import cat
from ...tensor import Tensor
from ..modules.module import Module, require_module
from ..utils.stateless import functional_call

__all__ = ["DataParallel", "data_parallel"]

AnyDevice = Device | str | int


class DataParallel(Module):
    """Runs a module on several devices, each with a part of the batch.

    Args:
        module: what to run; its parameters and buffers are on the first device.
        device_ids: the devices; by default all of the current accelerator. Without any, the module runs where it is.
        output_device: where the results are put together; the first device by default.
        dim: the dimension of tensors that is split.

    Raises:
        TypeError: *module* is no module.
        RuntimeError: by forward: a parameter or buffer is on another device than the first.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.DataParallel(nn.Linear(2, 3), device_ids=["cpu", "cpu"])(polyad.zeros(5, 2)).shape
    polyad.Size([5, 3])
    """

    module: Module

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[AnyDevice] | None = None,
        output_device: AnyDevice | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        require_module("DataParallel", module)
        self.module = module
        self.dim = dim
        self.device_ids = _devices(device_ids)
        first = self.device_ids[0] if self.device_ids else None
        self.output_device = first if output_device is None else _device(output_device)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module with parts of *inputs* and *kwargs*."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        first = self.device_ids[0]
        members = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        for name, member in members.items():
            if member.device != first:
                raise DeviceError(
                    f"DataParallel: {name} is on {member.device}, and must be on the first of device_ids, {first}",
                    operands={name: member},
                    fix=f'move the module: module.to("{first}")',
                )
        parts = scatter((inputs, kwargs), self.device_ids, self.dim)
        if len(parts) == 1:
            args, more = parts[0]
            return self.module(*args, **more)
        results = []
        for device, (args, more) in zip(self.device_ids, parts):
            copies = {name: member.to(device) for name, member in members.items()}
            results.append(functional_call(self.module, copies, args, more))
        return gather(results, self.output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[AnyDevice] | None = None,
    output_device: AnyDevice | None = None,
    dim: int = 0,
    module_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Call *module* with *inputs*, a tuple or a single one, split over devices as `DataParallel` does."""
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*args, **(module_kwargs or {}))


def _device(one: AnyDevice) -> Device:
    if isinstance(one, int):
        current = accelerator.current_accelerator()
        return Device(current.type if current is not None else "cuda", one)
    return Device(one) if isinstance(one, str) else one


def _devices(given: Sequence[AnyDevice] | None) -> list[Device]:
    if given is not None:
        return [_device(one) for one in given]
    return [_device(number) for number in range(accelerator.device_count())]


def scatter(inputs: Any, target_gpus: Sequence[AnyDevice], dim: int = 0) -> list[Any]:
    """What each device gets of *inputs*: parts of tensors along *dim*, and everything else whole.

    >>> import polyad
    >>> [part.tolist() for part in scatter(polyad.arange(4), ["cpu", "cpu"])]
    [[0, 1], [2, 3]]
    """
    value, devices = inputs, _devices(target_gpus)
    count = min((_length(one, dim, len(devices)) for one in _tensors_in(value)), default=len(devices))
    return [_part(value, number, devices, dim) for number in range(min(count, len(devices)))]


def _tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [one for item in items for one in _tensors_in(item)]


def _length(tensor: Tensor, dim: int, devices: int) -> int:
    check_dims("DataParallel", "input", tensor, range(1, 65), "pass a number, or a tensor with a batch")
    return len(tensor.chunk(devices, dim))


def _part(value: Any, number: int, devices: list[Device], dim: int) -> Any:
    if isinstance(value, Tensor):
        return value.chunk(len(devices), dim)[number].to(devices[number])
    if isinstance(value, Mapping):
        return {key: _part(item, number, devices, dim) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_part(item, number, devices, dim) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def gather(outputs: Sequence[Any], target_device: AnyDevice | None, dim: int = 0) -> Any:
    """The results of all devices as a single one, tensors joined along *dim*; 0-d ones become a vector.

    >>> import polyad
    >>> gather([polyad.ones(1), polyad.zeros(1)], "cpu")
    tensor([1., 0.])
    """
    results, first = outputs, outputs[0]
    if isinstance(first, Tensor):
        moved = [one if target_device is None else one.to(_device(target_device)) for one in results]
        return cat([one.reshape(1) for one in moved] if first.ndim == 0 else moved, dim)
    if isinstance(first, Mapping):
        return type(first)((key, gather([one[key] for one in results], target_device, dim)) for key in first)  # type: ignore[call-arg]
    if isinstance(first, (list, tuple)):
        joined = [gather(list(each), target_device, dim) for each in zip(*results)]
        return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)
    return first
