"""Which of PyTorch's overloads a call of an op of polyad's is, and with which arguments.

`aten_call` answers that. Ops whose arguments are PyTorch's need nothing, or a row that names the overload; the others
have a function in `ARGUMENTS`, by the op's name, from a call's values to the overload and its arguments. An op that is
in none of these tables is no op of PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ..base.dtypes import get_default_dtype
from ..base.memory_formats import contiguous_format
from ..base.shapes_and_strides import contiguous_strides, is_contiguous
from ..dispatch.declared import Op
from ..dispatch.effects import Effect
from ..dispatch.structure import Pointwise
from ..tensor import Tensor
from .overloads import OpOverload, overload

Values: TypeAlias = "tuple[Any, ...]"


class Call(NamedTuple):
    """A call of an op of PyTorch's."""

    func: OpOverload
    args: Values
    kwargs: dict[str, Any]


NUMBER_AS_TENSOR = frozenset({"add", "sub", "mul", "div"})
"""Ops whose overload Tensor takes numbers, too."""

TWO_OVERLOADS = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "fmod", "remainder", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "copysign", "masked_fill", "lerp",
})  # fmt: skip
"""Ops with an overload Tensor and an overload Scalar, by what their last operand is."""

AS_THEY_ARE = {
    **dict.fromkeys((
        "mm", "bmm", "dot", "mv", "unsqueeze", "expand", "cumsum", "cumprod", "argmax", "argmin", "topk", "sort",
        "logsumexp", "amax", "amin", "max_all", "min_all", "flip", "roll", "tril", "triu", "relu", "gelu", "silu",
    ), "default"),
    "max_dim": "dim", "min_dim": "dim", "select": "int", "where": "self", "masked_fill": "",
}  # fmt: skip
"""Ops of PyTorch's arguments that are not in `_POINTWISE`, or have one overload for all operands, with that overload;
empty where `TWO_OVERLOADS` says it.
"""

NAMES = {"max_dim": "max", "min_dim": "min", "max_all": "max", "min_all": "min", "concat": "cat"}
"""PyTorch's names of ops that have another one here."""


def aten_call(op: Op | Effect, values: Values) -> Call | None:
    """The call of PyTorch's that a call of *op* with *values* is, None if there is none."""
    rule = ARGUMENTS.get(op.name)
    if rule is not None:
        return rule(values)
    if isinstance(op, Effect):
        if not op.packed or op.caller is not None or op.record is not None:
            return None
        target, others, named = values
        return _aten(op.name, _overload_of(op.name[:-1], (target, *others)), (target, *others), **named)
    if op.name in AS_THEY_ARE or (isinstance(op.structure, Pointwise) and not op.outputs and op.name in _POINTWISE):
        return _aten(NAMES.get(op.name, op.name), _overload_of(op.name, values), _without_defaults(op, values))
    return None


_POINTWISE = frozenset({
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "copysign", "cos", "cosh", "digamma",
    "div", "elu", "eq", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "frac", "gcd", "ge", "gt", "hardsigmoid", "hardswish", "hardtanh", "heaviside", "hypot", "isfinite",
    "isinf", "isnan", "lcm", "le", "leaky_relu", "lerp", "lgamma", "log", "log10", "log1p", "log2", "logaddexp",
    "logaddexp2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mish", "mul", "nan_to_num",
    "ne", "neg", "nextafter", "pow", "reciprocal", "remainder", "round", "rsqrt", "sigmoid", "sign", "signbit", "sin",
    "sinc", "sinh", "softplus", "sqrt", "square", "sub", "tan", "tanh", "trunc", "xlogy",
})  # fmt: skip


def _overload_of(name: str, values: Values) -> str:
    """The overload of a pointwise op, or of one in `AS_THEY_ARE`."""
    if AS_THEY_ARE.get(name):
        return AS_THEY_ARE[name]
    if name == "pow":
        tensors = [isinstance(value, Tensor) for value in values[:2]]
        return "Tensor_Tensor" if all(tensors) else "Tensor_Scalar" if tensors[0] else "Scalar"
    if name in NUMBER_AS_TENSOR:
        return "Tensor"
    if name in TWO_OVERLOADS:
        return "Tensor" if isinstance(values[-1], Tensor) else "Scalar"
    return "default"


