"""The signatures of polyad's functions that are no operators of PyTorch's, from their annotations.

A result whose annotation does not say what it is has its type in `RESULTS`, as a function of what was given.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

from ..types import types as t
from ..types.types import Type
from .schemas import NO_DEFAULT, Argument

__all__ = ["result_of", "signature_of"]

_INTS = t.ListType(t.INT)
_FLOATS = t.ListType(t.FLOAT)
_ANNOTATIONS: dict[str, Type] = {
    "Tensor": t.TENSOR, "int": t.INT, "float": t.union([t.FLOAT, t.INT]), "bool": t.BOOL, "str": t.STR, "None": t.NONE,
    "Number": t.union([t.NUMBER, t.BOOL]), "PerAxis": t.union([t.INT, _INTS]), "Dims": t.union([t.INT, _INTS, t.NONE]),
    "DType": t.DTYPE, "Device": t.union([t.DEVICE, t.STR]), "Sequence[Tensor]": t.ListType(t.TENSOR),
    "Sequence[int]": _INTS, "Sequence[float]": _FLOATS, "list[Tensor]": t.ListType(t.TENSOR), "Any": t.ANY,
    "object": t.ANY, "complex": t.COMPLEX, "Generator": t.GENERATOR, "Size": _INTS, "Shape": _INTS,
    "list[int]": _INTS, "tuple[int, ...]": _INTS, "tuple[Tensor, ...]": t.ListType(t.TENSOR), "Layout": t.LAYOUT,
    "PerAxis | None": t.union([t.INT, _INTS, t.NONE]),
}  # fmt: skip


@cache
def signature_of(function: Any) -> tuple[tuple[Argument, ...], Type, bool]:
    """The arguments, the type of the result (`Any` if no annotation says it), and whether there may be more."""
    signature = inspect.signature(function)
    arguments, variadic = [], False
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            variadic = True
            continue
        default = NO_DEFAULT if parameter.default is parameter.empty else parameter.default
        named = parameter.kind is parameter.KEYWORD_ONLY
        arguments.append(Argument(parameter.name, read(parameter.annotation), default, named))
    return tuple(arguments), read(signature.return_annotation), variadic


def read(annotation: Any) -> Type:
    """The type of an annotation of polyad's; `Any` of one that is not known."""
    if annotation is inspect.Signature.empty:
        return t.ANY
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if text in _ANNOTATIONS:
        return _ANNOTATIONS[text]
    found = re.fullmatch(r"tuple\[(.*)\]", text)
    if found and "..." not in text and text.count("[") == 1:
        return t.TupleType(tuple([read(part) for part in found[1].split(", ")]))
    if " | " in text and "[" not in text.replace("Sequence[", ""):
        return t.union([read(part) for part in re.split(r" \| ", text)])
    parts = text.split(" | ")
    if len(parts) > 1 and all(part in _ANNOTATIONS for part in parts):
        return t.union([_ANNOTATIONS[part] for part in parts])
    return t.ANY


_PAIR = t.TupleType((t.TENSOR, t.TENSOR))
_OPTIONAL_PAIR = t.TupleType((t.TENSOR, t.optional(t.TENSOR)))


def _with_indices(arguments: dict[str, Any]) -> Type:
    """The type of what gives indices if it is asked to."""
    asked = arguments.get("return_indices")
    return _PAIR if asked is not None and getattr(asked, "value", None) is True else t.TENSOR


RESULTS: dict[str, Any] = {
    **dict.fromkeys(
        (f"nn.functional.{kind}max_pool{n}d" for n in (1, 2, 3) for kind in ("", "adaptive_", "fractional_")),
        _with_indices,
    ),
    **dict.fromkeys(
        (
            f"nn.functional.{kind}max_pool{n}d_with_indices"
            for n in (1, 2, 3)
            for kind in ("", "adaptive_", "fractional_")
        ),
        lambda arguments: _PAIR,
    ),
    "nn.functional.multi_head_attention_forward": lambda arguments: _OPTIONAL_PAIR,
}


def result_of(name: str, annotated: Type, arguments: dict[str, Any]) -> Type | None:
    """The type of what a call gives, None if nothing says it."""
    rule = RESULTS.get(name)
    if rule is not None:
        return rule(arguments)
    return None if annotated == t.ANY else annotated
