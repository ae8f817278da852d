"""How `polyad.autocast` acts on a call: its tensors are cast as the function's policy says, and it is called again.

`polyad.amp.autocast_mode` has the context that users enter, `autocast_policies` the lists of functions; here is
what happens to a call within it. While the function works autocast is off: what happens inside it happens in its dtype.

Nothing of this costs anything before the first `autocast`. The generated callers of functions do not check for it until
then; the first `autocast` has those of the functions with a policy generated again, with such a check. Functions
without a policy never check.
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

LOWER = "lower"
"""The policy of a function whose floating arguments are cast to autocast's dtype."""
FLOAT32 = "float32"
"""Of a function whose narrower floating arguments are cast to float32."""
WIDEST = "widest"
"""Of a function whose arguments are cast to the widest dtype among them."""
REFUSED = "refused"
"""Of a function that raises for half types: its result would overflow."""
AS_GIVEN = "as given"
"""No cast. A backend may say it of a function that has another policy on other devices."""

_regenerate: dict[str, list[Callable[[], Any]]] = {}
"""By a function's name: what generates its callers again, for those callers that do not check for autocast yet."""

_checking: set[str] = set()
"""The functions whose callers check for autocast."""


def checks(name: str, regenerate: Callable[[], Any]) -> bool:
    """Whether a caller that is generated now for function *name* is to check for autocast.

    If not, *regenerate* is called as soon as it is to.
    """
    if name in _checking:
        return True
    _regenerate.setdefault(name, []).append(regenerate)
    return False


def begin_checking(names: Iterable[str]) -> None:
    """Let the functions *names* check for autocast from now on."""
    new = set(names) - _checking
    _checking.update(new)
    for name in new:
        for regenerate in _regenerate.pop(name, ()):
            regenerate()


class Setting:
    """What autocast does on a device type: the dtype, the functions' policies, and a cache of cast parameters.

    Attributes:
        cache: by the id of a parameter: the parameter, its version when it was cast, and the cast; None if there is no
            cache.
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
        plans: by a function's name and the types of its arguments: which of them are cast, and how; None if that
            depends on more than their types. Contexts with equal settings share the dict.
    """

    __slots__ = ("plans",)

    def __init__(self, settings: Mapping[str, Setting]) -> None:
        super().__init__(settings)
        same = frozenset((name, setting.dtype, id(setting.policies)) for name, setting in settings.items())
        self.plans: dict[Any, Plan | None] = _plans.setdefault(same, {})


_plans: dict[Any, dict[Any, Plan | None]] = {}

forget_plans = _plans.clear
"""To be called when the policies change."""


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
_NO_CAST: Plan = (None, ())


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


def needs_no_cast(settings: Settings, name: str, *args: Any) -> bool:
    """Whether *settings* are known to leave the arguments as they are. False where modes see the call, even so: what
    they do in its place is to happen with autocast off, which `cast_call` sees to.
    """
    key = (name, *[arg._type if isinstance(arg, Tensor) else arg.__class__ for arg in args])
    return settings.plans.get(key) is _NO_CAST and not state.modes


def _plan(settings: Mapping[str, Setting], name: str, args: tuple[Any, ...]) -> Plan | None:
    if any(isinstance(arg, (list, tuple)) for arg in args):
        return None
    cast = _cast(settings, name, args)
    places = tuple([at for at, arg in enumerate(args) if cast and isinstance(arg, Tensor) and cast.takes(arg)])
    return (cast, places) if cast and places else _NO_CAST


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
    """*call* with autocast off, for forms that write (``add_``, ``out=``): they do not cast, as in PyTorch."""

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
