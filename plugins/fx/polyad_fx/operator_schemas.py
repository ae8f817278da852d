"""Arguments of calls as the signature of what is called has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from polyad import nn

from .names import is_of_torch

__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of a function of polyad's, in a list: there is one. None for other functions.

    With *return_schemas* a pair of that list and of the op's schemas, which functions here have not: None.
    """
    found = _inspected(op) if is_of_torch(op) else None
    signatures = None if found is None else [found]
    return (signatures, None) if return_schemas else signatures


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments with defaults filled in, those after *args* by name; all by name if *normalize_to_only_use_kwargs*.

    None if the function has no signature, takes any number of arguments, or is not called so. Functions have one
    signature, so types are not asked for.

    >>> import polyad as torch
    >>> from polyad.fx.operator_schemas import normalize_function
    >>> normalize_function(torch.nn.functional.relu, (1,))
    ArgsKwargsPair(args=(1,), kwargs={'inplace': False})
    """
    return _normalized(_inspected(target), args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """As `normalize_function`, of the call of the layer of polyad's at a dotted path; None for a class of the user's.

    >>> import polyad as torch
    >>> from polyad.fx.operator_schemas import normalize_module
    >>> normalize_module(torch.nn.Sequential(torch.nn.ReLU()), "0", (1,), None, True)
    ArgsKwargsPair(args=(), kwargs={'input': 1})
    """
    module = root.get_submodule(target)
    if not is_of_torch(type(module)):
        return None
    return _normalized(_inspected(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def _inspected(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _normalized(
    signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool
) -> ArgsKwargsPair | None:
    if signature is None:
        return None
    parameters = signature.parameters.values()
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        return None
    if by_name and any(one.kind is one.POSITIONAL_ONLY for one in parameters):
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    values = list(bound.arguments.items())
    first = 0 if by_name else len(args)
    return ArgsKwargsPair(tuple([value for _, value in values[:first]]), dict(values[first:]))
