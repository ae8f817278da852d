"""autocast: within it, functions compute in the dtype that suits them.

Which dtype that is, `autocast_policies` says; what a policy does to a call is in `polyad.dispatch.autocast`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from ..arguments import check_choice, check_type
from ..base.dtypes import DType, bfloat16, float16
from ..base.state import state, warn_user
from ..devices import registry
from ..dispatch.autocast import (
    Setting,
    Settings,
    begin_checking,
    forget_plans,
)
from ..errors import ArgumentError, OptionError
from ..tensor import Tensor
from .autocast_policies import KINDS, POLICIES

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_dtypes: dict[str, DType] = {"cpu": bfloat16}


class autocast:
    """Within it, functions compute in the dtype that suits them: products in *dtype*, sums and losses in float32.

    A context manager and a decorator. It is meant for the forward pass and the loss; backward goes outside of it, and
    computes in the dtypes that forward had. `polyad.amp.autocast_policies` says which function computes in which dtype;
    forms that write (``addmm_``, ``out=``) take their tensors as they are.

    Args:
        device_type: on tensors of these devices: "cpu", "cuda", "opencl", ...
        dtype: bfloat16 or float16; by default bfloat16 on the cpu and float16 elsewhere.
        enabled: False switches it off within.
        cache_enabled: keep the casts of parameters until the outermost context is left.

    Raises:
        ValueError: *device_type* is no string.
        RuntimeError: there is no such device type.

    Another dtype than the two is warned of, and nothing is cast.

    >>> import polyad
    >>> x, w = polyad.ones(2, 3), polyad.ones(3, 2)
    >>> with polyad.autocast("cpu"):
    ...     y = x @ w
    ...     loss = polyad.nn.functional.mse_loss(y, polyad.zeros(2, 2))
    ...     with polyad.autocast("cpu", enabled=False):
    ...         z = x @ w
    >>> y.dtype, loss.dtype, z.dtype
    (polyad.bfloat16, polyad.float32, polyad.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        check_type("autocast", "device_type", device_type, str, "a string such as 'cpu'", ArgumentError)
        if not is_autocast_available(device_type):
            raise OptionError(
                f"autocast: there is no device type {device_type!r}",
                fix="pass one of " + ", ".join(map(repr, registry.names())),
            )
        check_type("autocast", "dtype", dtype, (DType, type(None)), "a dtype")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = bool(enabled)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else bool(cache_enabled)
        self._before: list[tuple[Any, bool]] = []
        if self._enabled and self.fast_dtype not in (bfloat16, float16):
            warn_user(
                f"autocast: {self.fast_dtype.name} is no dtype to compute in; nothing is cast. "
                "The dtypes are bfloat16 and float16",
                UserWarning,
            )
            self._enabled = False

    def __enter__(self) -> autocast:
        before: Mapping[str, Setting] | None = state.autocast
        self._before.append((before, state.autocast_cache))
        settings = {name: setting for name, setting in (before or {}).items() if name != self.device}
        if self._enabled:
            policies = _policies(self.device)
            setting = Setting(self.fast_dtype, policies, self._cache_enabled)
            known = None if before is None else before.get(self.device)
            if known is not None and known.dtype is setting.dtype and setting.cache is not None:
                setting.cache = known.cache if known.cache is not None else setting.cache
            settings[self.device] = setting
        state.autocast = Settings(settings) if settings else None
        state.autocast_cache = self._cache_enabled
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.autocast, state.autocast_cache = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call


@functools.cache
def _policies(device_type: str) -> Mapping[str, str]:
    """The table's policies for the devices, and what their backend says besides; their functions check from now on."""
    policies = dict(POLICIES.get(device_type, POLICIES[""]))
    try:
        capabilities = registry.get(device_type).capabilities(registry.resolve_device(device_type))
    except Exception:  # a type without devices: whatever is said of them is said of nothing
        begin_checking(policies)
        return policies
    for name, policy in capabilities.autocast.items():
        check_choice(f"backend {device_type}, {name}", "policy", policy, KINDS)
    policies |= capabilities.autocast
    begin_checking(policies)
    return policies


registry.on_forget(_policies.cache_clear)
registry.on_forget(forget_plans)


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` takes *device_type*: "cuda", or that of a backend that is installed.

    >>> import polyad
    >>> polyad.amp.is_autocast_available("cpu"), polyad.amp.is_autocast_available("abacus")
    (True, False)
    """
    check_type("is_autocast_available", "device_type", device_type, str, "a string such as 'cpu'")
    return device_type in ("cpu", "cuda") or device_type in registry.names()


def _check_device_type(op: str, device_type: Any) -> None:
    check_type(op, "device_type", device_type, str, 'the name of a device type, such as "cpu"')


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether `autocast` is on for tensors on *device_type*, by default for any device type but the cpu.

    >>> import polyad
    >>> with polyad.autocast("cpu"):
    ...     polyad.is_autocast_enabled("cpu"), polyad.is_autocast_enabled()
    (True, False)
    """
    settings = state.autocast
    if device_type is None:
        return settings is not None and any(name != "cpu" for name in settings)
    _check_device_type("is_autocast_enabled", device_type)
    return settings is not None and device_type in settings


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that `autocast` has on *device_type*: that of the context, or else the default.

    >>> import polyad
    >>> polyad.get_autocast_dtype("cpu")
    polyad.bfloat16
    """
    _check_device_type("get_autocast_dtype", device_type)
    settings = state.autocast
    if settings is not None and device_type in settings:
        dtype: DType = settings[device_type].dtype
        return dtype
    return _dtypes.get(device_type, float16)


def get_autocast_gpu_dtype() -> DType:
    """As ``get_autocast_dtype("cuda")``, PyTorch's older name."""
    return get_autocast_dtype("cuda")


def get_autocast_cpu_dtype() -> DType:
    """As ``get_autocast_dtype("cpu")``, PyTorch's older name."""
    return get_autocast_dtype("cpu")


def is_autocast_cpu_enabled() -> bool:
    """As ``is_autocast_enabled("cpu")``, PyTorch's older name."""
    return is_autocast_enabled("cpu")


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept until the outermost `autocast` is left.

    >>> import polyad
    >>> polyad.is_autocast_cache_enabled()
    True
    """
    return bool(state.autocast_cache)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """For the ``forward`` of an `autograd.Function`: run it under `autocast` as it is, or off, with cast tensors.

    Args:
        fwd: the method.
        device_type: of the tensors that are cast.
        cast_inputs: under autocast, cast floating tensors on these devices to it, and switch autocast off within.

    >>> import polyad
    >>> from polyad.amp import custom_bwd, custom_fwd
    >>> class Double(polyad.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu", cast_inputs=polyad.float32)
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> with polyad.autocast("cpu"):
    ...     Double.apply(polyad.ones(1, dtype=polyad.bfloat16)).dtype
    polyad.float32
    """
    _check_type("custom_fwd", device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        if cast_inputs is None:
            context._fwd_used_autocast = on
            return fwd(*args, **kwargs)
        context._fwd_used_autocast = False
        if not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            cast = [_cast(value, device_type, cast_inputs) for value in args]
            return fwd(*cast, **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """For the ``backward`` of an `autograd.Function` whose forward has `custom_fwd`: run it under the same `autocast`.

    >>> import polyad
    >>> decorate = polyad.amp.custom_bwd(device_type="cpu")
    """
    _check_type("custom_bwd", device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated


def _check_type(function: str, device_type: Any) -> None:
    check_type(function, "device_type", device_type, str, "a string such as 'cpu'", ArgumentError)


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype.itemsize < 8
        return value.to(dtype) if eligible else value
    if isinstance(value, dict):
        return {key: _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, device_type, dtype) for item in value)
    return value
