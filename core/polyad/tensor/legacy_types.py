"""PyTorch's older names.

``FloatTensor`` gives tensors of float32 on the cpu and stands for them in ``isinstance``, ``cuda.FloatTensor`` for
those on a cuda device; a ``Variable`` is a tensor.
"""

from __future__ import annotations

from typing import Any

from ..base.dtypes import (
    FLOATING,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from ..base.shapes_and_strides import Size
from ..base.state import warn_user
from ..devices import registry
from ..errors import ArgumentTypeError, DeviceError, safe_repr
from . import Tensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "TensorType",
    "Variable",
    "set_default_tensor_type",
    "typename",
    "types_on",
]


class TensorType(type):
    """The class of the types below: their instances are tensors of a dtype on a device type."""

    dtype: DType
    device_type: str
    is_cuda: bool

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        """A type; TypeError for a class that is derived from one, since its instances would not be of it."""
        if bases:
            raise ArgumentTypeError(
                f"{name}: {bases[0].__name__} cannot be a base class", fix="derive the class from polyad.Tensor"
            )
        return super().__new__(cls, name, bases, members)

    def __call__(cls, *data: Any, size: Any = None, device: Any = None) -> Tensor:
        """A tensor of data, or zeros of a size, in the type's dtype and on its device; as ``Tensor(...)``."""
        where = registry.resolve_device(cls.device_type if device is None else device)
        if where.type != cls.device_type:
            raise DeviceError(
                f"{cls.__name__}: {cls.__module__}.{cls.__name__} is on {cls.device_type!r}, not on {where}",
                fix=f"use polyad.tensor(data, dtype=polyad.{cls.dtype.name}, device={str(where)!r})",
            )
        given = data if size is None else (Size(size),)
        if len(given) == 1 and isinstance(given[0], Tensor) and given[0].device.type != cls.device_type:
            raise ArgumentTypeError(
                f"{cls.__name__}: it cannot show a tensor that is on {given[0].device}",
                operands={"data": given[0]},
                fix=f"convert it: data.to({cls.device_type!r}, polyad.{cls.dtype.name})",
            )
        return Tensor._from_sizes_or_data(cls.__name__, given, cls.dtype, where)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def types_on(device_type: str) -> dict[str, Any]:
    """The tensor types of a device type by name, for the module ``polyad`` (the cpu's) or ``polyad.<device type>``."""
    module = "polyad" if device_type == "cpu" else f"polyad.{device_type}"
    found = {}
    for name, dtype in _DTYPES.items():
        doc = f"Tensors of {dtype.name}: ``{name}([1, 2])`` holds data, ``{name}(2, 3)`` is zeros of that size."
        found[name] = TensorType(
            name,
            (),
            {
                "dtype": dtype,
                "device_type": device_type,
                "is_cuda": device_type == "cuda",
                "__doc__": doc,
                "__module__": module,
            },
        )
    return found


_DTYPES = {
    "BFloat16Tensor": bfloat16,
    "BoolTensor": bool_,
    "ByteTensor": uint8,
    "CharTensor": int8,
    "DoubleTensor": float64,
    "FloatTensor": float32,
    "HalfTensor": float16,
    "IntTensor": int32,
    "LongTensor": int64,
    "ShortTensor": int16,
}
_ON_CPU = types_on("cpu")
BFloat16Tensor: Any = _ON_CPU["BFloat16Tensor"]
BoolTensor: Any = _ON_CPU["BoolTensor"]
ByteTensor: Any = _ON_CPU["ByteTensor"]
CharTensor: Any = _ON_CPU["CharTensor"]
DoubleTensor: Any = _ON_CPU["DoubleTensor"]
FloatTensor: Any = _ON_CPU["FloatTensor"]
HalfTensor: Any = _ON_CPU["HalfTensor"]
IntTensor: Any = _ON_CPU["IntTensor"]
LongTensor: Any = _ON_CPU["LongTensor"]
ShortTensor: Any = _ON_CPU["ShortTensor"]


class _VariableType(type):
    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool | None = None) -> Tensor:
        if not isinstance(data, Tensor):
            raise ArgumentTypeError(
                f"Variable: data must be a tensor, not {type(data).__name__}",
                operands={"data": data},
                fix="pass polyad.tensor(...)",
            )
        if volatile is not None:
            warn_user("Variable: volatile does nothing; use polyad.no_grad()", UserWarning)
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """What a tensor with a gradient was before tensors had any: gives a tensor over the memory of *data*.

    >>> import polyad
    >>> from polyad.autograd import Variable
    >>> Variable(polyad.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """


def set_default_tensor_type(t: Any) -> None:
    """Make a type's dtype the default dtype: ``set_default_tensor_type(polyad.DoubleTensor)``, or the type's name; and
    its device the default device, if that is not the cpu. A type of the cpu takes such a default device back.

    Deprecated, as in PyTorch: use `polyad.set_default_dtype` and `polyad.set_default_device`. Raises TypeError for
    anything that is no floating type, RuntimeError where there is no such device.
    """
    found = t
    if isinstance(t, str):
        *modules, name = t.split(".")
        found = types_on((*modules[1:], "cpu")[0]).get(name)
    if not isinstance(found, TensorType) or found.dtype.category != FLOATING:
        raise ArgumentTypeError(
            f"set_default_tensor_type: {safe_repr(t)} is no floating point type",
            fix="use polyad.set_default_dtype(dtype)",
        )
    warn_user(
        "set_default_tensor_type: deprecated; use set_default_dtype(dtype) and set_default_device(device)", UserWarning
    )
    if found.device_type != "cpu":
        registry.set_default_device(found.device_type)
        registry.of_older_types = registry.get_default_device()
    elif registry.get_default_device() == registry.of_older_types:
        registry.set_default_device("cpu")
        registry.of_older_types = None
    set_default_dtype(found.dtype)


def typename(obj: Any) -> str:
    """The type of a tensor as ``Tensor.type()`` names it, of anything else the name of its class.

    >>> import polyad
    >>> polyad.typename(polyad.ones(1)), polyad.typename(3)
    ('polyad.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    module = getattr(obj, "__module__", "") or ""
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    if named is not obj:
        module = getattr(named, "__module__", "") or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"
