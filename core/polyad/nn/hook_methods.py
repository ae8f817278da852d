"""The methods of a module that register hooks, and the functions that register them on all modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..arguments import explain, explain_methods
from ..history.hooks import RemovableHandle, register
from .hooks import EVERY, ForwardHooks, HookError, LegacyBackwardHook, PostHook, PreHook, StateHooks
from .registration import REGISTERED

if TYPE_CHECKING:
    from .state_dict import IncompatibleKeys

__all__ = [
    "HookMethods",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


class HookMethods:
    """What `polyad.nn.Module` can do about hooks."""

    _call_hooks: ForwardHooks | None = None
    """The module's own; on the class those of all modules, once there are some."""

    _state_hooks: StateHooks | None = None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before every ``forward``; what it returns, unless None, replaces the arguments.

        With *with_kwargs* the hook is ``hook(module, args, kwargs)`` and returns None or new ``(args, kwargs)``.
        """
        return register(self._own_forward_hooks().pre, PreHook(hook, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; what it returns, unless None, replaces the output.

        With *with_kwargs* the hook is ``hook(module, args, kwargs, output)``. With *always_call* it is called after an
        error, too, with what output there is.
        """
        return register(self._own_forward_hooks().post, PostHook(hook, with_kwargs, always_call), prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[[Any, tuple[Any, ...]], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the module's results are there, before its own
        backward; a tuple that it returns takes their place.

        >>> import polyad
        >>> from polyad import nn
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 0,))
        >>> layer(polyad.ones(1, 2, requires_grad=True)).sum().backward()
        >>> layer.weight.grad
        tensor([[0., 0.]])
        """
        return register(self._own_forward_hooks().backward_pre, hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[[Any, tuple[Any, ...], tuple[Any, ...]], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the module's positional arguments are
        computed; a tuple that it returns takes the place of *grad_input*.

        Both tuples have None for what is no tensor and for what has no gradient. If no argument needs a gradient, the
        hook is called with the gradients of the results, and may replace nothing. Arguments and results are seen
        through aliases: a module with such a hook cannot write to its arguments in place.

        >>> import polyad
        >>> from polyad import nn
        >>> layer = nn.Linear(2, 1)
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
        >>> layer(polyad.ones(1, 2, requires_grad=True)).sum().backward()
        (tensor([[1.]]),)
        """
        hooks = self._own_forward_hooks()
        self._refuse_both_forms(isinstance(entry, LegacyBackwardHook) for entry in hooks.post.values())
        return register(hooks.backward, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[[Any, tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the node of the module's (first) result has run.

        An old form: of a module that does several ops, *grad_input* is that of the last of them. Prefer
        `register_full_backward_hook`; both on a module raise RuntimeError.

        >>> import polyad
        >>> from polyad import nn
        >>> layer = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
        >>> handle = layer.register_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
        >>> layer(polyad.ones(1, 2) * 0).sum().backward()  # doctest: +ELLIPSIS
        (tensor([[...]]),)
        """
        self._refuse_both_forms(self._own_forward_hooks().backward.values())
        return register(self._own_forward_hooks().post, LegacyBackwardHook(hook, False, False))

    def _refuse_both_forms(self, others: Iterable[Any]) -> None:
        if any(others):
            raise HookError(
                f"{type(self).__name__}: it has a full backward hook and one of register_backward_hook",
                fix="use register_full_backward_hook for both",
            )

    def _own_forward_hooks(self) -> ForwardHooks:
        # Not the class's, which are those of all modules.
        own = self.__dict__.get("_call_hooks")
        if own is None:
            own = self._call_hooks = ForwardHooks()
        return own

    def _own_state_hooks(self) -> StateHooks:
        if self._state_hooks is None:
            self._state_hooks = StateHooks()
        return self._state_hooks

    def register_state_dict_pre_hook(self, hook: Callable[[Any, str, bool], None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects this module."""
        return register(self._own_state_hooks().save_pre, hook)

    def register_state_dict_post_hook(
        self, hook: Callable[[Any, dict[str, Any], str, dict[str, Any]], None]
    ) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after; it may change the state in place."""
        return register(self._own_state_hooks().save_post, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call a hook with `_load_from_state_dict`'s arguments before it; it may edit the copy of the state."""
        return register(self._own_state_hooks().load_pre, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[[Any, IncompatibleKeys], None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading.

        The hook may clear keys from the two lists to forgive them. So that it can, it is called before the values are
        written if there are such keys and loading is strict, and afterwards otherwise.
        """
        return register(self._own_state_hooks().load_post, hook)


def _on_all() -> ForwardHooks:
    HookMethods._call_hooks = EVERY
    return EVERY


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the ``forward`` of every module, before the module's own hooks.

    >>> import polyad
    >>> from polyad import nn
    >>> handle = nn.modules.module.register_module_forward_pre_hook(lambda module, args: print(module))
    >>> _ = nn.Sequential(nn.ReLU())(polyad.ones(1))
    Sequential(
      (0): ReLU()
    )
    ReLU()
    >>> handle.remove()
    """
    return register(_on_all().pre, PreHook(hook, False))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the ``forward`` of every module, before the module's own hooks; the
    options are those of ``Module.register_forward_hook``.
    """
    return register(_on_all().post, PostHook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``Module.register_full_backward_pre_hook`` of every module."""
    return register(_on_all().backward_pre, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``Module.register_backward_hook`` of every module; prefer `register_module_full_backward_hook`, which raises
    RuntimeError beside it.
    """
    _refuse_others(_on_all().backward.values())
    return register(EVERY.post, LegacyBackwardHook(hook, False, False))


def _refuse_others(others: Iterable[Any]) -> None:
    if any(others):
        raise HookError(
            "register_module_backward_hook: all modules have a full backward hook, or one of this form",
            fix="use register_module_full_backward_hook for both",
        )


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``Module.register_full_backward_hook`` of every module."""
    _refuse_others(isinstance(entry, LegacyBackwardHook) for entry in EVERY.post.values())
    return register(_on_all().backward, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` before a parameter is registered in any module, by assignment too; what
    it returns, unless None, is registered in its place.

    >>> from polyad import nn
    >>> from polyad.nn.modules.module import register_module_parameter_registration_hook
    >>> handle = register_module_parameter_registration_hook(lambda module, name, parameter: print(name))
    >>> _ = nn.Linear(2, 3)
    weight
    bias
    >>> handle.remove()
    """
    return register(REGISTERED["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` before a buffer is registered in any module; what it returns, unless None,
    is registered in its place.
    """
    return register(REGISTERED["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` before a submodule is registered in any module; what it returns, unless
    None, is registered in its place.
    """
    return register(REGISTERED["module"], hook)


explain(globals())
explain_methods(HookMethods)
