"""Parameter and Buffer: tensors that a module registers when they are assigned to it.

Both are tensors and nothing else: what makes them special is that `Module.__setattr__` sees their type. Results of
operations on them are plain tensors. A Parameter never has a history: it is a leaf, so that an optimizer can change
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from ..arguments import check_type
from ..base.device import Device
from ..base.dtypes import DType
from ..compatibility.absent import lacking
from ..dispatch.overriding import SEEN, disabled
from ..errors import AutogradError, PolyadError
from ..ops.creation.factories import empty
from ..tensor import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]

__getattr__ = lacking(__name__)


class ParameterMeta(type):
    """The class of `Parameter`: an object of a user's class that was made a parameter is an instance of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter
            and type(instance) in SEEN
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=ParameterMeta):
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

    __torch_function__ = disabled  # what is computed with it is a plain Tensor
    _copies_grad = False
    """A model's copy starts without gradients: the first backward would add to them."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = empty(0)
        if type(data) in SEEN and isinstance(data, Tensor):
            return _of_users_class(data, requires_grad)  # type: ignore[no-any-return]
        out: Parameter = _tensor("Parameter", data)._alias(cls)  # type: ignore[assignment]
        out.requires_grad = requires_grad
        return out

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


def _of_users_class(data: Tensor, requires_grad: bool) -> Any:
    """A parameter that is an object of the class of *data*, which the user derived from Tensor."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise AutogradError(
            f"Parameter: detach() of a {type(data).__name__} gives a {type(made).__name__}",
            operands={"data": data},
            fix="let its __torch_function__ or __torch_dispatch__ give an object of the class for detach",
        )
    made._is_param = True  # type: ignore[attr-defined]
    return made


class Buffer(Tensor):
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

    __torch_function__ = disabled
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = empty(0)
        out: Buffer = _tensor("Buffer", data)._alias(cls)  # type: ignore[assignment]
        out.persistent = persistent
        return out


class UninitializedError(PolyadError, RuntimeError, ValueError):
    """A parameter or buffer was used before its shape was known."""


class _Uninitialized:
    """A tensor whose shape is not known yet: it has a device and a dtype, which can be changed, and nothing else.

    Every use but that reads the array behind it, which is refused here.
    """

    _becomes: type[Tensor]

    def __getattribute__(self, name: str) -> Any:
        if name in ("_array", "shape"):
            raise UninitializedError(
                f"{type(self).__name__}: its shape is not known yet",
                fix="call the module it belongs to with an input first, or materialize(shape)",
            )
        return super().__getattribute__(name)

    def _as_ordinary(self, change: Callable[[Any], None]) -> None:
        """Let *change* see it as the tensor without elements that it is."""
        own: Any = self
        lazy = own.__class__
        own.__class__ = self._becomes
        try:
            change(own)
        finally:
            own.__class__ = lazy

    @property
    def data(self) -> Tensor:
        """A tensor without elements; assigning one changes device and dtype."""
        return empty(0, device=self.device, dtype=self.dtype)

    @data.setter
    def data(self, value: Tensor) -> None:
        self._as_ordinary(lambda own: setattr(own, "data", value))

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set whether backward will compute its gradient, and return it."""
        self._as_ordinary(lambda own: own.requires_grad_(requires_grad))
        return self

    def materialize(self, shape: Any, device: Device | str | None = None, dtype: DType | None = None) -> None:
        """Give it memory, whose values are not set, and make it an ordinary parameter or buffer."""
        own: Any = self
        own.data = empty(shape, device=device or own.device, dtype=dtype or own.dtype)
        own.__class__ = self._becomes

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """An empty tensor with another dtype or device, for `Module.to`."""
        return self.data.to(*args, **kwargs)

    def detach(self) -> Any:
        """Itself: there is no memory to share."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape follows from the first input of its module; see `polyad.nn.modules.lazy`.

    Raises:
        RuntimeError: when it is used before ``materialize(shape)``.

    >>> from polyad import nn
    >>> weight = nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', polyad.Size([2, 3]))
    """

    _becomes = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device | str | None = None, dtype: DType | None = None
    ) -> UninitializedParameter:
        out: Any = Parameter(empty(0, device=device, dtype=dtype), requires_grad)
        out.__class__ = cls
        made: UninitializedParameter = out
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        copied: UninitializedParameter = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.device, self.dtype)


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape follows from the first input of its module; see `UninitializedParameter`."""

    _becomes = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        out: Any = Buffer(empty(0, device=device, dtype=dtype), persistent=persistent)
        out.__class__ = cls
        made: UninitializedBuffer = out
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedBuffer:
        if id(self) not in memo:
            memo[id(self)] = type(self)(False, self.device, self.dtype, self.persistent)
        copied: UninitializedBuffer = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (False, self.device, self.dtype, self.persistent)


def is_lazy(param: Any) -> TypeGuard[UninitializedParameter | UninitializedBuffer]:
    """Whether *param* is a parameter or buffer whose shape is not known yet."""
    return isinstance(param, _Uninitialized)


def uninitialized(shape: tuple[int, ...], device: Device | str | None, dtype: DType | None) -> Parameter:
    """A parameter whose values are to be set by ``reset_parameters``."""
    return Parameter(empty(shape, device=device, dtype=dtype))


def _tensor(name: str, data: Any) -> Tensor:
    if not isinstance(data, Tensor):
        check_type(name, "data", data, Tensor, "a Tensor")
    checked: Tensor = data
    return checked
