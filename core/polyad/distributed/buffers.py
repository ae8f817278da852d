"""What an engine works on: contiguous memory of one dimension on a device that it reaches, for any tensors of users.

A tensor that is so is handed on as it is. Any other is copied, through the host if the engine does not reach its device
(`staged` counts these bytes), and what it receives is copied back when the operation has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.graph import increment_version
from ..base.dtypes import DType
from ..errors import DTypeError, NoData, ShapeError, wrong_type
from ..functions import empty
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from .groups import ProcessGroup

__all__ = ["Outgoing", "Receiving", "check_alike", "check_count", "check_tensor", "check_tensors", "staged_bytes"]

_staged = {"bytes": 0}


def staged_bytes() -> int:
    """How many bytes went through the host because an engine does not reach their device, since the process began."""
    return _staged["bytes"]


def check_tensors(function: str, name: str, tensors: Any) -> list[Tensor]:
    """*tensors* as a list. Raises TypeError unless all are tensors with data."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence):
        raise wrong_type(function, name, tensors, "a list of tensors")
    for tensor in tensors:
        check_tensor(function, name, tensor)
    return list(tensors)


def check_tensor(function: str, name: str, tensor: Any) -> None:
    """Raise unless *tensor* is a tensor with dense data."""
    if not isinstance(tensor, Tensor):
        raise wrong_type(function, name, tensor, "a tensor")
    if tensor.device.type == "meta":
        raise NoData(f"{function}: {name} has no data to send", fix="make it on another device")


def check_alike(function: str, **groups: Sequence[Tensor]) -> None:
    """Raise unless all tensors have one dtype."""
    dtypes = {tensor.dtype for tensors in groups.values() for tensor in tensors}
    if len(dtypes) > 1:
        raise DTypeError(
            f"{function}: tensors of one operation have one dtype, not {' and '.join(sorted(map(str, dtypes)))}",
            operands={name: tensors[0] for name, tensors in groups.items() if tensors},
            fix="convert them by to()",
        )


def check_count(function: str, name: str, tensor: Tensor, count: int, rule: str) -> None:
    """Raise unless *tensor* has *count* elements."""
    if tensor.numel() != count:
        raise ShapeError(
            f"{function}: {name} has {tensor.numel()} elements, and must have {count}: {rule}",
            operands={name: tensor},
            fix=f"make {name} with {count} elements",
        )


def _reached(group: ProcessGroup, tensor: Tensor) -> bool:
    return tensor.device.type in group.engine.devices


def _fresh(group: ProcessGroup, count: int, dtype: DType, like: Tensor) -> Tensor:
    """Memory that the engine reaches; on the device of *like*, if that is one."""
    device = like.device if _reached(group, like) else "cpu"
    if not _reached(group, like):
        _staged["bytes"] += count * dtype.itemsize
    return empty(count, dtype=dtype, device=device)


def _is_contiguous_here(group: ProcessGroup, tensor: Tensor) -> bool:
    return _reached(group, tensor) and tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


class Outgoing:
    """What a process sends: *tensors* one after the other, as `memory`."""

    def __init__(self, group: ProcessGroup, tensors: Sequence[Tensor]) -> None:
        with no_grad():
            if len(tensors) == 1 and _is_contiguous_here(group, tensors[0]):
                self.memory = tensors[0].detach().view(-1)
                return
            first = tensors[0]
            self.memory = _fresh(group, sum(tensor.numel() for tensor in tensors), first.dtype, first)
            begin = 0
            for tensor in tensors:
                end = begin + tensor.numel()
                self.memory[begin:end].copy_(tensor.detach().reshape(-1))
                begin = end


class Receiving:
    """What a process receives into *tensors*, one after the other, as `memory`; with *sends* their elements are what it
    sends, too.
    """

    def __init__(self, group: ProcessGroup, tensors: Sequence[Tensor], sends: bool = False) -> None:
        self._tensors = list(tensors)
        self._direct = len(tensors) == 1 and _is_contiguous_here(group, tensors[0])
        if self._direct or sends:
            self.memory = Outgoing(group, tensors).memory
        else:
            self.memory = _fresh(group, sum(tensor.numel() for tensor in tensors), tensors[0].dtype, tensors[0])

    def finish(self) -> None:
        """Put what came where the caller wants it."""
        if self._direct:
            increment_version(self._tensors[0])
            return
        with no_grad():
            begin = 0
            for tensor in self._tensors:
                end = begin + tensor.numel()
                tensor.detach().copy_(self.memory[begin:end].view(tensor.shape))
                begin = end
