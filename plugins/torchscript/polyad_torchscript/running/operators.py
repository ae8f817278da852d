"""How an operator is carried out: as Python's own operator or method where it is of numbers, text, lists and dicts, and
by polyad's function where it is of tensors.

`implementation` finds the function; operators that become Python's own are in `running.generate`.
"""

from __future__ import annotations

import cmath
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import polyad
from polyad.aten import overloads
from polyad.errors import NotSupported
from polyad.nn.utils import rnn

from ..operators.schemas import Schema
from ..types import types as t
from .futures import Future
from .values import error_of

__all__ = ["ATTRIBUTES", "METHODS", "implementation"]


ATTRIBUTES = {
    f"prim::{name}": name for name in (
        "dtype", "device", "layout", "requires_grad", "is_cuda", "is_mps", "is_xpu", "is_cpu", "is_meta", "data",
        "is_quantized", "is_sparse", "is_mkldnn", "is_nested", "itemsize", "nbytes", "name", "type", "index",
    )
} | {"aten::numpy_T": "T", "aten::mT": "mT", "aten::mH": "mH", "aten::matrix_H": "H", "aten::is_leaf": "is_leaf",
     "aten::grad": "grad", "aten::retains_grad": "retains_grad", "aten::output_nr": "output_nr",
     "prim::EnumName": "name", "prim::EnumValue": "value"}  # fmt: skip
"""Operators that read an attribute."""

METHODS = frozenset(
    {
        "append",
        "extend",
        "insert",
        "remove",
        "reverse",
        "clear",
        "count",
        "index",
        "copy",
        "get",
        "setdefault",
        "popitem",
        "update",
        "find",
        "rfind",
        "rindex",
        "startswith",
        "endswith",
        "isspace",
        "isalpha",
        "isnumeric",
        "islower",
        "isupper",
        "istitle",
        "isprintable",
        "isalnum",
        "isdigit",
        "isdecimal",
        "isidentifier",
        "lower",
        "upper",
        "swapcase",
        "capitalize",
        "title",
        "expandtabs",
        "center",
        "ljust",
        "rjust",
        "zfill",
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "rsplit",
        "splitlines",
        "replace",
        "partition",
        "rpartition",
        "join",
        "casefold",
    }
)
"""Methods of lists, dicts and strings that are Python's of the same name."""


def _sorted_list(values: list[Any]) -> list[Any]:
    return sorted(values)


def _sort_list(values: list[Any], reverse: bool = False) -> None:
    values.sort(reverse=reverse)


def _warn(message: Any, stacklevel: int = 2) -> None:
    warnings.warn(str(message), stacklevel=stacklevel)


def _int_of_tensor(value: Any) -> int:
    """A number that an operator reads from a tensor."""
    return int(value.item() if isinstance(value, polyad.Tensor) else value)


def _round_number(value: float) -> float:
    return float(round(value))


def _number_function(name: str) -> Callable[..., Any]:
    real, imaginary = getattr(math, name, None), getattr(cmath, name, None)

    def call(value: Any) -> Any:
        return imaginary(value) if isinstance(value, complex) else real(value)  # type: ignore[misc]

    return call


def _maximum(*values: Any) -> Any:
    return max(*values)


def _minimum(*values: Any) -> Any:
    return min(*values)


def _dict_of(values: Any = ()) -> Any:
    return dict(values)


def _delete_element(container: Any, key: Any) -> None:
    del container[key]


def _set_element(container: Any, key: Any, value: Any) -> Any:
    container[key] = value
    return container


def _add_list(values: list[Any], other: list[Any]) -> list[Any]:
    values += other
    return values


def _print_values(*values: Any) -> None:
    print(*values)  # noqa: T201 - what the program asks for


def _assert_true(condition: bool, message: str = "") -> None:
    if not condition:
        raise AssertionError(message)


_EXCEPTIONS = {
    f"builtins.{one.__name__}": one
    for one in (
        AssertionError,
        IndexError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
        Exception,
    )
}