def _aten(name: str, which: str, args: Values, **kwargs: Any) -> Call:
    return Call(overload("aten", name, which), args, kwargs)


def _without_defaults(op: Op, values: Values) -> Values:
    defaults = [parameter.default for parameter in op.signature.parameters.values()][: len(values)]
    end = len(values)
    while end > len(op.operands) and _is(values[end - 1], defaults[end - 1], op.names[end - 1]):
        end -= 1
    return tuple([list(value) if value.__class__ is tuple else value for value in values[:end]])


_DEFAULTS: dict[str, Any] = {
    "approximate": "none", "keepdim": False, "largest": True, "sorted": True, "descending": False, "diagonal": 0,
}  # fmt: skip


def _is(value: Any, default: Any, name: str) -> bool:
    known = _DEFAULTS.get(name, default)
    return value is default or (value.__class__ is known.__class__ and value == known)


# --------------------------------------------------------------------------------------------------------- arguments


def _sub(values: Values) -> Call:
    input, other = values
    if isinstance(input, Tensor):
        return _aten("sub", "Tensor", values)
    return _aten("rsub", "Scalar", (other, input))


def _reduced(name: str, some: str, lists: bool = True) -> Callable[[Values], Call | None]:
    def arguments(values: Values) -> Call | None:
        input, dims, keepdim = values
        kept = (True,) if keepdim else ()
        if len(dims) == input.dim() and not keepdim:
            return _aten(name, "default", (input,))
        if not lists and len(dims) != 1:
            return _aten(name, "dims", (input, list(dims), *kept))
        return _aten(name, some, (input, list(dims) if lists else dims[0], *kept))

    return arguments


def _spread(name: str) -> Callable[[Values], Call]:
    def arguments(values: Values) -> Call:
        input, dims, correction, keepdim = values
        given = {"correction": correction} if correction != 1 else {}
        if keepdim:
            given["keepdim"] = True
        whole = len(dims) == input.dim() and not keepdim
        return _aten(name, "correction", (input,) if whole else (input, list(dims)), **given)

    return arguments


def _norm(values: Values) -> Call:
    input, order, dims, keepdim = values
    whole = len(dims) == input.dim() and not keepdim
    if whole:
        return _aten("linalg_vector_norm", "default", (input,) if order == 2 else (input, order))
    return _aten("linalg_vector_norm", "default", (input, order, list(dims), *((True,) if keepdim else ())))


def _addmm(name: str) -> Callable[[Values], Call]:
    def arguments(values: Values) -> Call:
        *operands, beta, alpha = values
        given = {key: value for key, value in (("beta", beta), ("alpha", alpha)) if value != 1}
        return _aten(name, "default", tuple(operands), **given)

    return arguments


def _permute(values: Values) -> Call:
    input, dims = values
    moved = [place for place, dim in enumerate(dims) if place != dim]
    if len(dims) == 2 and moved:
        return _aten("t", "default", (input,))
    if len(moved) == 2:
        return _aten("transpose", "int", (input, *moved))
    return _aten("permute", "default", (input, list(dims)))


def _slice(values: Values) -> Call:
    input, dim, start, size, step = values
    return _aten("slice", "Tensor", (input, dim, start, start + size * step, *((step,) if step != 1 else ())))


def _squeeze(values: Values) -> Call:
    input, dims = values
    return (
        _aten("squeeze", "dim", (input, dims[0])) if len(dims) == 1 else _aten("squeeze", "dims", (input, list(dims)))
    )


def _soft(name: str) -> Callable[[Values], Call]:
    return lambda values: _aten(name, "default", (*values, False))


def _dim_first(name: str) -> Callable[[Values], Call]:
    return lambda values: _aten(name, "default", (values[0], values[2], values[1], *values[3:]))


def _copied(values: Values) -> Call:
    input = values[0]  # of which the copy is row-major
    named = {} if is_contiguous(input._array.shape, input.stride()) else {"memory_format": contiguous_format}
    return _aten("clone", "default", (input,), **named)


