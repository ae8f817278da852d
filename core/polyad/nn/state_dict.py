"""How a module's state is collected and put back.

Loading has two phases. The first walks the whole tree, checks every member against the state and notes the writes
that would be needed; only if nothing at all is wrong does the second phase write. So a state that does not fit leaves
the module as it was.

A subclass reads an older layout of its state by overriding ``Module._load_from_state_dict``: it edits the copy of the
state that it is given, then calls the base method. The layout's version comes to it in ``local_metadata["version"]``,
which is None for a state that carries no versions, such as a plain dict.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, cast

from ..base.state import warn_user
from ..errors import ArgumentTypeError, NotSupported, PolyadError, describe, safe_repr
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from ..tensor.tensor import has_data
from .hooks import HookError, StateHooks
from .parameter import Parameter, is_lazy

__all__ = ["ExtraState", "IncompatibleKeys", "StateDictError"]

EXTRA_STATE = "_extra_state"
_SHOWN_KEYS = 20
_TURNED = ", its transpose"
_NO_TENSOR = "no tensor"


class IncompatibleKeys(NamedTuple):
    """The keys that `load_state_dict` wanted and did not find, and those it found and has no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


class StateDictError(PolyadError, RuntimeError):
    """A state that does not fit the module it was to be loaded into; the module is as it was, unless the keys are those
    that its post-hooks added.

    Attributes:
        missing_keys: keys the module has and the state has not.
        unexpected_keys: keys the state has and the module has not.
        mismatches: what is wrong with a key that both have.
    """

    def __init__(
        self, module: str, missing: list[str], unexpected: list[str], mismatches: list[str], written: bool = False
    ) -> None:
        count = len(missing) + len(unexpected) + len(mismatches)
        notes = {}
        if missing:
            notes["missing key(s)"] = _some(missing)
        if unexpected:
            notes["unexpected key(s)"] = _some(unexpected)
        for mismatch in mismatches:
            label, _, text = mismatch.partition(": ")
            notes[label] = text
        super().__init__(
            f"load_state_dict: {count} thing(s) in the state do not fit {module}; "
            + ("its post-hooks say so, and it was written" if written else "nothing was changed"),
            notes=notes,
            fix=_fix(missing, unexpected, mismatches),
        )
        self.missing_keys = missing
        self.unexpected_keys = unexpected
        self.mismatches = mismatches


def _some(keys: list[str]) -> str:
    shown = ", ".join(keys[:_SHOWN_KEYS])
    return shown if len(keys) <= _SHOWN_KEYS else f"{shown} and {len(keys) - _SHOWN_KEYS} more"


def _fix(missing: list[str], unexpected: list[str], mismatches: list[str]) -> str:
    for key in unexpected:
        prefix, _, rest = key.partition(".")
        if rest and rest in missing:
            return f"the keys of the state begin with '{prefix}.': take that prefix off"
    for key in missing:
        prefix, _, rest = key.partition(".")
        if rest and rest in unexpected:
            return f"the keys of the state lack the prefix '{prefix}.': put it before them, or load into model.{prefix}"
    if any(mismatch.endswith(_TURNED) for mismatch in mismatches):
        return "other libraries keep weights transposed: load state[key].T for these"
    if any(mismatch.startswith(_NO_TENSOR) for mismatch in mismatches):
        return "make tensors of these values with polyad.as_tensor"
    if mismatches:
        return "build the module with the sizes it was saved with"
    return "load into the class that was saved, or pass strict=False to leave such keys alone"