def _raise_error(message: str, kind: str | None = None) -> None:
    if kind is None and message.startswith("AssertionError: "):
        kind, message = "builtins.AssertionError", message.removeprefix("AssertionError: ")
    raise error_of(_EXCEPTIONS.get(kind or ""))(message)


def _pop_from(container: Any, *given: Any) -> Any:
    return container.pop(*given)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, complex) or isinstance(b, complex):
        return a**b
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf


def _unwrap_optional(value: Any) -> Any:
    if value is None:
        raise RuntimeError("unwrapping None: an Optional that must have a value has none")
    return value


def _arange_list(low: int, high: int | None = None, step: int = 1) -> list[int]:
    return list(range(low) if high is None else range(low, high, step))


def _format_text(template: str, *values: Any) -> str:
    return template.format(*values)


def _percent(template: str, *values: Any) -> str:
    return template % values


def _no_nested(name: str) -> Callable[..., Any]:
    """What an operator of nested tensors does: programs may have it where they do not come."""

    def refuse(*given: Any) -> Any:
        shapes = [tuple(one.shape) for one in given if isinstance(one, polyad.Tensor)]
        raise NotSupported(
            f"script: {name} of tensors of shapes {shapes}: polyad has no nested tensors",
            fix="make the model with enable_nested_tensor=False, or call it without src_key_padding_mask",
        )

    return refuse


