"""PyTorch's names for tracing, and for files of programs; ``polyad.torchscript``, a package of its own, does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any

from ..base.device import Device
from ..errors import ArgumentError, ArgumentTypeError, PolyadError, safe_repr
from ..nn.modules.module import Module
from ..tensor import Tensor
from .capture import BakedValueWarning

__all__ = ["TracerWarning", "load", "save", "trace", "trace_module"]

TracerWarning = BakedValueWarning
"""PyTorch's name."""


class MethodOfModule(PolyadError, AttributeError):
    """A method of a module is to be traced alone."""


FileLike = str | os.PathLike[str] | IO[Any]


def _package(name: str) -> Any:
    return import_module(f"polyad.torchscript.{name}")


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Sequence[Any] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """The program of a call of *func*, a function or a module, with *example_inputs*.

    Of a function it is a ``ScriptFunction``, of a module a ``TopLevelTracedModule``: a module with its submodules, that
    shares its parameters and trains. Both have ``code``, ``graph`` and ``save``. It takes inputs of other sizes in
    those dimensions in which *func* does the same for them; Python's decisions are as in the example, and reading data
    to decide by warns (`TracerWarning`).

    Args:
        example_inputs: a tensor, or a tuple of the arguments: tensors, and lists, tuples and dicts of them.
        check_trace: whether the program's results are compared with those of *func*, called again; it warns.
        check_inputs: further inputs, each a tuple, for which they are.
        check_tolerance: how far results may be apart, relatively and absolutely.
        strict: whether a result that is a dict is refused, and one that is a list warned of.
        example_kwarg_inputs: the arguments by name, instead of *example_inputs*.
        optimize, _force_outplace, _module_class, _compilation_unit, _store_inputs: have no effect.

    Raises RuntimeError for inputs and results that are no tensors, NotImplementedError for what no program holds, such
    as a backward pass.

    >>> import polyad as torch
    >>> double = torch.jit.trace(lambda x: x * 2, torch.ones(2))
    >>> double(torch.tensor([3.0, 4.0, 5.0]))
    tensor([ 6.,  8., 10.])
    >>> print(double.code)
    def _lambda(x: Tensor) -> Tensor:
      _0 = torch.mul(x, 2)
      return _0
    <BLANKLINE>
    """
    tracing, modules = _package("tracing.tracing"), import_module("polyad.torchscript")
    if isinstance(func, (modules.ScriptModule, modules.ScriptFunction)):
        return func
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module):
        if func.__name__ != "forward":
            raise MethodOfModule(
                "trace: it doesn't support compiling individual module's functions",
                fix=f"use trace_module(module, {{{func.__name__!r}: inputs}})",
            )
        func = owner
    if not callable(func):
        raise ArgumentTypeError(f"trace: {safe_repr(func)} cannot be called", fix="pass a function or a module")
    args, kwargs = _given(example_inputs, example_kwarg_inputs)
    checks = tracing.Checks(check_trace, check_inputs, check_tolerance)
    if isinstance(func, Module):
        return tracing.trace_methods(func, {"forward": (args, kwargs)}, strict, checks)
    return tracing.trace_function(func, args, kwargs, strict, checks)


