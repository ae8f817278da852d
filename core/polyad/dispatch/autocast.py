"""What `polyad.autocast` does to a call: its tensors are cast as the function's policy says, and it is called again.

Which function has which policy is data (`polyad.ops.autocast`). While the function works autocast is off: what happens
inside it happens in its dtype.

Nothing of this costs anything before the first `autocast`: only then are the functions that have a policy generated
anew, with a line that looks whether it is on. Functions without a policy never look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..backend.interface import TensorType
from ..base.dtypes import FLOATING, DType, bfloat16, float16, float32, float64
from ..base.state import state
from ..errors import DTypeError
from ..history.node import Leaf
from ..tensor import Tensor
from .catalogue import OPS

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
            return _in(tensor, self.dtype)
        version = 0 if tensor._storage is None else tensor._storage.version
        known = cache.get(id(tensor))
        if known is None or known[1] != version:
            known = cache[id(tensor)] = (tensor, version, _in(tensor, self.dtype))
        return known[2]


def _in(tensor: Tensor, dtype: DType) -> Tensor:
    """*tensor*, which has another dtype, in *dtype*."""
    return OPS["cast"].call(tensor, dtype)  # type: ignore[no-any-return]


class Settings(dict[str, Setting]):
    """The settings by device type, while autocast is on.

    Attributes:
        plans: by a function's name and the types of its arguments, which of them are cast, and how; None if that
            depends on more than types. Contexts with equal settings share them.
    """

    __slots__ = ("plans",)

    def __init__(self, settings: Mapping[str, Setting]) -> None:
        super().__init__(settings)
        same = frozenset((name, setting.dtype, id(setting.policies)) for name, setting in settings.items())
        self.plans: dict[Any, Plan | None] = _plans.setdefault(same, {})


_plans: dict[Any, dict[Any, Plan | None]] = {}

forget_plans = _plans.clear
"""To be called when policies are not what they were."""


class Cast(NamedTuple):
    """What becomes of a call's tensors: those that `takes` accepts get *dtype*."""

    device_type: str
    lowers: bool
    dtype: DType

    def takes(self, tensor: Tensor) -> bool:
        """Whether *tensor* is cast. float16 and bfloat16 have no wider one; together they need float32, which
        promotion gives them afterwards.
        """
        dtype: DType = tensor._type.dtype
        if dtype.category != FLOATING:
            return False
        return dtype not in (self.dtype, float64) if self.lowers else dtype.itemsize < self.dtype.itemsize

    def of(self, tensor: Tensor, settings: Mapping[str, Setting]) -> Tensor:
        """*tensor* in the dtype."""
        return settings[self.device_type].lower(tensor) if self.lowers else _in(tensor, self.dtype)

    def within(self, value: Any, settings: Mapping[str, Setting]) -> Any:
        """*value* with the tensors in it cast, in lists and tuples too."""
        if isinstance(value, Tensor):
            return self.of(value, settings) if self.takes(value) else value
        if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, list, tuple)) for item in value):
            changed = [self.within(item, settings) for item in value]
            return changed if isinstance(value, list) else tuple(changed)
        return value


Plan: TypeAlias = "tuple[Cast | None, tuple[int, ...]]"
_AS_THEY_ARE: Plan = (None, ())


def cast_call(call: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """``call(*args, **kwargs)``, with tensors as the policy of function *name* says, and autocast off."""
    settings: Settings = state.autocast
    state.autocast = None
    try:
        if not kwargs:
            key = (name, *[arg._type if isinstance(arg, Tensor) else arg.__class__ for arg in args])
            try:
                plan = settings.plans[key]
            except KeyError:
                plan = settings.plans[key] = _plan(settings, name, args)
            if plan is not None:
                cast, places = plan
                if cast is None:
                    return call(*args)
                given = list(args)
                for place in places:
                    given[place] = cast.of(given[place], settings)
                return call(*given)
        cast = _cast(settings, name, (*args, *kwargs.values()))
        if cast is not None:
            args = tuple([cast.within(value, settings) for value in args])
            kwargs = {key: cast.within(value, settings) for key, value in kwargs.items()}
        return call(*args, **kwargs)
    finally:
        state.autocast = settings


def fits(settings: Settings, name: str, *args: Any) -> bool:
    """Whether *settings* are known to leave the arguments as they are. Never where modes see the call: what they do in
    its place is to happen with autocast off.
    """
    key = (name, *[arg._type if isinstance(arg, Tensor) else arg.__class__ for arg in args])
    return settings.plans.get(key) is _AS_THEY_ARE and not state.modes


def _plan(settings: Mapping[str, Setting], name: str, args: tuple[Any, ...]) -> Plan | None:
    if any(isinstance(arg, (list, tuple)) for arg in args):
        return None
    cast = _cast(settings, name, args)
    places = tuple([at for at, arg in enumerate(args) if cast and isinstance(arg, Tensor) and cast.takes(arg)])
    return (cast, places) if cast and places else _AS_THEY_ARE


def _cast(settings: Mapping[str, Setting], name: str, values: tuple[Any, ...]) -> Cast | None:
    """What the policy of function *name* does to tensors among *values*; None if it leaves them alone."""
    tensors = _floating(values)
    if not tensors or any(isinstance(value, DType) for value in values):
        return None
    device_type = tensors[0]._type.device.type
    setting = settings.get(device_type)
    policy = AS_GIVEN if setting is None else setting.policies.get(name, AS_GIVEN)
    if setting is None or policy == AS_GIVEN:
        return None
    if policy == REFUSED:
        if any(tensor._type.dtype in (float16, bfloat16) for tensor in tensors):
            raise DTypeError(
                f"{name}: under autocast its results would be infinite in float16",
                operands={"input": tensors[0]},
                fix="use binary_cross_entropy_with_logits, which takes what comes before the sigmoid, or call it under "
                "polyad.autocast(..., enabled=False) with float32",
            )
        return None
    if policy == LOWER:
        return Cast(device_type, True, setting.dtype)
    wanted = float32 if policy == FLOAT32 else max((one._type.dtype for one in tensors), key=lambda one: one.itemsize)
    return Cast(device_type, False, wanted)


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
