"""Names that programs ask of PyTorch's compiled module ``torch._C``: switches of ``__torch_function__`` and
``__torch_dispatch__``, and names of what PyTorch dispatches by.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Iterable

from .base.state import state
from .compatibility.absent import lacking
from .dispatch.overriding import (
    disabled as _disabled_torch_function_impl,
    dispatch_disabled as _disabled_torch_dispatch_impl,
    dispatch_off as _DisableTorchDispatch,
    functions_off as DisableTorchFunctionSubclass,
)
from .errors import NotSupported
from .tensor import Tensor
from .tensor.tensor import has_data
from .transforms.wrapped import Transform

__path__: list[str] = []  # modules of aliases are found in it: see `polyad.compatibility.aliases`
_TensorMeta = type(Tensor)

__all__ = [
    "_AutoDispatchBelowAutograd",
    "_ExcludeDispatchKeyGuard",
    "_get_tracing_state",
    "DispatchKey",
    "DispatchKeySet",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "_DisableTorchDispatch",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
]


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """While it is entered, neither objects nor modes are asked for ``__torch_function__``."""

    level = 2


class DispatchKey(enum.Enum):
    """What PyTorch chooses kernels by. Libraries name these; polyad's ops have no such table."""

    CPU = "CPU"
    CUDA = "CUDA"
    Meta = "Meta"
    AutogradCPU = "AutogradCPU"
    AutogradCUDA = "AutogradCUDA"
    AutocastCPU = "AutocastCPU"
    AutocastCUDA = "AutocastCUDA"
    AutocastXPU = "AutocastXPU"
    Autograd = "Autograd"
    CompositeExplicitAutograd = "CompositeExplicitAutograd"
    CompositeImplicitAutograd = "CompositeImplicitAutograd"


class DispatchKeySet:
    """A set of such names.

    >>> from polyad._C import DispatchKey, DispatchKeySet
    >>> (DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.CUDA)).has(DispatchKey.CUDA)
    True
    """

    def __init__(self, k: DispatchKey | Iterable[DispatchKey]) -> None:
        self._keys = frozenset((k,) if isinstance(k, DispatchKey) else k)

    def has(self, k: DispatchKey) -> bool:
        """Whether *k* is in it."""
        return k in self._keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys | other._keys)


class _ExcludeDispatchKeyGuard:
    """While it is entered, `polyad.autocast` is off for the devices of *keys*, "AutocastCPU" and its like.

    Raises NotImplementedError for other keys.
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        self._devices = {key.name.removeprefix("Autocast").lower() for key in keys._keys}
        other = [key.name for key in keys._keys if not key.name.startswith("Autocast")]
        if other:
            raise NotSupported(
                f"_ExcludeDispatchKeyGuard: kernels are not chosen by {other[0]}", fix="exclude Autocast keys"
            )

    def __enter__(self) -> None:
        self._before = state.autocast
        left = {kind: setting for kind, setting in (self._before or {}).items() if kind not in self._devices}
        state.autocast = type(self._before)(left) if left and self._before is not None else None

    def __exit__(self, *exception: object) -> None:
        state.autocast = self._before


class _AutoDispatchBelowAutograd:
    """While it is entered, nothing is recorded, and a custom op passes its kernel for "Autograd" over: what that
    kernel enters to call the op itself.
    """

    def __enter__(self) -> None:
        self._before = state.below_autograd, state.grad_enabled
        state.below_autograd, state.grad_enabled = True, False

    def __exit__(self, *exception: object) -> None:
        state.below_autograd, state.grad_enabled = self._before


def _get_tracing_state() -> object | None:
    """Something while `polyad.jit.trace` records this thread, None if it does not."""
    jit = importlib.import_module("polyad.jit")
    return jit if jit.is_tracing() else None


def _log_api_usage_once(event: str) -> None:
    """What PyTorch's own libraries call to be counted: nothing is counted."""


def _are_functorch_transforms_active() -> bool:
    """Whether a function runs whose tensors are not what they seem: under `polyad.func.vmap`, ``jvp``, ``linearize``.
    Under ``grad`` and ``vjp`` they are plain tensors.

    >>> import polyad
    >>> from polyad._C import _are_functorch_transforms_active as active
    >>> polyad.func.vmap(lambda x: x + active())(polyad.zeros(2)), active()
    (tensor([1., 1.]), False)
    """
    return any(isinstance(mode, Transform) for mode in state.modes)


def _is_fake(x: object) -> bool:
    """Whether *x* is a tensor without data, as those of device "meta" are."""
    return isinstance(x, Tensor) and not has_data(x)


__getattr__ = lacking(__name__)
