"""Members of Module that code for PyTorch asks for and new code need not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from ..arguments import explain
from ..base import provided
from ..history.hooks import RemovableHandle
from .hook_methods import HookMethods
from .hooks import HookTable, LegacyBackwardHook, PostHook, PreHook

__all__ = ["OlderMethods"]

O = TypeVar("O", bound="OlderMethods")  # noqa: E741


class _WithoutModule:
    """A hook that is called without the module."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.hook(*args)


def _from_tables(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a module of PyTorch's, which has its members in tables by role; its hooks are left out."""
    roles = {role: state.get(f"_{role}s") or {} for role in ("parameter", "buffer", "module")}
    plain = {
        name: value
        for name, value in state.items()
        if name not in ("_parameters", "_buffers", "_modules")
        and not isinstance(vars(OlderMethods).get(name), property)
    }
    members = {name: value for table in roles.values() for name, value in table.items()}
    return {**plain, "_roles": {name: role for role, table in roles.items() for name in table}, **members}


def _is_legacy(entry: Any) -> bool:
    return isinstance(entry, LegacyBackwardHook)


def _table(show: Callable[[Any], HookTable]) -> property:
    """A module's hooks of a sort; what is assigned to it takes their place."""

    def assign(module: Any, hooks: Mapping[int, Any]) -> None:
        table = show(module)
        given = dict(hooks)
        table.clear()
        table.update(given)

    return property(show, assign)


def _ids(option: Callable[[Any], Any]) -> property:
    """The ids of those of a module's hooks that were registered with an option, as a dict whose values are True."""
    return property(lambda module: {key: True for key, entry in option(module)})


class OlderMethods(HookMethods):
    """What `polyad.nn.Module` has for the sake of such code."""

    call_super_init: ClassVar[bool] = False
    """Whether ``Module.__init__`` goes on to the next class, which a mixin behind Module is, with all its arguments."""
    dump_patches: ClassVar[bool] = False
    compiler: ClassVar[Callable[..., Any] | None] = None
    """``compiler(forward, ...)`` gives what `compile` puts in its place; a package that compiles assigns it."""

    _forward_hooks = _table(
        lambda module: HookTable(
            module._own_forward_hooks().post,
            lambda function: PostHook(function, False, False),
            lambda entry: not _is_legacy(entry),
        )
    )
    _forward_pre_hooks = _table(
        lambda module: HookTable(module._own_forward_hooks().pre, lambda function: PreHook(function, False))
    )
    _backward_pre_hooks = _table(lambda module: HookTable(module._own_forward_hooks().backward_pre))
    _backward_hooks = _table(
        lambda module: (
            HookTable(
                module._own_forward_hooks().post,
                lambda function: LegacyBackwardHook(function, False, False),
                _is_legacy,
            )
            if any(map(_is_legacy, module._own_forward_hooks().post.values()))
            else HookTable(module._own_forward_hooks().backward)
        )
    )
    _state_dict_hooks = _table(lambda module: HookTable(module._own_state_hooks().save_post))
    _state_dict_pre_hooks = _table(lambda module: HookTable(module._own_state_hooks().save_pre))
    _load_state_dict_pre_hooks = _table(lambda module: HookTable(module._own_state_hooks().load_pre))
    _load_state_dict_post_hooks = _table(lambda module: HookTable(module._own_state_hooks().load_post))
    _forward_hooks_with_kwargs = _ids(
        lambda module: [item for item in module._own_forward_hooks().post.items() if item[1].with_kwargs]
    )
    _forward_hooks_always_called = _ids(
        lambda module: [item for item in module._own_forward_hooks().post.items() if item[1].always_call]
    )
    _forward_pre_hooks_with_kwargs = _ids(
        lambda module: [item for item in module._own_forward_hooks().pre.items() if item[1].with_kwargs]
    )

    @property
    def _is_full_backward_hook(self) -> bool | None:
        own = self._own_forward_hooks()
        return True if own.backward else False if any(map(_is_legacy, own.post.values())) else None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What a copy or an unpickled module is made of; subclasses that add to an older state call this."""
        self.__dict__.update(_from_tables(state) if "_parameters" in state else state)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Have ``forward`` compiled, in place, as `polyad.compile` does it, whose arguments it takes.

        >>> import polyad
        >>> model = polyad.nn.Linear(3, 2)
        >>> model.compile()
        >>> model(polyad.ones(1, 3)).shape, list(model.state_dict())
        (polyad.Size([1, 2]), ['weight', 'bias'])
        """
        own: Any = self
        compiler = type(self).compiler
        if compiler is None:
            provided.compile_forward(own, *args, **kwargs)
        else:
            own.forward = compiler(own.forward, *args, **kwargs)

    def _moved(self: O, kind: str, device: Any) -> O:
        place = kind if device is None else f"{kind}:{device}" if isinstance(device, int) else device
        moved: O = self.to(place)  # type: ignore[attr-defined]
        return moved

    def xpu(self: O, device: Any = None) -> O:
        """Move the module to an xpu device. Returns self."""
        return self._moved("xpu", device)

    def ipu(self: O, device: Any = None) -> O:
        """Move the module to an ipu device. Returns self."""
        return self._moved("ipu", device)

    def mtia(self: O, device: Any = None) -> O:
        """Move the module to an mtia device. Returns self."""
        return self._moved("mtia", device)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return self.register_load_state_dict_pre_hook(hook if with_module else _WithoutModule(hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return self.register_state_dict_post_hook(hook)


explain(globals())
