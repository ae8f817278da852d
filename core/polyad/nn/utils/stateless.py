"""A module as a function of its parameters: `functional_call` puts other tensors in their place for a call.

Invariant: whatever the call does, also if it raises, the module has its own members again afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from ...arguments import check_type, explain
from ...errors import ArgumentError, PolyadError, safe_repr
from ...tensor import Tensor
from ..modules.module import Module, require_module
from ..registration import ModuleAttributeError

__all__ = ["functional_call"]

Place = tuple[Module, str]


class KeysError(PolyadError, RuntimeError):
    """Names that a module has not, or lacks, where all of them were to be given."""


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call *module* with other parameters and buffers.

    Args:
        module: what to call; afterwards it is as it was.
        parameters_and_buffers: tensors by the names of ``named_parameters()`` and ``named_buffers()``, or None for a
            layer without the parameter; by other names, attributes that the modules have during the call.
        args, kwargs: what to call it with; *args* is a tuple or a single argument.
        tie_weights: give a tensor that the module has under several names to all of them.
        strict: raise RuntimeError unless exactly the module's own names are given.

    A buffer that the call replaces (``self.count = self.count + 1``) is replaced in *parameters_and_buffers*, and a
    buffer that it writes in place is written there.

    Raises TypeError for a value that is no tensor, ValueError for different values under tied names, AttributeError for
    a path through submodules that does not exist.

    >>> import polyad
    >>> from polyad import nn
    >>> from polyad.nn.utils.stateless import functional_call
    >>> layer = nn.Linear(2, 1)
    >>> functional_call(layer, {"weight": polyad.ones(1, 2), "bias": polyad.zeros(1)}, polyad.tensor([[1.0, 2.0]]))
    tensor([[3.]])
    """
    require_module("functional_call", module)
    for name, value in parameters_and_buffers.items():
        check_type("functional_call", name, value, (Tensor, type(None)), "a tensor")
    ties = _ties(module) if tie_weights else {}
    if strict:
        _check_names(module, parameters_and_buffers, ties)
    values = _tied(parameters_and_buffers, ties)
    called = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, values, parameters_and_buffers):
        return module(*called, **(kwargs or {}))


def _names(module: Module) -> list[tuple[str, Tensor]]:
    return [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]


def _ties(module: Module) -> dict[str, tuple[str, ...]]:
    """For each name of a tensor that the module has under several names, all of them."""
    groups: dict[int, list[str]] = {}
    for name, tensor in _names(module):
        groups.setdefault(id(tensor), []).append(name)
    return {name: tuple(group) for group in groups.values() if len(group) > 1 for name in group}


def _tied(given: Mapping[str, Tensor], ties: Mapping[str, tuple[str, ...]]) -> dict[str, Tensor]:
    values = dict(given)
    for name, value in given.items():
        for other in ties.get(name, ()):
            if values.setdefault(other, value) is not value:
                raise ArgumentError(
                    f"functional_call: {safe_repr(name)} and {safe_repr(other)} are one tensor in the module and were "
                    "given two values",
                    operands={name: value, other: values[other]},
                    fix="give one of them, or pass tie_weights=False",
                )
    return values


def _check_names(module: Module, given: Mapping[str, Tensor], ties: Mapping[str, tuple[str, ...]]) -> None:
    own = {name for name, _ in _names(module)}
    covered = {other for name in given for other in ties.get(name, (name,))}
    missing, unexpected = sorted(own - covered), sorted(set(given) - own)
    notes = {"missing": ", ".join(missing)} if missing else {}
    if unexpected:
        notes["unexpected"] = ", ".join(unexpected)
    if notes:
        raise KeysError(
            f"functional_call: the names given are not those of {type(module).__name__}, as strict=True demands",
            notes=notes,
            fix="give exactly the names of named_parameters() and named_buffers(), or pass strict=False",
        )


_ABSENT = object()
"""What a module has under a name that it has not."""


@contextmanager
def _replaced(module: Module, values: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> Iterator[None]:
    places: list[tuple[str, Place, Any]] = []
    for name in values:
        path, _, last = name.rpartition(".")
        owner = module.get_submodule(path)
        if isinstance(owner, Module) and owner._roles.get(last) in ("parameter", "buffer"):
            places.append((name, (owner, last), owner.__dict__[last]))
        elif not hasattr(owner, last):
            places.append((name, (owner, last), _ABSENT))
        elif path:
            raise ModuleAttributeError(
                f"functional_call: {safe_repr(name)} is neither a parameter nor a buffer of {type(owner).__name__}",
                fix="give names of named_parameters() and named_buffers()",
            )
    for name, (owner, last), _ in places:
        owner.__dict__[last] = values[name]
    try:
        yield
        for name, (owner, last), _ in places:
            now = owner.__dict__.get(last)
            if name in given and now is not given[name] and isinstance(given, MutableMapping) and now is not None:
                given[name] = now
    finally:
        for _, (owner, last), before in places:
            if before is _ABSENT:
                owner.__dict__.pop(last, None)
            else:
                owner.__dict__[last] = before


explain(globals())
