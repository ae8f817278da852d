"""Names that programs ask of PyTorch's compiled module ``torch._C``: switches of ``__torch_function__`` and
``__torch_dispatch__``.
"""

from __future__ import annotations

from .dispatch.overriding import (
    disabled as _disabled_torch_function_impl,
    dispatch_disabled as _disabled_torch_dispatch_impl,
    dispatch_off as _DisableTorchDispatch,
    functions_off as DisableTorchFunctionSubclass,
)

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "_DisableTorchDispatch",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
]


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """While it is entered, neither objects nor modes are asked for ``__torch_function__``."""

    level = 2
