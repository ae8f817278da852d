"""Parameter and Buffer: tensors that a module registers when they are assigned to it.

Both are tensors and nothing else: what makes them special is that `Module.__setattr__` sees their type. Results of
operations on them are plain tensors. A Parameter never has a history: it is a leaf, so that an optimizer can change
it.
"""

from __future__ import annotations

from typing import Any

from ..device import Device
from ..dtypes import DType
from ..errors import ArgumentTypeError
from ..ops.creation.factories import empty
from ..tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor, keeps_class=False):
    """A tensor to be trained: assigned to a module's attribute, it shows up in ``parameters()`` and ``state_dict()``.

    Args:
        data: the tensor; memory is shared, its history is not.
        requires_grad: whether backward computes its gradient.

    Raises:
        TypeError: *data* is no tensor.
        RuntimeError: a gradient is asked for and *data* is neither floating point nor complex.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Parameter(polyad.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = empty(0)
        out: Parameter = _tensor("Parameter", data)._alias(cls)  # type: ignore[assignment]
        out.requires_grad = requires_grad
        return out

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor, keeps_class=False):
    """A tensor that is state but is not trained: assigned to a module's attribute, it shows up in ``buffers()``.

    Args:
        data: the tensor; memory is shared, its history is not.
        persistent: whether ``state_dict()`` includes it.

    Raises:
        TypeError: *data* is no tensor.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.Module()
    >>> layer.mean = nn.Buffer(polyad.zeros(2))
    >>> list(layer.state_dict())
    ['mean']
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = empty(0)
        out: Buffer = _tensor("Buffer", data)._alias(cls)  # type: ignore[assignment]
        out.persistent = persistent
        return out


def uninitialized(shape: tuple[int, ...], device: Device | str | None, dtype: DType | None) -> Parameter:
    """A parameter whose values are to be set by ``reset_parameters``."""
    return Parameter(empty(shape, device=device, dtype=dtype))


def _tensor(name: str, data: Any) -> Tensor:
    if not isinstance(data, Tensor):
        raise ArgumentTypeError(
            f"{name}: data must be a Tensor, not {type(data).__name__}",
            operands={"data": data},
            fix=f"make it one: {name}(polyad.tensor(...))",
        )
    return data
