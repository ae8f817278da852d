"""What PyTorch has for classes and modes with ``__torch_dispatch__``; `polyad.aten.dispatching` has the modes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..aten.dispatching import TorchDispatchMode
from ..base.state import state
from ..errors import ArgumentTypeError
from ..tensor import Tensor

__all__ = [
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether *t* is of a class derived from Tensor that says what its objects are made of."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class is derived from Tensor and has ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[[str, Tensor], Tensor], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """An object of the class of *t*, made of what ``callback(name, tensor)`` gives for each tensor that *t* is made of.

    Raises TypeError if that class does not say what its objects are made of.
    """
    if not is_traceable_wrapper_subclass(t):
        raise ArgumentTypeError(
            f"transform_subclass: {type(t).__name__} has no __tensor_flatten__ and __tensor_unflatten__",
            fix="define them: the names of its tensors with what else it knows, and an object of these",
        )
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    size = t.shape if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(parts, context, size, stride)


def return_and_correct_aliasing(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
    """What ``__torch_dispatch__`` of a class returns for *out*: of an op that writes its first argument, else *out*."""
    return args[0] if func._schema.is_mutable else out


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    return next((mode for mode in reversed(state.modes) if isinstance(mode, TorchDispatchMode)), None)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """While it is entered, the user's modes are set aside."""
    before = state.modes
    mine = [mode for mode in before if isinstance(mode, TorchDispatchMode)]
    state.modes = tuple([mode for mode in before if not isinstance(mode, TorchDispatchMode)]) or state.no_modes
    try:
        yield mine
    finally:
        state.modes = before
