"""`polyad.compile`: a function or a module whose calls are recorded, compared, and carried out together.

Programs see what they would see of PyTorch: a function as another function, a module as an `OptimizedModule`, wrong
options refused. How a call is compared is said in `polyad.compiler.matching`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ConditionError, OptionError, safe_repr
from ..nn.modules.module import Module

if TYPE_CHECKING:
    from .regions import Region

__all__ = ["BACKENDS", "CompiledForward", "OptimizedModule", "compile", "compile_forward"]

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor", "native", "onnxrt", "openxla", "tvm")
"""The names of compilers that PyTorch knows, and "native". All but "eager", which compiles nothing, mean the same."""


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

    Its first call runs as it is, and is recorded. In later calls Python runs, too, and what it calls is compared with
    the record: as long as it is the same, the work is put off, and done together where data is read or the function
    ends. What differs runs op by op, and is recorded by the next call. So results, side effects and errors are those
    of the function. What gains by it, and what does not, is said in docs/compile.md.

    Args:
        model: a function, a module, or anything else that can be called; a class comes back as itself.
        fullgraph: raise RuntimeError where the function reads data.
        backend: "eager" compiles nothing; all other names mean the same. A function is called with the `polyad.jit`
            graph of each record and the inputs, to look at; what it returns is not called.
        disable: give *model* back as it is.
        recompile_limit: how many ways through the function are recorded; what goes ever other ways runs op by op then,
            with one warning.
        dynamic, mode, options, name, isolate_recompiles, shapes_spec: change nothing.

    Raises RuntimeError for a mode or a backend that PyTorch has not, and for both mode and options; AssertionError for
    what cannot be called.

    >>> import polyad as torch
    >>> @torch.compile
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2)), double(torch.zeros(2))
    (tensor([2., 2.]), tensor([0., 0.]))
    """
    if mode is not None and options is not None:
        raise OptionError(
            "compile: mode and options are both given, and a mode is a set of options", fix="give one of them"
        )
    options_given: dict[str, Any] = {"fullgraph": fullgraph, "backend": backend, "recompile_limit": recompile_limit}
    if model is None:
        return lambda model: compile(model, mode=mode, options=options, disable=disable, **options_given)
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
    if isinstance(model, OptimizedModule) or inspect.isclass(model):
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, **options_given)
    return _compiled(model, options_given)


def _region(function: Callable[..., Any], options: Mapping[str, Any]) -> Region | None:
    """What compares the calls of *function*; None if nothing is to be compared."""
    if options["backend"] == "eager":
        return None
    from .regions import Region  # which knows most of polyad

    backend = options["backend"]
    return Region(
        function, bool(options["fullgraph"]), backend if callable(backend) else None, options["recompile_limit"]
    )


def _compiled(function: Any, options: Mapping[str, Any]) -> Any:
    """Another object, so that a program can change its attributes and keep the original's."""
    region = _region(function, options)

    @functools.wraps(function, updated=())
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if region is None else region(args, kwargs)

    compiled.__dict__.update(_torchdynamo_orig_callable=function, _region=region)
    return compiled


def compile_forward(module: Module, **options: Any) -> None:
    """`polyad.nn.Module.compile`."""
    forward: Any = type(module).forward
    if compile(forward, **options) is forward:
        return
    given = {name: options.get(name) for name in ("fullgraph", "backend", "recompile_limit")}
    own: Any = module
    replaced = vars(module).get("forward")
    if replaced is None or isinstance(replaced, CompiledForward):
        own.forward = CompiledForward(module, given)
    else:
        own.forward = _compiled(replaced, given)


class CompiledForward:
    """What `Module.compile` puts in the place of ``forward``: copies and pickles with its module, without records."""

    def __init__(self, module: Module, options: Mapping[str, Any]) -> None:
        self.module, self.options = module, dict(options)
        self._region = _region(functools.partial(type(module).forward, module), options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the class's ``forward`` gives."""
        if self._region is None:
            return type(self.module).forward(self.module, *args, **kwargs)
        return self._region(args, kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledForward:
        import copy

        return CompiledForward(copy.deepcopy(self.module, memo), self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledForward, (self.module, self.options)


class OptimizedModule(Module):
    """What `compile` makes of a module: its only submodule, ``_orig_mod``, by which names of parameters and of state
    begin. All other attributes are read from it, and written to it.

    >>> import polyad as torch
    >>> model = torch.compile(torch.nn.Linear(3, 2))
    >>> list(model.state_dict()), model.out_features
    (['_orig_mod.weight', '_orig_mod.bias'], 2)
    >>> model.eval()._orig_mod.training
    False
    """

    _orig_mod: Module
    _options: dict[str, Any]
    _region: Region | None

    def __init__(
        self,
        mod: Module,
        fullgraph: bool = False,
        backend: Any = None,
        recompile_limit: int | None = None,
    ) -> None:
        super().__init__()
        self._put("module", "_orig_mod", mod)
        options = {"fullgraph": fullgraph, "backend": backend, "recompile_limit": recompile_limit}
        self.__dict__.update(_options=options, _region=_region(mod, options))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes, its hooks included."""
        region = self._region
        return self._orig_mod(*args, **kwargs) if region is None else region(args, kwargs)

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
        return OptimizedModule, (self._orig_mod, *self._options.values())