def _pack_sequences(input: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
    """The elements of sequences whose lengths fall, step by step, and how many each step has."""
    packed = rnn.pack_padded_sequence(input, lengths, batch_first)
    return packed.data, packed.batch_sizes


def _pad_sequences(data: Any, batch_sizes: Any, batch_first: bool, padding_value: float, total_length: int) -> Any:
    """The way back; a *total_length* of 0 or less says nothing."""
    packed = rnn.PackedSequence(data, batch_sizes)
    return rnn.pad_packed_sequence(packed, batch_first, padding_value, total_length if total_length > 0 else None)


def _wait_for(future: Future[Any]) -> Any:
    return future.wait()


NUMBERS: dict[str, Callable[..., Any]] = {
    **{f"aten::{name}": _number_function(name) for name in (
        "sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
        "acosh", "atanh",
    )},
    **{f"aten::{name}": getattr(math, name) for name in (
        "floor", "ceil", "log1p", "expm1", "erf", "erfc", "gamma", "lgamma", "fabs", "factorial", "degrees", "radians",
        "atan2", "fmod", "copysign", "ldexp", "frexp", "modf", "gcd", "isnan", "isinf", "isfinite", "pow",
    )},
    "aten::log2": math.log2,
    "aten::mathremainder": math.remainder,
    "aten::polar": cmath.rect,
    "aten::angle": cmath.phase,
    "aten::round": _round_number,
    "aten::pow": _power,
    "prim::abs": abs,
    "aten::abs": abs,
    "prim::max": _maximum,
    "prim::min": _minimum,
    "aten::divmod": divmod,
    "aten::chr": chr,
    "aten::ord": ord,
    "aten::hex": hex,
    "aten::oct": oct,
    "aten::bin": bin,
    "aten::hash": hash,
    "aten::Complex": complex,
}  # fmt: skip
"""Operators of numbers, by polyad's or Python's function."""

OTHERS: dict[str, Callable[..., Any]] = {
    "aten::IntImplicit": _int_of_tensor,
    "aten::FloatImplicit": float,
    "aten::ComplexImplicit": complex,
    "aten::ScalarImplicit": lambda value: value.item(),
    "aten::sorted": _sorted_list,
    "aten::sort": _sort_list,
    "aten::warn": _warn,
    "aten::dict": _dict_of,
    "aten::Delete": _delete_element,
    "aten::list": list,
    "aten::keys": lambda value: list(value.keys()),
    "aten::values": lambda value: list(value.values()),
    "aten::items": lambda value: list(value.items()),
    "aten::pop": _pop_from,
    "aten::any": any,
    "aten::all": all,
    "aten::sum": sum,
    "aten::add_": _add_list,
    "aten::format": _format_text,
    "aten::percentFormat": _percent,
    "aten::_unwrap_optional": _unwrap_optional,
    "prim::unchecked_unwrap_optional": _unwrap_optional,
    "aten::size": lambda value: list(value.shape),
    "aten::device": polyad.device,
    "aten::wait": _wait_for,
    "aten::_pack_padded_sequence": _pack_sequences,
    "aten::_pad_packed_sequence": _pad_sequences,
    "aten::is_grad_enabled": polyad.is_grad_enabled,
    "aten::set_grad_enabled": lambda mode: polyad.set_grad_enabled(mode) and None,
    "aten::is_autocast_enabled": lambda *device: polyad.is_autocast_enabled(*device),
    "aten::is_autocast_cpu_enabled": lambda: polyad.is_autocast_enabled("cpu"),
    "aten::manual_seed": lambda seed: polyad.manual_seed(seed) and None,
    "aten::str": str,
    "aten::_set_item": _set_element,
    "prim::RaiseException": _raise_error,
    "prim::unchecked_cast": lambda value: value,
    "prim::rangelist": lambda count: list(range(count)),
    "aten::__range_length": lambda low, high, step: len(range(low, high, step)),
    "aten::__derive_index": lambda index, start, step: start + index * step,
    "prim::Print": _print_values,
    "prim::Assert": _assert_true,
    "prim::max": _maximum,
    "prim::min": _minimum,
    "prim::tolist": lambda value: value.tolist(),
    "prim::NumToTensor": polyad.tensor,
    "aten::hash": hash,
    "aten::get_device": lambda value: value.get_device(),
    "aten::stride": lambda value, *dim: value.stride(*dim) if dim else list(value.stride()),
    **{f"aten::{name}": _no_nested(name) for name in (
        "_nested_tensor_from_mask", "_nested_tensor_from_mask_left_aligned", "to_padded_tensor",
    )},
}  # fmt: skip
"""Operators that are no function of polyad's."""


def implementation(schema: Schema) -> Callable[..., Any] | None:
    """What carries out an operator, None if nothing does."""
    name = schema.name
    of_tensors = any(_holds_tensor(argument.type) for argument in schema.arguments) or _holds_tensor(schema.result)
    if not of_tensors or name in ("prim::max", "prim::min", "prim::abs"):
        found = NUMBERS.get(name) or OTHERS.get(name)
        if found is not None:
            return found
    if name in OTHERS and not (name in _OF_LISTS and _is_of_tensors(schema)):
        return OTHERS[name]
    namespace, _, short = name.partition("::")
    found = overloads._call_of("aten", short) if namespace == "aten" else None
    if found is not None and any(argument.name == "out" for argument in schema.arguments):
        return _writing_out(found)
    return found


def _writing_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """*function* that writes its result into a tensor *out*, of whatever shape that was."""
    if "out" in inspect.signature(function).parameters:
        return function

    def call(*args: Any, out: polyad.Tensor, **named: Any) -> Any:
        found = function(*args, **named)
        return out.resize_(found.shape).copy_(found)

    return call


_OF_LISTS = frozenset({"aten::any", "aten::all", "aten::sum", "aten::sort", "aten::values", "aten::add_", "aten::size"})
"""Operators of lists and dicts whose names polyad's functions of tensors have, too."""


def _is_of_tensors(schema: Schema) -> bool:
    """Whether the first argument is a tensor; of ``size``, whether a dimension is asked for."""
    if schema.name == "aten::size":
        return len(schema.arguments) > 1
    return bool(schema.arguments) and schema.arguments[0].type == t.TENSOR


def _holds_tensor(type: t.Type) -> bool:
    return type == t.TENSOR or any(map(_holds_tensor, type.parts()))
