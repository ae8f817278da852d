"""PyTorch's ops on lists of tensors, ``polyad._foreach_add`` and its kin: optimizers of other libraries call them.

Each is the op of that name on one tensor after the other. What is beside the first list is a list too, with an item for
each tensor, or stands for all of them. They return a tuple. A name that ends in ``_`` writes into the tensors and
returns their list; one that fails has written to none of them.

To add one, add its name to the table of its form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from . import functions
from .dispatch.inplace import check_writable
from .errors import ArgumentTypeError, ShapeError, safe_repr
from .history.grad_mode import no_grad
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
    if isinstance(value, Tensor):
        packed = op.startswith("addc") and name == "argument 4"
        if value.dim() != packed:
            plain = op.removesuffix("_")
            raise (ShapeError if packed or plain in ("add", "div", "mul") else ArgumentTypeError)(
                f"_foreach_{op}: scalar tensor expected to be {packed:d} dim but it has {value.dim()} dimensions and "
                f"{value.numel()} elements",
                operands={name: value},
                fix="pass a number, or a list with an item for each tensor",
            )
        value = value.tolist() if packed else value
    if not isinstance(value, list | tuple):
        return (value,) * count
    if len(value) != count:
        raise ShapeError(
            f"_foreach_{op}: {name} has {len(value)} items for {count} tensors", fix="pass lists of equal length"
        )
    return value


def _map_tensors(op: str, self: Any, *others: Any, **options: Any) -> Tensors:
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
        return tuple([functions.pow(self, exponent) for exponent in exponents])
    tensors = _checked_list(op, self)
    if plain in ("add", "sub") and len(given) == 2:
        options["alpha"] = given.pop()
    columns = [_for_each(op, len(tensors), value, f"argument {number}") for number, value in enumerate(given, 2)]
    rows = list(zip(tensors, *columns, strict=True))
    if in_place:
        _check_writes(plain, rows, options)
    results = tuple([_apply(plain, in_place, row, options) for row in rows])
    return tensors if in_place else results


def _check_writes(op: str, rows: Sequence[Sequence[Any]], options: dict[str, Any]) -> None:
    """Raise what a write into one of the tensors would raise, before the first is written to."""
    for tensor, *others in rows:
        check_writable(f"{op}_", tensor, one_value=op == "zero")
        if not (tensor.is_floating_point() and all(_certainly_fits(tensor, other) for other in others)):
            with no_grad():
                _apply(op, True, (tensor.detach().clone(), *others), options)


def _certainly_fits(tensor: Tensor, other: Any) -> bool:
    """Whether any op that writes into *tensor*, which is floating, takes *other*."""
    if not isinstance(other, Tensor):
        return other.__class__ in (int, float)
    return other.dtype is tensor.dtype and other.device == tensor.device and other.shape in ((), tensor.shape)


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


def _norms(self: Tensors, ord: float = 2, dtype: Any = None) -> Tensors:
    """The norm of each tensor's elements."""
    return tuple([vector_norm(one, ord, dtype=dtype) for one in _checked_list("norm", self)])


def _powsum(self: Tensors, ord: float = 2, dtype: Any = None) -> Tensors:
    """The sum of the powers of each tensor's magnitudes."""
    return tuple([one.abs().pow(ord).sum(dtype=dtype) for one in _checked_list("powsum", self)])


def _copy_(self: Tensors, src: Tensors, non_blocking: bool = False) -> Tensors:
    """Write each tensor of *src* into the one of *self*."""
    targets = _checked_list("copy_", self)
    rows = list(zip(targets, _for_each("copy_", len(targets), _checked_list("copy_", src, "src"), "src"), strict=True))
    options = {"non_blocking": non_blocking}
    _check_writes("copy", rows, options)
    for row in rows:
        _apply("copy", True, row, options)
    return targets