def _filled(values: Values) -> Call:
    size, value, dtype, device = values
    named = {} if dtype is get_default_dtype() else {"dtype": dtype}
    named |= {"device": device, "pin_memory": False}
    if isinstance(value, (int, float)) and value in (0, 1) and value.__class__ is not bool:
        return _aten("ones" if value else "zeros", "default", (list(size),), **named)
    return _aten("full", "default", (list(size), value), **{"dtype": dtype, **named})


def _empty(values: Values) -> Call | None:
    size, strides, dtype, device, pinned = values
    if tuple(strides) != contiguous_strides(tuple(size)):
        return None
    named = {} if dtype is get_default_dtype() else {"dtype": dtype}
    return _aten("empty", "memory_format", (list(size),), **named, device=device, pin_memory=pinned)


def _fill_in_place(values: Values) -> Call:
    target, value = values
    if not isinstance(value, Tensor):
        return _aten("zero_", "default", (target,)) if value == 0 else _aten("fill_", "Scalar", values)
    return _aten("fill_", "Tensor", values)


def _convolution(values: Values) -> Call:
    input, weight, bias, stride, padding, dilation, groups = values
    none = [0] * len(stride)
    args = (input, weight, bias, list(stride), list(padding), list(dilation), False, none, groups)
    return _aten("convolution", "default", args)


def _cross_entropy(values: Values) -> Call:
    input, target, weight, reduction, ignored, smoothing = values
    by = ("none", "mean", "sum").index(reduction)
    return _aten("cross_entropy_loss", "default", (input, target, weight, by, ignored, smoothing))


def _embedding(values: Values) -> Call:
    weight, indices, padding, _ = values
    return _aten("embedding", "default", (weight, indices) if padding == -1 else (weight, indices, padding))


def _layer_norm(values: Values) -> Call:
    input, weight, bias, ndim, eps = values
    return _aten("native_layer_norm", "default", (input, list(input._array.shape[-ndim:]), weight, bias, eps))


def _joined(name: str) -> Callable[[Values], Call]:
    return lambda values: _aten(name, "default", (list(values[0]), *((values[1],) if values[1] else ())))


ARGUMENTS: dict[str, Callable[[Values], Call | None]] = {
    "sub": _sub,
    "sum": _reduced("sum", "dim_IntList"),
    "mean": _reduced("mean", "dim"),
    "any": _reduced("any", "dim", lists=False),
    "all": _reduced("all", "dim", lists=False),
    "var": _spread("var"),
    "std": _spread("std"),
    "norm2": _norm,
    "addmm": _addmm("addmm"),
    "baddbmm": _addmm("baddbmm"),
    "permute": _permute,
    "slice": _slice,
    "squeeze": _squeeze,
    "reshape_view": lambda values: _aten("view", "default", (values[0], list(values[1]))),
    "softmax": _soft("_softmax"),
    "log_softmax": _soft("_log_softmax"),
    "gather": _dim_first("gather"),
    "index_select": _dim_first("index_select"),
    "index": lambda values: _aten("index", "Tensor", (values[0], list(values[1]), *values[2:])),
    "full": _filled,
    "empty": _empty,
    "clamp": lambda values: _aten("clamp", "default", values if values[-1] is not None else values[:-1]),
    "cat": _joined("cat"),
    "stack": _joined("stack"),
    "convolution": _convolution,
    "cross_entropy": _cross_entropy,
    "embedding": _embedding,
    "layer_norm": _layer_norm,
    "copy": _copied,
    "cast": lambda values: _aten("_to_copy", "default", values[:1], dtype=values[1]),
    "to_device": lambda values: _aten("_to_copy", "default", values[:1], device=values[1]),
    "detach": lambda values: _aten("detach", "default", values),
    "write": lambda values: _aten("copy_", "default", values[1:]),
    "copy_": lambda values: _aten("copy_", "default", values[:2]),
    "fill_": _fill_in_place,
    "item": lambda values: _aten("_local_scalar_dense", "default", values),
}
"""By an op's or effect's name, what a call is."""