class ExtraState:
    """State of a `polyad.nn.Module` besides its tensors: there is none unless a subclass defines both methods."""

    def get_extra_state(self) -> Any:
        """Anything else that belongs into `state_dict`; a subclass that defines it defines `set_extra_state` too."""
        raise NotSupported(f"{type(self).__name__}: no extra state", fix="define get_extra_state and set_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise NotSupported(f"{type(self).__name__}: no extra state", fix="define get_extra_state and set_extra_state")


class HasState(Protocol):
    """What saving and loading need to know of a module."""

    _version: int
    _state_hooks: StateHooks | None
    _non_persistent_buffers_set: set[str]

    @property
    def _parameters(self) -> Mapping[str, Tensor | None]: ...
    @property
    def _buffers(self) -> Mapping[str, Tensor | None]: ...
    @property
    def _modules(self) -> Mapping[str, HasState | None]: ...

    def state_dict(
        self, *, destination: OrderedDict[str, Any] | None = ..., prefix: str = ..., keep_vars: bool = ...
    ) -> OrderedDict[str, Any]:
        """A subclass may override it: `save` calls it for each submodule."""

    def get_extra_state(self) -> Any:
        """See `ExtraState`."""

    def set_extra_state(self, state: Any) -> None:
        """See `ExtraState`."""

    def _save_to_state_dict(self, destination: OrderedDict[str, Any], prefix: str, keep_vars: bool) -> None: ...

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None: ...


# ----------------------------------------------------------------------------------------------------- collecting


def save(
    module: HasState, destination: OrderedDict[str, Any] | None, prefix: str, keep_vars: bool
) -> OrderedDict[str, Any]:
    """Collect the state of *module* and its submodules; the body of ``Module.state_dict``."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()  # type: ignore[attr-defined]
    local_metadata = {"version": module._version}
    metadata = getattr(destination, "_metadata", None)
    if metadata is not None:
        metadata[prefix[:-1]] = local_metadata
    hooks = module._state_hooks
    if hooks is not None:
        for pre in tuple(hooks.save_pre.values()):
            pre(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    if hooks is not None:
        for post in tuple(hooks.save_post.values()):
            returned = post(module, destination, prefix, local_metadata)
            if returned is not None:
                raise HookError(
                    f"state_dict: a post-hook of {type(module).__name__} must return None",
                    operands={"returned": returned},
                    fix="change the state in place",
                )
    return destination


def save_members(module: HasState, destination: OrderedDict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Put the parameters, persistent buffers and extra state of *module* alone into *destination*."""
    for name, value in _members(module).items():
        destination[prefix + name] = value if keep_vars else value.detach()
    if _has_extra_state(module, "get_extra_state"):
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def _members(module: HasState) -> dict[str, Tensor]:
    """What the state of *module* alone consists of, by name: parameters, then persistent buffers."""
    members: dict[str, Tensor | None] = dict(module._parameters)
    members.update(
        (name, buffer) for name, buffer in module._buffers.items() if name not in module._non_persistent_buffers_set
    )
    return {name: value for name, value in members.items() if value is not None}


def _has_extra_state(module: HasState, method: str) -> bool:
    return getattr(type(module), method) is not getattr(ExtraState, method)


# -------------------------------------------------------------------------------------------------------- loading


class _Writes:
    """What a load will do once everything has been checked."""

    def __init__(self, assign: bool) -> None:
        self.assign = assign
        self.tensors: list[tuple[HasState, str, str, Tensor, Tensor]] = []
        self.extra_states: list[Callable[[], None]] = []

    def commit(self) -> None:
        # Extra state first: it is the only part that runs someone else's code and so may still fail.
        for write in self.extra_states:
            write()
        with no_grad():
            given: dict[int, tuple[str, Tensor]] = {}
            for module, name, key, own, new in self.tensors:
                if is_lazy(own) and is_lazy(new):
                    continue
                if not self.assign:
                    earlier = given.setdefault(id(own), (key, new))
                    if earlier[1] is not new:
                        _warn_of_another_value(*earlier, key, new)
                    if is_lazy(own):
                        own.materialize(new.shape)
                    if has_data(new) and not has_data(own):
                        _warn_of_nothing_loaded(name)
                    own.copy_(new)
                elif isinstance(own, Parameter):
                    new = new if isinstance(new, Parameter) else Parameter(new)
                    setattr(module, name, new.requires_grad_(own.requires_grad))
                else:
                    setattr(module, name, new)


def _warn_of_another_value(earlier: str, before: Tensor, key: str, new: Tensor) -> None:
    if has_data(before, new) and not ((before == new) | ((before != before) & (new != new))).all():
        warn_user(
            f"load_state_dict: {earlier} and {key} are the same tensor of the module, and the state has two values for "
            f"them: it gets that of {key}; the state was saved from a module that does not share them",
            UserWarning,
        )


def _warn_of_nothing_loaded(name: str) -> None:
    warn_user(
        f"load_state_dict: {name} is on device 'meta', which keeps no values: loading them changes nothing; pass "
        "assign=True, or call to_empty(device=...) first",
        UserWarning,
    )


def load(module: HasState, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Check *state_dict* against the whole of *module*, then write; the body of ``Module.load_state_dict``."""
    stranger = next((key for key in state_dict if not isinstance(key, str)), None)
    if stranger is not None:
        raise ArgumentTypeError(
            f"load_state_dict: state_dict has the key {safe_repr(stranger)}, a {type(stranger).__name__}, not a str",
            fix="pass what module.state_dict() or polyad.load() gave",
        )
    return _Loading(module, state_dict, strict, assign).run()


class _Loading:
    """A load of a whole module. No function here refers to itself, so that nothing is left to the garbage collector."""

    def __init__(self, module: HasState, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> None:
        self._module, self._state_dict, self._strict, self._assign = module, state_dict, strict, assign
        self._keys = IncompatibleKeys([], [])
        self._mismatches: list[str] = []
        self._metadata = getattr(state_dict, "_metadata", None) or {}
        self._writes = _Writes(assign)
        self._visited: list[HasState] = []

    def run(self) -> IncompatibleKeys:
        """Check, then write."""
        missing, unexpected = self._keys
        self._check(self._module, dict(self._state_dict), "")
        forgiving = self._strict and bool(missing or unexpected)
        if forgiving:
            self._call_post_hooks()
        if self._mismatches or (self._strict and (missing or unexpected)):
            wrong = (missing, unexpected) if self._strict else ([], [])
            raise StateDictError(type(self._module).__name__, *wrong, self._mismatches)
        self._writes.commit()
        if not forgiving:
            self._call_post_hooks()
            if self._strict and (missing or unexpected):
                raise StateDictError(type(self._module).__name__, missing, unexpected, [], written=True)
        return self._keys

    def _check(self, part: HasState, state: dict[str, Any], prefix: str) -> None:
        local_metadata = {
            **self._metadata.get(prefix[:-1], {}),
            "assign_to_params_buffers": self._assign,
            "writes": self._writes,
        }
        if part._state_hooks is not None:
            for pre in tuple(part._state_hooks.load_pre.values()):
                pre(part, state, prefix, local_metadata, self._strict, *self._keys, self._mismatches)
        part._load_from_state_dict(state, prefix, local_metadata, True, *self._keys, self._mismatches)
        for name, child in part._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                self._check(child, {key: value for key, value in state.items() if key.startswith(path)}, path)
        self._visited.append(part)

    def _call_post_hooks(self) -> None:
        for part in self._visited:
            for post in tuple(part._state_hooks.load_post.values()) if part._state_hooks is not None else ():
                returned = post(part, self._keys)
                if returned is not None:
                    raise HookError(
                        f"load_state_dict: a post-hook of {type(part).__name__} must return None",
                        operands={"returned": returned},
                        fix="change the two lists of incompatible_keys in place",
                    )


def check_members(
    module: HasState,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Check *module* alone against *state_dict* and note the writes; the body of ``Module._load_from_state_dict``."""
    writes = cast(_Writes, local_metadata["writes"])
    members = _members(module)
    for name, own in members.items():
        key = prefix + name
        if key not in state_dict:
            if strict:
                missing_keys.append(key)
            continue
        value = state_dict[key]
        problem = _mismatch(own, value)
        if problem:
            error_msgs.append(f"{problem[0]} for {key}: {problem[1]}")
        else:
            fitting = value if is_lazy(own) or own.shape == value.shape else value.reshape(own.shape)
            writes.tensors.append((module, name, key, own, fitting))

    extra_key = prefix + EXTRA_STATE
    takes_extra_state = _has_extra_state(module, "set_extra_state")
    if takes_extra_state and extra_key in state_dict:
        writes.extra_states.append(lambda: module.set_extra_state(state_dict[extra_key]))
    elif takes_extra_state and strict:
        missing_keys.append(extra_key)
    elif extra_key in state_dict and strict:
        unexpected_keys.append(extra_key)

    if strict:
        for key in state_dict:
            if key.startswith(prefix) and key != extra_key:
                name, *deeper = key[len(prefix) :].split(".", 1)
                if module._modules.get(name) is None if deeper else name not in members:
                    unexpected_keys.append(key)


def _mismatch(own: Tensor, value: Any) -> tuple[str, str] | None:
    """The name of the mismatch between a member and the value it would be given, and what differs."""
    if not isinstance(value, Tensor):
        return _NO_TENSOR, f"the state has {describe(value)}"
    if is_lazy(own):
        return None
    if is_lazy(value):
        return "no values", "the state is of a lazy module that was never called"
    # Before PyTorch 0.4 there were no 0-d tensors: files of that time have one element for a number.
    if tuple(value.shape) != tuple(own.shape) and not (own.ndim == 0 and tuple(value.shape) == (1,)):
        turned = tuple(value.shape) == tuple(own.shape)[::-1]
        return (
            "size mismatch",
            f"{tuple(value.shape)} in the state, {tuple(own.shape)} in the module{_TURNED if turned else ''}",
        )
    if value.dtype.is_complex and not own.dtype.is_complex:
        return "dtype mismatch", f"{value.dtype} in the state, {own.dtype} in the module"
    return None
