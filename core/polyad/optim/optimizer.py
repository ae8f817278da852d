"""Optimizer: the base of all optimizers.

An optimizer holds parameters in groups, each with its own options, and a state for each parameter. Its `state_dict`
is laid out as PyTorch's: parameters appear as numbers, counted through the groups.

Invariants: a parameter is in a single group and is a leaf; loading a state checks all of it before it changes anything.

To add an optimizer: declare its step as an op in polyad/ops/optim/; derive from `Optimizer`, check the options in
``_check_options``, name the state in `_state_names` and make it in ``_new_state``, and define ``_step_group``, which
gives `_rows` to `polyad.optim.update.update`.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, TypeVar

from ..arguments import Explained, check_type, explained_call
from ..base.dtypes import float32, float64, get_default_dtype
from ..base.kinds import State
from ..base.memory_formats import strided
from ..base.shapes_and_strides import has_internal_overlap
from ..base.state import state as thread, user_line, warn_user
from ..compatibility.absent import lacking
from ..dispatch.modes import Mode, Setting
from ..dispatch.overriding import DISPATCHED, class_dispatch, dispatching, watching
from ..errors import ArgumentError, ArgumentTypeError, NotSupported, PolyadError, describe
from ..history.grad_mode import enable_grad, set_grad_enabled
from ..history.hooks import RemovableHandle, register
from ..ops.creation.factories import tensor
from ..ops.pointwise.complex_numbers import view_as_real
from ..tensor import Tensor
from .of_others import group_tensors
from .sparse_gradients import SparseGradient
from .step_hooks import ON_ALL, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

__all__ = ["MissingKey", "Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

__getattr__ = lacking(__name__)

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Step = TypeVar("Step", bound=Callable[..., Any])


class MissingKey(PolyadError, KeyError):
    """A dict lacks an entry that it must have."""


class Optimizer(Explained):
    """Base class of optimizers.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts, each a group: ``{"params": [...], "lr": 0.01, ...}``.
        defaults: options of groups that do not set their own.

    Raises:
        TypeError: *params* is a single tensor, or contains something that is no tensor.
        ValueError: there are no parameters, one is no leaf, or is given twice.

    >>> import polyad
    >>> from polyad import nn, optim
    >>> model = nn.Linear(2, 1)
    >>> optimizer = optim.SGD(model.parameters(), lr=0.1)
    >>> loss = model(polyad.ones(4, 2)).square().mean()
    >>> loss.backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    _unexplained = ("step",)  # hot: `_with_hooks` does it
    _hooks: Mapping[str, dict[int, Callable[..., Any]]] = {}
    _state_names: ClassVar[frozenset[str]] = frozenset()
    """Names of the state tensors that have their parameter's shape; `load_state_dict` checks them."""
    _required_state: ClassVar[frozenset[str]] = frozenset()
    """What a parameter's state must have once it has any."""
    _optional_options: ClassVar[frozenset[str]] = frozenset()
    _group_tensors_by_device_and_dtype = staticmethod(group_tensors)
    """Options that a state saved by another version may lack; they take their defaults."""

    defaults: dict[str, Any]
    state: defaultdict[Tensor, dict[str, Any]]
    param_groups: list[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let steps run their hooks."""
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        name = type(self).__name__
        if isinstance(params, Tensor):
            raise ArgumentTypeError(
                f"{name}: params must be an iterable of tensors or dicts, not one tensor",
                operands={"params": params},
                fix=f"put it into a list: {name}([parameter])",
            )
        self._check_options(defaults)
        check_type(name, "params", params, Iterable, "an iterable of tensors or dicts, such as model.parameters()")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._hooks = {}
        self._stepped = False  # schedules warn if they are stepped before
        groups: list[Any] = list(params)
        if not groups:
            raise ArgumentError(
                f"{name}: the parameter list is empty",
                fix="pass model.parameters(); an iterator that was used up gives nothing a second time",
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, for example the layers of a pretrained model that are to be trained from now on.

        Raises:
            TypeError: it is no dict, or contains something that is no tensor.
            KeyError: it has no entry "params".
            ValueError: a parameter is no leaf, is given twice, or is in another group already.
        """
        name = type(self).__name__
        check_type(name, "param_group", param_group, dict, "a dict such as {'params': [...]}")
        if "params" not in param_group:
            raise MissingKey(
                f"{name}: a parameter group has no entry 'params'",
                notes={"has": ", ".join(map(str, param_group)) or "nothing"},
                fix='put the parameters under "params"',
            )
        params = param_group["params"]
        if isinstance(params, set):
            raise ArgumentTypeError(
                f"{name}: params is a set, whose order changes from run to run",
                fix="pass a list, so that a saved state finds its parameters",
            )
        check_type(f"{name}.add_param_group", "params", params, Iterable, "an iterable of tensors")
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [item[0] for item in params if isinstance(item, tuple) and len(item) == 2]
        if names:
            if len(names) < len(params):
                raise ArgumentError(f"{name}: some parameters have names and some have not", fix="name all of them")
            params = [item[1] for item in params]
        if self.param_groups and bool(names) != ("param_names" in self.param_groups[0]):
            raise ArgumentError(f"{name}: some groups have parameter names and some have not", fix="name all of them")

        known = {id(param): number for number, group in enumerate(self.param_groups) for param in group["params"]}
        for position, param in enumerate(params):
            label = names[position] if names else f"params[{position}]"
            check_type(name, label, param, Tensor, "a tensor")
            self._check_param(label, param)
            if id(param) in known:
                raise ArgumentError(
                    f"{name}: {label} is in parameter group {known[id(param)]} already",
                    operands={label: param},
                    fix="give each parameter once; tied parameters are one parameter",
                )
            known[id(param)] = len(self.param_groups)
        group = {**param_group, "params": params}
        if names:
            group["param_names"] = names
        group.update((key, value) for key, value in self.defaults.items() if key not in group)
        self._check_options(group)
        self.param_groups.append(group)

    def _check_options(self, options: dict[str, Any]) -> None:
        """Raise unless a group's options (or the defaults) are what the optimizer can work with."""

    def _check_param(self, label: str, param: Tensor) -> None:
        name = type(self).__name__
        if not (param.is_leaf or param.retains_grad or self.defaults.get("differentiable")):
            raise ArgumentError(
                f"{name}: {label} is no leaf but the result of an operation, so a step would train nothing",
                operands={label: param},
                fix="pass the tensor it was computed from, or its .detach().requires_grad_()",
            )
        data = param.data  # empty if a lazy parameter has no shape yet
        if data.layout is strided and has_internal_overlap(data.shape, data.stride()):
            raise ArgumentError(
                f"{name}: several elements of {label} are one place in memory",
                operands={label: param},
                fix="clone() it before it is trained",
            )

    # ----------------------------------------------------------------------------------------------------------- step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once, by their gradients.

        Args:
            closure: computes the loss and its gradients again; called first, with gradients recorded.

        Returns:
            What *closure* returned, or None.
        """
        loss = self._evaluate(closure)
        line = user_line()
        for group in self.param_groups:
            with (
                set_grad_enabled(bool(group.get("differentiable"))),
                _dispatch_of(group["params"]),
            ):
                self._step_group(self._without_sparse(group) if watching else group, line)
        return loss

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        """Change the parameters of *group*; *line* is the user's."""
        raise NotSupported(f"{type(self).__name__}: step is not defined", fix="define step(self, closure=None)")

    def _without_sparse(self, group: dict[str, Any]) -> dict[str, Any]:
        """Step the parameters whose gradients are sparse; returns the group of the others."""
        others = []
        for param in group["params"]:
            if param._grad is None or param._grad.layout is strided:
                others.append(param)
            else:
                self._step_sparse(param, param._grad, group)
        return group if len(others) == len(group["params"]) else {**group, "params": others}

    def _step_sparse(self, param: Tensor, grad: Any, group: dict[str, Any]) -> None:
        """Change *param* by a sparse gradient."""
        raise SparseGradient(
            f"{type(self).__name__} does not support sparse gradients",
            operands={"grad": grad},
            fix="use SparseAdam, SGD or Adagrad, or layers with sparse=False",
        )

    def _rows(self, group: dict[str, Any], *names: str) -> list[tuple[Tensor, ...]]:
        """For each parameter with a gradient: the parameter, the gradient, and its state of these names.

        Complex tensors are shown as pairs of real numbers.
        """
        rows = []
        for param in group["params"]:
            grad = param._grad
            if grad is None:
                continue
            row: tuple[Tensor, ...] = (param, grad)
            if names:
                state = self.state[param]
                if not state:
                    state.update(self._apart(self._new_state, param, group))
                row = (*row, *[state[name] for name in names])
            rows.append(tuple(map(_real, row)) if param._type.dtype.is_complex else row)
        if len(rows) != len(group["params"]):
            param = row = ()  # which would count as holders
            self._look_for_orphans(group, len(group["params"]) - len(rows))
        return rows

    def _look_for_orphans(self, group: dict[str, Any], missing: int) -> None:
        """Warn of parameters that nothing but this optimizer holds: no module will ever give them a gradient.

        It is looked for them when the number of parameters without a gradient has changed since the last step.
        """
        known = self.__dict__.setdefault("_missing", {})
        if known.get(id(group)) == missing:
            return
        known[id(group)] = missing
        params = group["params"]
        for place in range(len(params)):
            if params[place]._grad is None and _holders(params, place) - (params[place] in self.state) <= _ONE_HOLDER:
                names = group.get("param_names")
                where = f"{place} of group {next(n for n, g in enumerate(self.param_groups) if g is group)}"
                warn_user(
                    f"{type(self).__name__}: parameter {names[place] if names else where}, {describe(params[place])}, "
                    "is held by this optimizer alone, so that it is not trained; was its module replaced after the "
                    "optimizer was made? Make the optimizer after that, or add the new parameters by add_param_group",
                    UserWarning,
                )

    def _scalars(self, group: dict[str, Any], *names: str) -> list[tuple[Tensor, ...]]:
        """For each parameter with a gradient its 0-d state of these names, in the order of `_rows`, which make it."""
        return [
            tuple([self.state[param][name] for name in names]) for param in group["params"] if param._grad is not None
        ]

    @staticmethod
    def _apart(make: Callable[..., Any], *args: Any) -> Any:
        """``make(*args)``, state of before the first step, which is there once: no part of a step that is recorded."""
        modes = thread.modes
        if not any(mode.alters for mode in modes):
            thread.modes = thread.no_modes
        try:
            return make(*args)
        finally:
            thread.modes = modes

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state that *param* has before its first step."""
        return {}

    @staticmethod
    def _evaluate(closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad = param.grad.detach().zero_()

    # ---------------------------------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters and the options of all groups.

        Parameters are numbered through the groups:
        ``{"state": {0: {...}, ...}, "param_groups": [{..., "params": [0, ...]}]}``.
        The tensors in it are the optimizer's own, not copies.
        """
        for hook in self._hooks_of("state_dict_pre"):
            hook(self)
        numbers: dict[int, int] = {}
        begin = 0
        for group in self.param_groups:
            # A parameter of an earlier group keeps its number.
            numbers = {id(param): begin + place for place, param in enumerate(group["params"])} | numbers
            begin += len(group["params"])
        groups = [
            {
                **{key: value for key, value in group.items() if key != "params"},
                "params": [numbers[id(param)] for param in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        state_dict: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._hooks_of("state_dict_post"):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        return state_dict

    def load_state_dict(self, state_dict: State) -> None:
        """Take over a state that `state_dict` gave; the tensors are copied. It fits, or nothing is changed.

        Floating point state takes the dtype and device of its parameter, except ``step``, which keeps its dtype.

        Raises:
            KeyError: "state" or "param_groups" is missing.
            TypeError: they are not a dict, and a list of dicts with "params".
            ValueError: the groups are of other numbers or sizes, or state tensors are of other shapes than their
            parameters.
        """
        state_dict = dict(state_dict)
        for hook in self._hooks_of("load_state_dict_pre"):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        params = self._params_by_number(state_dict)
        self._check_state(state_dict, params)
        state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for key, values in state_dict["state"].items():
            if key in params:
                state[params[key]] = {entry: _for_param(params[key], entry, value) for entry, value in values.items()}
            else:
                state[key] = copy.deepcopy(values)
        for saved, group in zip(state_dict["param_groups"], self.param_groups):
            saved = {key: copy.deepcopy(value) for key, value in saved.items() if key != "params"}
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
            group_defaults = {key: value for key, value in self.defaults.items() if key not in saved}
            group.clear()
            group.update(saved, **group_defaults)
        self.state = state
        for hook in self._hooks_of("load_state_dict_post"):
            hook(self)

    def _params_by_number(self, state_dict: State) -> dict[Any, Tensor]:
        """The parameter that each number of a state stands for. Raises if it is no state, or one of other groups."""
        name = type(self).__name__
        for key in ("state", "param_groups"):
            if key not in state_dict:
                raise MissingKey(
                    f"{name}.load_state_dict: the state has no entry {key!r}",
                    notes={"has": ", ".join(map(str, state_dict)) or "nothing"},
                    fix="pass what optimizer.state_dict() gave",
                )
        if not _is_state(state_dict["state"], state_dict["param_groups"]):
            raise ArgumentTypeError(
                f"{name}.load_state_dict: state must be a dict, and param_groups a list of dicts with lists of params",
                operands={key: state_dict[key] for key in ("state", "param_groups")},
                fix="pass what optimizer.state_dict() gave",
            )
        groups = state_dict["param_groups"]
        own, theirs = [[len(group["params"]) for group in some] for some in (self.param_groups, groups)]
        if own != theirs:
            raise ArgumentError(
                f"{name}.load_state_dict: the state was made for other parameter groups; nothing was changed",
                notes={"state": f"groups of {theirs} parameters", "optimizer": f"groups of {own} parameters"},
                fix="build the optimizer as it was when the state was saved",
            )
        return {
            number: param
            for saved, group in zip(groups, self.param_groups)
            for number, param in zip(saved["params"], group["params"])
        }

    def _check_state(self, state_dict: State, params: Mapping[Any, Tensor]) -> None:
        groups = state_dict["param_groups"]
        missing = [
            f"param_groups[{number}] has no {key!r}"
            for number, group in enumerate(groups)
            for key in self.defaults
            if key not in group and key not in self._optional_options
        ]
        problems = missing + [
            problem
            for key, values in state_dict["state"].items()
            if key in params
            for problem in self._state_problems(key, values, params[key])
        ]
        if problems:
            shown = problems[:10] + ([f"and {len(problems) - 10} more"] if len(problems) > 10 else [])
            raise ArgumentError(
                f"{type(self).__name__}.load_state_dict: the state does not fit; nothing was changed",
                notes={str(number): problem for number, problem in enumerate(shown)},
                fix="load the state of an optimizer of the same class, made for the same model",
            )
        for group in groups:
            self._check_options({**self.defaults, **group})

    def _state_problems(self, key: Any, values: Any, param: Tensor) -> list[str]:
        if not isinstance(values, Mapping):
            return [f"state[{key}] is {describe(values)}, not a dict"]
        absent = sorted(self._required_state - values.keys()) if values else []
        return [f"state[{key}] has no {entry!r}" for entry in absent] + [
            f"state[{key}][{entry!r}] is {describe(value)}, its parameter {describe(param)}"
            for entry, value in values.items()
            if entry in self._state_names
            and value is not None
            and not (isinstance(value, Tensor) and value.shape == param.shape)
        ]

    def _params(self) -> Iterable[Tensor]:
        return (param for group in self.param_groups for param in group["params"])

    # ---------------------------------------------------------------------------------------------------------- hooks

    def _hooks_of(self, when: str) -> tuple[Callable[..., Any], ...]:
        return tuple(self._hooks.get(when, {}).values())

    def _register(self, when: str, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        return register(self.__dict__.setdefault("_hooks", {}).setdefault(when, {}), hook, prepend=prepend)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict` collects."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after; it may return another state."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on a shallow copy before it is checked; it may return another state."""
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state was loaded."""
        return self._register("load_state_dict_post", hook, prepend)

    # ------------------------------------------------------------------------------------------------- representation

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for number, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {number}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines += [""] if number + 1 < len(self.param_groups) else []
        return "\n".join([*lines, ")"])


def _holders(params: list[Any], place: int) -> int:
    """How many references there are to an element of a list; what looking at it adds is the same for all."""
    return sys.getrefcount(params[place])


_ONE_HOLDER = _holders([object()], 0)


def _with_hooks(step: Step) -> Step:
    """*step* with the optimizer's step hooks around it; only the outermost step of a class hierarchy calls them."""

    @functools.wraps(step)
    def call(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._stepped = True
        try:
            if not (self._hooks or ON_ALL or thread.watchers or thread.modes) or type(self).step is not call:
                return step(self, *args, **kwargs)
            readers = [mode for mode in thread.modes if type(mode).option is not Mode.option]
            with _read_by_modes(self, readers) if readers else nullcontext():
                return _between_hooks(step, self, args, kwargs)
        except Exception as error:
            problem = explained_call(f"{type(self).__name__}.step", step, (self, *args), kwargs, error)
            if problem is error:
                raise
            raise problem from error

    return call  # type: ignore[return-value]


@contextmanager
def _read_by_modes(self: Optimizer, readers: Sequence[Any]) -> Iterator[None]:
    """Inside, the groups' options are what *readers* make of them, modes that may want to know what they are for."""
    kept: list[tuple[dict[str, Any], str, Any, Any]] = []
    for number, group in enumerate(self.param_groups):
        for key in filter(group.__contains__, self.defaults):
            value, again = group[key], functools.partial(_option, self, number, key)
            shown = _as_read(self, f"param_groups[{number}][{key!r}]", value, again, readers)
            if shown is not value:
                group[key] = shown
                kept.append((group, key, value, shown))
    try:
        yield
    finally:
        for group, key, value, shown in kept:
            if group.get(key) is shown:
                group[key] = value


def _option(self: Optimizer, number: int, key: str, *places: int) -> Any:
    value = self.param_groups[number][key]
    for place in places:
        value = value[place]
    return value


def _as_read(self: Optimizer, path: str, value: Any, again: Callable[..., Any], readers: Sequence[Any]) -> Any:
    if type(value) in (tuple, list):
        parts = [
            _as_read(self, f"{path}[{place}]", part, functools.partial(again, place), readers)
            for place, part in enumerate(value)
        ]
        return value if all(map(operator.is_, parts, value)) else type(value)(parts)
    if isinstance(value, (bool, int, float, str, type(None))):
        for mode in readers:
            value = mode.option(Setting(self, path, again), value)
    return value


def _between_hooks(step: Step, self: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of *step*, which is called after the hooks before it and before those after it."""
    for hook in (*ON_ALL.get("step_pre", {}).values(), *self._hooks_of("step_pre")):
        changed = hook(self, (self, *args), kwargs)
        if changed is None:
            continue
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise ArgumentError(
                f"{type(self).__name__}.step: a pre-hook must return None or new (args, kwargs)",
                operands={"returned": changed},
                fix="return None to leave them as they are",
            )
        args, kwargs = changed[0][1:], changed[1]
    result = step(self, *args, **kwargs)
    for hook in (*self._hooks_of("step_post"), *ON_ALL.get("step_post", {}).values()):
        hook(self, (self, *args), kwargs)
    if thread.watchers:
        thread.watchers[-1].stepped(self)
    return result


Optimizer.step = _with_hooks(Optimizer.step)  # type: ignore[method-assign]


def _dispatch_of(params: list[Tensor]) -> Any:
    """What a step on *params* is done in: where classes with ``__torch_dispatch__`` are asked, if there are any."""
    asked = dispatching and any(type(param) in DISPATCHED for param in params)
    return class_dispatch() if asked else nullcontext()


def _for_param(param: Tensor, entry: str, value: Any) -> Any:
    """A copy of a state value that suits *param*."""
    if type(value) in (list, tuple, dict):
        # What LBFGS keeps of its last steps.
        items = value.items() if type(value) is dict else enumerate(value)
        cast = {key: _for_param(param, "", item) for key, item in items}
        return cast if type(value) is dict else type(value)(cast.values())
    if not isinstance(value, Tensor):
        # PyTorch's oldest checkpoints count steps in Python numbers.
        return new_step(param, float(value)) if entry == "step" else copy.deepcopy(value)
    if entry == "step" or not param.dtype.is_floating_point:
        return value.detach().to(param.device, copy=True)
    return value.detach().to(param.device, param.dtype, copy=True)


def _real(tensor: Tensor) -> Tensor:
    return view_as_real(tensor) if tensor._type.dtype.is_complex else tensor


def new_step(param: Tensor, count: float = 0.0) -> Tensor:
    """The step count of a parameter's state: 0-d, float32 (float64 if that is the default dtype), on its device."""
    dtype = float64 if get_default_dtype() is float64 else float32
    return tensor(count, dtype=dtype, device=param.device)


def _is_state(state: Any, groups: Any) -> bool:
    return (
        isinstance(state, Mapping)
        and isinstance(groups, list | tuple)
        and all(isinstance(group, Mapping) and isinstance(group.get("params"), list | tuple) for group in groups)
    )
