"""What `polyad.autocast` does to a call: its tensors are cast as the function's policy says, and it is called again.

Which function has which policy is data (`polyad.ops.autocast`). While the function works autocast is off: what happens
inside it happens in its dtype.

Nothing of this costs anything before the first `autocast`: only then are the functions that have a policy generated
anew, with a line that looks whether it is on. Functions without a policy never look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..backend.interface import TensorType
from ..dtypes import FLOATING, DType, bfloat16, float16, float32, float64
from ..errors import DTypeError
from ..history.node import Leaf
from ..state import state
from ..tensor import Tensor

LOWER, FLOAT32, WIDEST, REFUSED = "lower", "float32", "widest", "refused"
AS_GIVEN = "as given"
"""The policies: cast to autocast's dtype; to float32; to the widest dtype among the arguments; refused, since the
result would overflow; left alone, which a backend may say of a function that has another policy elsewhere."""

_callers: dict[str, list[Callable[[], Any]]] = {}
"""By name, what generates the functions anew that do not look."""

_looking: set[str] = set()


def looks(name: str, again: Callable[[], Any]) -> bool:
    """Whether the function *name* looks if autocast is on; if not, *again* is called when it is to."""
    if name in _looking:
        return True
    _callers.setdefault(name, []).append(again)
    return False


def begin(names: Iterable[str]) -> None:
    """Let the functions *names* look from now on."""
    new = set(names) - _looking
    _looking.update(new)
    for name in new:
        for again in _callers.pop(name, ()):
            again()


class Setting:
    """What autocast does on a device type: the dtype, the functions' policies, and casts of parameters that are kept.

    Attributes:
        cache: by a parameter's identity: the parameter, its version, and the cast.
    """

    __slots__ = ("cache", "dtype", "policies")

    def __init__(self, dtype: DType, policies: Mapping[str, str], cache: bool) -> None:
        self.dtype = dtype
        self.policies = policies
        self.cache: dict[int, tuple[Tensor, int, Tensor]] | None = {} if cache else None

    def lower(self, tensor: Tensor) -> Tensor:
        """*tensor* in the setting's dtype."""
        cache = self.cache
        if cache is None or tensor._node.__class__ is not Leaf or not state.grad_enabled or state.modes:
            return tensor.to(self.dtype)
        version = 0 if tensor._storage is None else tensor._storage.version
        known = cache.get(id(tensor))
        if known is None or known[1] != version:
            known = cache[id(tensor)] = (tensor, version, tensor.to(self.dtype))
        return known[2]


def cast_call(call: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """``call(*args, **kwargs)``, with tensors as the policy of function *name* says, and autocast off."""
    settings: Mapping[str, Setting] = state.autocast
    state.autocast = None
    try:
        tensors = [*_floating(args), *_floating(kwargs.values())]
        setting = settings.get(tensors[0]._type.device.type) if tensors else None
        policy = None if setting is None else setting.policies.get(name, AS_GIVEN)
        if (
            setting is not None
            and policy != AS_GIVEN
            and not any(isinstance(value, DType) for value in (*args, *kwargs.values()))
        ):
            change = _change(setting, policy, tensors, name)
            args = tuple([_changed(value, change) for value in args])
            kwargs = {key: _changed(value, change) for key, value in kwargs.items()}
        return call(*args, **kwargs)
    finally:
        state.autocast = settings


def _change(setting: Setting, policy: str | None, tensors: list[Tensor], name: str) -> Callable[[Tensor], Tensor]:
    if policy == LOWER:
        return lambda tensor: tensor if tensor._type.dtype in (setting.dtype, float64) else setting.lower(tensor)
    if policy == REFUSED:
        if any(tensor._type.dtype in (float16, bfloat16) for tensor in tensors):
            raise DTypeError(
                f"{name}: under autocast its results would be infinite in float16",
                operands={"input": tensors[0]},
                fix="use binary_cross_entropy_with_logits, which takes what comes before the sigmoid, or call it under "
                "polyad.autocast(..., enabled=False) with float32",
            )
        return _same
    wanted = float32 if policy == FLOAT32 else max((one._type.dtype for one in tensors), key=_width)
    return lambda tensor: tensor.to(wanted) if _width(tensor._type.dtype) < _width(wanted) else tensor


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _width(dtype: DType) -> int:
    # float16 and bfloat16 have no wider one; together they need float32, which promotion gives them afterwards.
    return dtype.itemsize


def _floating(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            type_: TensorType = value._type
            if type_.dtype.category == FLOATING:
                found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _floating(value)
    return found


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value) if value._type.dtype.category == FLOATING else value
    if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, list, tuple)) for item in value):
        changed = [_changed(item, change) for item in value]
        return changed if isinstance(value, list) else tuple(changed)
    return value


def without_casts(call: Callable[..., Any]) -> Callable[..., Any]:
    """*call* with autocast off: a form that writes takes tensors as they are."""

    def uncast(*args: Any, **kwargs: Any) -> Any:
        settings = state.autocast
        if settings is None:
            return call(*args, **kwargs)
        state.autocast = None
        try:
            return call(*args, **kwargs)
        finally:
            state.autocast = settings

    return uncast
