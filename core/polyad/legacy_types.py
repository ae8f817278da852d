"""PyTorch's older names.

``FloatTensor`` gives tensors of float32 and stands for them in ``isinstance``; a ``Variable`` is a tensor.
"""

from __future__ import annotations

from typing import Any

from .dtypes import (
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
from .errors import ArgumentTypeError, safe_repr
from .layout import Size
from .state import warn_user
from .tensor import Tensor

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
]


class TensorType(type):
    """The class of the types below: their instances are tensors of a dtype."""

    dtype: DType

    def __call__(cls, *data: Any, size: Any = None, device: Any = None) -> Tensor:
        """A tensor of data, or zeros of a size, in the type's dtype; as ``Tensor(...)``."""
        given = data if size is None else (Size(size),)
        return Tensor._from_sizes_or_data(cls.__name__, given, cls.dtype, device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'polyad.{cls.__name__}'>"


def _type(name: str, dtype: DType) -> Any:
    doc = f"Tensors of {dtype.name}: ``{name}([1, 2])`` holds data, ``{name}(2, 3)`` is zeros of that size."
    return TensorType(name, (), {"dtype": dtype, "is_cuda": False, "__doc__": doc, "__module__": "polyad"})


FloatTensor = _type("FloatTensor", float32)
DoubleTensor = _type("DoubleTensor", float64)
HalfTensor = _type("HalfTensor", float16)
BFloat16Tensor = _type("BFloat16Tensor", bfloat16)
ByteTensor = _type("ByteTensor", uint8)
CharTensor = _type("CharTensor", int8)
ShortTensor = _type("ShortTensor", int16)
IntTensor = _type("IntTensor", int32)
LongTensor = _type("LongTensor", int64)
BoolTensor = _type("BoolTensor", bool_)


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
    """Make a type's dtype the default dtype: ``set_default_tensor_type(polyad.DoubleTensor)``, or the type's name.

    Deprecated, as in PyTorch: use `polyad.set_default_dtype`. Raises TypeError for anything that is no floating type.
    """
    name = t.rpartition(".")[2] if isinstance(t, str) else None
    found = globals().get(name) if name else t
    if not isinstance(found, TensorType) or found.dtype.category != FLOATING:
        raise ArgumentTypeError(
            f"set_default_tensor_type: {safe_repr(t)} is no floating point type",
            fix="use polyad.set_default_dtype(dtype)",
        )
    warn_user("set_default_tensor_type: deprecated; use set_default_dtype(dtype)", UserWarning)
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