def trace_module(
    mod: Module,
    inputs: Mapping[str, Any],
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Sequence[Any] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """As `trace` of a module, of several of its methods: *inputs* has the arguments of each by its name.

    Raises TypeError for what is no module or no dict; else as `trace`.

    >>> import polyad as torch
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.tensor([2.0]))
    ...     def forward(self, x):
    ...         return x * self.weight
    ...     def shifted(self, x):
    ...         return self(x) + 1
    >>> net = torch.jit.trace_module(Net(), {"forward": torch.ones(1), "shifted": torch.ones(1)})
    >>> net.shifted(torch.tensor([3.0])).item()
    7.0
    """
    if not isinstance(mod, Module):
        raise ArgumentTypeError(f"trace_module: expected a module, not {safe_repr(mod)}", fix="pass a nn.Module")
    if not isinstance(inputs, Mapping):
        raise ArgumentTypeError(
            f"trace_module: inputs is {safe_repr(inputs)}", fix="pass a dict of inputs by the name of the method"
        )
    tracing = _package("tracing.tracing")
    given = {
        name: _given(None, value) if example_inputs_is_kwarg else _given(value, None) for name, value in inputs.items()
    }
    checks = tracing.Checks(check_trace, check_inputs, check_tolerance)
    return tracing.trace_methods(mod, given, strict, checks)


def _given(example_inputs: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example's arguments, by position and by name."""
    if (example_inputs is None) == (kwargs is None):
        raise ArgumentError(
            "trace: pass example_inputs or example_kwarg_inputs, and not both",
            fix="pass the arguments in one of them",
        )
    if kwargs is not None:
        return (), dict(kwargs)
    if isinstance(example_inputs, (Tensor, dict)):
        return (example_inputs,), {}
    return tuple(example_inputs), {}


def save(m: Any, f: FileLike, _extra_files: Mapping[str, Any] | None = None) -> None:
    """Write *m*, which `script` or `trace` gave, as a TorchScript archive, whole or not at all.

    The file holds the program and its tensors: to load it neither the class nor the package that defined it is needed.
    PyTorch's ``torch.jit.load`` reads it, too, if all operators are PyTorch's; a call of one that only polyad has is
    written as ``ops.polyad.name(...)``.

    Args:
        f: a path, whose old file stays until the new file is complete, or a binary file object with ``write``.
        _extra_files: bytes or text to put beside it, by name.

    Raises TypeError for what is no scripted module or function, NotImplementedError for what archives do not hold.

    >>> import io, polyad as torch
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.trace(lambda x: x + 1, torch.ones(2)), file)
    >>> _ = file.seek(0)
    >>> torch.jit.load(file)(torch.zeros(2)).tolist()
    [1.0, 1.0]
    """
    _package("archives.files").save(m, f, _extra_files)


def load(
    f: FileLike,
    map_location: str | Device | None = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """The module in a TorchScript archive, of `save` or of PyTorch; nothing of the file's is run to load it.

    All is checked before anything is made: operators that polyad does not have are named together, then types, then the
    objects. Tensors show the file's memory until they are written to, if *f* is the path of a file here.

    Args:
        f: a path, or a binary file object with ``read``.
        map_location: the device that tensors go to; None for those on which they were.
        _extra_files: a dict whose keys are names of what is beside the program; its values become their bytes.
        _restore_shapes: has no effect.

    Raises RuntimeError for a file that is damaged or holds what polyad does not, NotImplementedError for a program with
    operators that polyad does not have, ValueError for another map_location.

    >>> import io, polyad as torch
    >>> file = io.BytesIO()
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> torch.jit.trace(model, torch.ones(4, 2)).save(file)
    >>> _ = file.seek(0)
    >>> loaded = torch.jit.load(file, map_location="cpu")
    >>> list(loaded.state_dict()), loaded(torch.ones(5, 2)).shape
    (['0.weight', '0.bias'], polyad.Size([5, 3]))
    """
    if not (map_location is None or isinstance(map_location, (str, Device))):
        raise ArgumentError(
            "load: map_location should be either None, string or torch.device, but got type "
            f"{type(map_location).__name__}",
            fix='pass a device such as "cpu"',
        )
    return _package("archives.files").load(f, map_location, _extra_files, _restore_shapes)


def freeze(
    mod: Any,
    preserved_attrs: Sequence[str] | None = None,
    optimize_numerics: bool = True,
    preserve_parameters: bool = False,
) -> Any:
    """A module that does what *mod*, a scripted or traced module in eval mode, does, with its attributes as constants.

    Parameters, buffers and numbers are part of its program, so that it has none to train or to load. Attributes that
    the program writes into stay. Of its methods ``forward`` stays, and those that *preserved_attrs* names.

    Args:
        preserved_attrs: names of attributes and methods to keep. optimize_numerics: whether batch norms are folded into
        the layers before them, which changes results by roundings. preserve_parameters: whether parameters stay
        parameters.

    Raises TypeError for what is no scripted module, RuntimeError for one in training mode, ValueError for unknown
    names.

    >>> import polyad as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
    >>> frozen = torch.jit.freeze(torch.jit.trace(net, torch.ones(1, 2)))
    >>> list(frozen.parameters()), torch.allclose(frozen(torch.ones(3, 2)), net(torch.ones(3, 2)))
    ([], True)
    """
    return _package("optimizing.freezing").freeze(mod, preserved_attrs or (), optimize_numerics, preserve_parameters)


def optimize_for_inference(mod: Any, other_methods: Sequence[str] | None = None) -> Any:
    """*mod* frozen, with batch norms folded into the layers before them; *other_methods* are kept beside ``forward``.

    Raises as `freeze`.

    >>> import polyad as torch
    >>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).eval()
    >>> fast = torch.jit.optimize_for_inference(torch.jit.trace(net, torch.ones(1, 1, 5, 5)))
    >>> torch.jit.export_opnames(fast)
    ['aten::conv2d']
    """
    return _package("optimizing.freezing").freeze(mod, (), True, False, other_methods or ())


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Checks *strategy*, pairs of "STATIC" or "DYNAMIC" and a depth, and gives the one before: PyTorch's executor is
    told by it how often to specialise, and there is none here.

    Raises ValueError for other words.

    >>> import polyad
    >>> polyad.jit.set_fusion_strategy([("DYNAMIC", 3)])
    []
    """
    global _strategy
    for kind, _ in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise ArgumentError(f"set_fusion_strategy: {safe_repr(kind)} is unknown", fix='use "STATIC" or "DYNAMIC"')
    before, _strategy = _strategy, list(strategy)
    return before


_strategy: list[tuple[str, int]] = []


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing: programs run polyad's ops, none of oneDNN's."""


def onednn_fusion_enabled() -> bool:
    """False: programs run polyad's ops, none of oneDNN's.

    >>> import polyad
    >>> polyad.jit.onednn_fusion_enabled()
    False
    """
    return False


class strict_fusion:
    """A context that changes nothing: PyTorch's compiler tells by it what it could not fuse, and there is none here.

    >>> import polyad
    >>> with polyad.jit.strict_fusion():
    ...     print(polyad.ones(1) + 1)
    tensor([2.])
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        pass


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context that changes nothing: PyTorch's executor is told by it whether to optimise, and there is none here.

    >>> import polyad
    >>> with polyad.jit.optimized_execution(False):
    ...     print(polyad.ones(1) + 1)
    tensor([2.])
    """
    yield


def export_opnames(m: Any) -> list[str]:
    """The names of the operators that *m*, a scripted or traced module, calls, in order of the alphabet.

    >>> import polyad as torch
    >>> torch.jit.export_opnames(torch.jit.trace(torch.nn.Linear(2, 3), torch.ones(1, 2)))
    ['aten::linear']
    """
    return _package("optimizing.operators").operators_of(m)  # type: ignore[no-any-return]
