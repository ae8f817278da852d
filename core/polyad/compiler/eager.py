"""`polyad.compile` while nothing compiles: what it is given runs as it is, op by op, and one warning says so.

Programs see what they would see of PyTorch: a function as another function, a module as an `OptimizedModule`, wrong
options refused. A compiler takes the place of `unchanged`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..base.state import warn_once
from ..errors import ConditionError, OptionError, safe_repr
from ..nn.modules.module import Module

__all__ = ["BACKENDS", "OptimizedModule", "compile"]

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor", "onnxrt", "openxla", "tvm")
"""The names of compilers that PyTorch knows; none is asked."""


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """*model*, a function or a module, to be called in its place; also a decorator, with and without arguments.

    There is no compiler yet: the code runs as it is, with the same results, which a UserWarning says once. So no
    option changes anything, and a function that is given as *backend* is not called. A module comes back as an
    `OptimizedModule`, a class as itself, and with *disable* everything does. Raises RuntimeError for a mode or a
    backend that PyTorch has not, and for both mode and options; AssertionError for what cannot be called.

    >>> import warnings
    >>> import polyad as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     @torch.compile(mode="max-autotune")
    ...     def double(x):
    ...         return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise OptionError(
            "compile: mode and options are both given, and a mode is a set of options", fix="give one of them"
        )
    if model is None:
        return lambda model: compile(model, backend=backend, mode=mode, options=options, disable=disable)
    if not callable(model):
        raise ConditionError(
            f"compile: model is {type(model).__name__}, which cannot be called", fix="pass a function or a module"
        )
    if disable:
        return model
    for what, given, known in (("mode", mode, MODES), ("backend", backend, BACKENDS)):
        if isinstance(given, str) and given not in known:
            raise OptionError(
                f"compile: there is no {what} {safe_repr(given)}", fix=f"use one of {', '.join(known)}, or none"
            )
    warn_once(
        "compile",
        "",
        "compile: polyad has no compiler yet, so the code runs as it is, op by op; results are the same",
        UserWarning,
    )
    return unchanged(model)


def unchanged(model: Any) -> Any:
    """What stands for *model*: another object, so that a program can change its attributes and keep the original's."""
    if isinstance(model, OptimizedModule) or inspect.isclass(model):
        return model
    if isinstance(model, Module):
        return OptimizedModule(model)

    @functools.wraps(model, updated=())
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    compiled.__dict__["_torchdynamo_orig_callable"] = model
    return compiled


class OptimizedModule(Module):
    """What `compile` makes of a module: its only submodule, ``_orig_mod``, by which names of parameters and of state
    begin. All other attributes are read from it, and written to it.

    >>> import warnings
    >>> import polyad as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = torch.compile(torch.nn.Linear(3, 2))
    >>> list(model.state_dict()), model.out_features
    (['_orig_mod.weight', '_orig_mod.bias'], 2)
    >>> model.eval()._orig_mod.training
    False
    """

    _orig_mod: Module

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._put("module", "_orig_mod", mod)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes, its hooks included."""
        return self._orig_mod(*args, **kwargs)

    @property
    def _torchdynamo_orig_callable(self) -> Callable[..., Any]:
        return self._orig_mod.forward

    @property
    def training(self) -> bool:
        """That of the module."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":  # of an object without state yet, or after ``del``
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name == "_orig_mod" or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True  # also where the module has no length

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> tuple[Any, ...]:
        return OptimizedModule, (self._orig_mod,)
