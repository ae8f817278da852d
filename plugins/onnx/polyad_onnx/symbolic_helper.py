"""What symbolic functions of libraries take from PyTorch's module of this name; see `register_custom_op_symbolic`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from polyad.errors import ArgumentError, ArgumentTypeError, safe_repr

__all__ = ["parse_args"]

_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "v": lambda value: value,
    "none": lambda value: value,
    "t": lambda value: value,
    "i": int,
    "b": bool,
    "f": float,
    "s": str,
    "is": lambda value: [int(one) for one in value],
    "fs": lambda value: [float(one) for one in value],
}
"""What becomes of an argument, by its descriptor; None stays None."""


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of symbolic functions: their arguments behind the first are converted, each by its descriptor: "v" a
    value of the graph, "i" an int, "f" a float, "b" a bool, "s" a str, "is" and "fs" lists, "t" a tensor.

    Raises ValueError for another descriptor. The function that is made raises TypeError for more arguments than there
    are descriptors, and for one that cannot be converted.

    >>> from polyad.onnx.symbolic_helper import parse_args
    >>> @parse_args("v", "i", "is")
    ... def symbolic(g, x, dim, sizes):
    ...     return x, dim, sizes
    >>> symbolic(None, "x", 1.0, (2, 3))
    ('x', 1, [2, 3])
    """
    for descriptor in arg_descriptors:
        if descriptor not in _CONVERTED:
            raise ArgumentError(
                f"parse_args: there is no descriptor {safe_repr(descriptor)}", fix=f"use one of {', '.join(_CONVERTED)}"
            )

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def symbolic(g: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > len(arg_descriptors):
                raise ArgumentTypeError(
                    f"{fn.__name__}: {len(args)} arguments for {len(arg_descriptors)} descriptors",
                    fix="give parse_args a descriptor for each",
                )
            given = [_by_descriptor(fn.__name__, *pair) for pair in zip(arg_descriptors, args, strict=False)]
            return fn(g, *given, **kwargs)

        return symbolic

    return decorate


def _by_descriptor(name: str, descriptor: str, value: Any) -> Any:
    if value is None:
        return None
    try:
        return _CONVERTED[descriptor](value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{name}: an argument is {safe_repr(value)}, and its descriptor {safe_repr(descriptor)}",
            fix="give parse_args the descriptor of what the op takes there",
        ) from error
