"""Methods that write what a Python function makes of each element; slow, and for the host's memory alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dispatch.op import method
from ...errors import DeviceError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import tensor
from ..shaping.reshape import broadcast_tensors


def _written(op: str, self: Tensor, function: Callable[..., Any], *others: Tensor) -> Tensor:
    for name, operand in {"self": self, "tensor": others[0] if others else self}.items():
        if check_tensor(operand, op, name).device.type != "cpu":
            raise DeviceError(
                f"{op}: it is for tensors on cpu", operands={name: operand}, fix="use polyad's own functions"
            )
    first, *expanded = broadcast_tensors(self.detach(), *[other.detach() for other in others])
    if first.shape != self.shape:
        raise ShapeError(
            f"{op}: the tensors broadcast to {tuple(first.shape)}, not to the shape of self {tuple(self.shape)}",
            operands={"self": self},
            fix="reduce or reshape the others",
        )
    columns = [one.reshape(-1).tolist() for one in (self.detach(), *expanded)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    return self.copy_(tensor(values, dtype=self.dtype).reshape(self.shape))


@method()
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Write ``callable(element)`` to each element. On cpu alone, and slow: for what no function of polyad does.

    >>> import polyad
    >>> polyad.tensor([1.0, 2.0]).apply_(lambda element: element + 1)
    tensor([2., 3.])
    """
    return _written("apply_", self, callable)


@method()
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Write ``callable(element, other)`` for each element and that of *tensor*, which broadcasts. As `apply_`.

    >>> import polyad
    >>> polyad.tensor([1.0, 2.0]).map_(polyad.tensor([3.0, 4.0]), max)
    tensor([3., 4.])
    """
    return _written("map_", self, callable, tensor)


@method()
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Write ``callable(element, of_x, of_y)`` for each element and those of two tensors. As `map_`.

    >>> import polyad
    >>> polyad.zeros(2).map2_(polyad.tensor([1.0, 5.0]), polyad.tensor([3.0, 4.0]), max)
    tensor([3., 5.])
    """
    return _written("map2_", self, callable, x, y)
