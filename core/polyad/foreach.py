"""PyTorch's ops on lists of tensors, ``polyad._foreach_add`` and its kin: optimizers of other libraries call them.

Each is the op of that name on one tensor after the other. What is beside the first list is a list too, with an item for
each tensor, or stands for all of them. A name that ends in ``_`` writes into the tensors and returns None.

To add one, add its name to the table of its form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from . import functions
from .errors import ArgumentError, ArgumentTypeError, ShapeError, safe_repr
from .ops.linalg.norms import vector_norm
from .tensor import Tensor

__all__ = ["function"]

Tensors = Sequence[Tensor]

POINTWISE = frozenset(
    (
        *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac"),
        *("lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin"),
        *("sinh", "sqrt", "tan", "tanh", "trunc"),
    )
)
WITH_OTHERS = frozenset(
    ("add", "addcdiv", "addcmul", "clamp_max", "clamp_min", "div", "lerp", "maximum", "minimum", "mul", "pow", "sub")
)
ALONE = frozenset(("clone", "max", "mm"))  # not in place
LIMITS = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""The op for a number where the other is for tensors."""


def names() -> list[str]:
    """The names of all of them."""
    both = POINTWISE | WITH_OTHERS
    apart = {"norm", "powsum", "copy_", "zero_"}
    return sorted(f"_foreach_{name}" for name in both | {f"{name}_" for name in both} | ALONE | apart)


def function(name: str) -> Callable[..., Any]:
    """The function called *name*, as ``_foreach_add_``. Raises AttributeError if there is none."""
    if name not in names():
        raise AttributeError(f"module 'polyad' has no attribute {name!r}")
    op = name.removeprefix("_foreach_")
    special = {"norm": _norms, "powsum": _powsum, "copy_": _copy_}.get(op)
    found: Any = special if special is not None else partial(_map_tensors, op)
    if special is None:
        found.__name__, found.__doc__ = name, f"``Tensor.{op}`` of each tensor of the first list."
    return found  # type: ignore[no-any-return]


def _checked_list(op: str, given: Any, name: str = "self") -> Tensors:
    """*given*, if it is a list of tensors; raises TypeError or ShapeError otherwise."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, Tensor) for one in given):
        raise ArgumentTypeError(f"_foreach_{op}: {name} is {safe_repr(given)}", fix="pass a list of tensors")
    if not given:
        raise ShapeError(f"_foreach_{op}: {name} is empty", fix="pass at least one tensor")
    return given


def _for_each(op: str, count: int, value: Any, name: str) -> Sequence[Any]:
    """*value* for each of *count* tensors."""
    if isinstance(value, Tensor) and value.dim() == 1 and op.startswith("addc"):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (value,) * count
    if len(value) != count:
        raise ShapeError(
            f"_foreach_{op}: {name} has {len(value)} items for {count} tensors", fix="pass lists of equal length"
        )
    return value


def _map_tensors(op: str, self: Any, *others: Any, **options: Any) -> list[Any] | None:
    """``Tensor.<op>`` of each tensor of *self*, with the items of *others* in its place."""
    in_place = op.endswith("_") and op.removesuffix("_") in POINTWISE | WITH_OTHERS | {"zero"}
    plain = op.removesuffix("_") if in_place else op
    wanted = {"add": (1, 1), "sub": (1, 1), "lerp": (2, 2), "addcmul": (2, 3), "addcdiv": (2, 3), "mm": (1, 1)}
    given = [*others, *(options.pop(name) for name in _BEHIND_THE_FIRST.get(plain, ()) if name in options)]
    least, most = wanted.get(plain, (1, 1) if plain in WITH_OTHERS else (0, 0))
    if not least <= len(given) <= most + (plain in ("add", "sub")):
        raise ArgumentTypeError(
            f"_foreach_{op}: {len(given)} arguments behind the first", fix=f"pass {least} to {most} of them"
        )
    if plain == "pow" and not isinstance(self, list | tuple):
        exponents = _checked_list(op, given[0], "exponent")
        return [functions.pow(self, exponent) for exponent in exponents]
    tensors = _checked_list(op, self)
    if plain in ("add", "sub") and len(given) == 2:
        options["alpha"] = given.pop()
    columns = [_for_each(op, len(tensors), value, f"argument {number}") for number, value in enumerate(given, 2)]
    results = [_apply(plain, in_place, row, options) for row in zip(tensors, *columns, strict=True)]
    return None if in_place else results


_BEHIND_THE_FIRST = {
    **dict.fromkeys(("addcmul", "addcdiv"), ("tensor1", "tensor2", "value", "scalars")),
    **dict.fromkeys(("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"),
                    ("scalar", "other", "scalars")),
    "lerp": ("tensors1", "weight", "weights"),
    "mm": ("mat2",),
    "pow": ("exponent",),
}  # fmt: skip
"""How PyTorch calls what is behind the first list; of those that name one place, one is given."""


def _apply(op: str, in_place: bool, row: Sequence[Any], options: dict[str, Any]) -> Any:
    tensor, *others = row
    if op in LIMITS and not isinstance(others[0], Tensor):
        op = LIMITS[op]
    if op in ("addcmul", "addcdiv") and len(others) == 3:
        options = {"value": others.pop()}
    if in_place and op in ("maximum", "minimum"):
        return tensor.copy_(getattr(tensor, op)(*others))
    return getattr(tensor, f"{op}_" if in_place else op)(*others, **options)


def _norms(self: Tensors, ord: float = 2, dtype: Any = None) -> list[Tensor]:
    """The norm of each tensor's elements."""
    return [vector_norm(one, ord, dtype=dtype) for one in _checked_list("norm", self)]


def _powsum(self: Tensors, ord: float = 2, dtype: Any = None) -> list[Tensor]:
    """The sum of the powers of each tensor's magnitudes."""
    return [one.abs().pow(ord).sum(dtype=dtype) for one in _checked_list("powsum", self)]


def _copy_(self: Tensors, src: Tensors, non_blocking: bool = False) -> None:
    """Write each tensor of *src* into the one of *self*."""
    targets, sources = _checked_list("copy_", self), _checked_list("copy_", src, "src")
    if len(targets) != len(sources):
        raise ArgumentError(
            f"_foreach_copy_: {len(sources)} tensors for {len(targets)}", fix="pass lists of equal length"
        )
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source, non_blocking)
