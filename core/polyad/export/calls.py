"""What submodules of an exported model were called with, and objects of registered classes among arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..base.state import state
from ..base.trees import Tree, flatten, plain, register
from ..errors import ArgumentError, ArgumentTypeError, NotSupported, safe_repr
from ..graph.structure import Ref, replace
from ..jit.capture import Capture
from ..nn.modules.module import Module
from ..tensor import Tensor

__all__ = ["Rebuilding", "SubmoduleCall", "recording", "register_dataclass"]

C = TypeVar("C", bound=type)


def register_dataclass(cls: C, *, serialized_type_name: str | None = None) -> C:
    """Let objects of a dataclass be arguments and results of exported models: their fields are.

    *serialized_type_name* has no effect: files have the fields alone, and no class is needed to read them. Raises
    TypeError if *cls* is no dataclass, ValueError if it is registered.

    >>> import dataclasses, polyad as torch
    >>> @dataclasses.dataclass
    ... class Pair:
    ...     a: torch.Tensor
    ...     b: torch.Tensor
    >>> _ = torch.export.register_dataclass(Pair)
    >>> class Swap(torch.nn.Module):
    ...     def forward(self, pair):
    ...         return Pair(pair.b, pair.a + 1)
    >>> program = torch.export.export(Swap(), (Pair(torch.zeros(1), torch.ones(2)),))
    >>> program.module()(Pair(torch.zeros(1), torch.ones(2)))
    Pair(a=tensor([1., 1.]), b=tensor([1.]))
    """
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise ArgumentTypeError(f"register_dataclass: {safe_repr(cls)} is no dataclass", fix="decorate it as one")
    names = [field.name for field in dataclasses.fields(cls)]
    register(
        cls,
        lambda value: ([getattr(value, name) for name in names], None),
        lambda items, _: cls(**dict(zip(names, items, strict=True))),
    )
    return cls


class Rebuilding:
    """A module as a function of plain structures, with registered classes' items as lists.

    Attributes:
        structure: of the last result.
    """

    def __init__(self, module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.__self__, self.forward = module, module.forward
        self.__qualname__ = type(module).__qualname__
        self.given = flatten((args, dict(kwargs)))[1]
        self.structure: Tree = flatten(None)[1]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given, named = self.given.build(flatten((args, kwargs))[0])
        result = self.__self__(*given, **named)
        self.structure = flatten(result)[1]
        return plain(result)


class SubmoduleCall(NamedTuple):
    """A call of a submodule: arguments and result with a `Ref` in each tensor's place."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


@contextmanager
def recording(module: Module, paths: Iterable[str]) -> Iterator[Callable[[], dict[str, SubmoduleCall]]]:
    """A context in which calls of the submodules at *paths* are noted, while captures go on; gives what tells the first
    call of each in the last capture. Raises ValueError for a path at which there is no submodule.
    """
    known = dict(module.named_modules())
    missing = [path for path in paths if path not in known or not path]
    if missing:
        raise ArgumentError(
            f"export: preserve_module_call_signature has {missing[0]!r}, where there is no submodule",
            fix=f"use some of {', '.join(list(known)[1:6])}",
        )
    calls: dict[str, list[tuple[Capture, Any, Any]]] = {path: [] for path in paths}
    handles = []
    for path in paths:
        handles.append(known[path].register_forward_pre_hook(partial(_before, calls[path]), with_kwargs=True))
        handles.append(known[path].register_forward_hook(partial(_after, calls[path])))
    try:
        yield lambda: {path: _first_of_example(path, found) for path, found in calls.items() if found}
    finally:
        for handle in handles:
            handle.remove()


_NOT_ENDED = object()


def _capture() -> Capture | None:
    return next((mode for mode in reversed(state.modes) if isinstance(mode, Capture)), None)


def _before(calls: list[Any], module: Any, args: Any, kwargs: Any) -> None:
    capture = _capture()
    if capture is not None:
        calls.append([capture, replace((args, kwargs), Tensor, capture.ref), _NOT_ENDED])


def _after(calls: list[Any], module: Any, args: Any, result: Any) -> None:
    capture = _capture()
    if capture is not None:
        calls[-1][2] = replace(result, Tensor, capture.ref)


def _first_of_example(path: str, calls: list[Any]) -> SubmoduleCall:
    """The submodule's first call in the capture of the example; others may number their values otherwise."""
    calls = [call for call in calls if call[2] is not _NOT_ENDED]  # a size at which the submodule fails was tried
    firsts = {id(capture): (given, result) for capture, given, result in reversed(calls)}
    given, result = firsts[id(calls[0][0])]
    if len({repr(replace(one, Ref, lambda _: "value")) for one in firsts.values()}) > 1:
        raise NotSupported(
            f"export: the call of {path} has arguments that follow from sizes",
            fix="leave it out of preserve_module_call_signature",
        )
    args, kwargs = given
    return SubmoduleCall(args, kwargs, result)
