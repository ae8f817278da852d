"""Members of Module that code for PyTorch asks for and new code need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from ..compatibility.absent import stand_in
from ..history.hooks import RemovableHandle
from .hook_methods import HookMethods

__all__ = ["OlderMethods"]

O = TypeVar("O", bound="OlderMethods")  # noqa: E741


class _WithoutModule:
    """A hook that is called without the module."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.hook(*args)


class OlderMethods(HookMethods):
    """What `polyad.nn.Module` has for the sake of such code."""

    call_super_init: ClassVar[bool] = False
    """Whether ``Module.__init__`` goes on to the next class, which a mixin behind Module is, with all its arguments."""
    dump_patches: ClassVar[bool] = False
    compiler: ClassVar[Callable[..., Any] | None] = None
    """``compiler(forward, ...)`` gives what `compile` puts in its place; a package that compiles assigns it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What a copy or an unpickled module is made of; subclasses that add to an older state call this."""
        self.__dict__.update(state)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Have ``forward`` compiled as ``polyad.compile`` would; raises NotImplementedError while nothing compiles."""
        own: Any = self
        compiler = type(self).compiler
        if compiler is None:
            stand_in("compile")()
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
