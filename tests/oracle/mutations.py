"""Hypothesis strategies for calls that the samples do not make: other dtypes, shapes, layouts, values, parameters.

A call begins as a sample and is changed step by step; most changes keep it valid, some make it one that both libraries
must refuse. What keeps it valid needs no knowledge of the function: a size that occurs several times in a call is
changed everywhere at once, so that a product of matrices stays one; the arguments of an elementwise function are drawn
anew so that they broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from polyad.base.dtypes import ALL, DType, bfloat16, bool_, complex64, float16, float32, float64, int64, uint8
from polyad.dispatch.op import PUBLIC
from polyad.dispatch.structure import Pointwise
from polyad.interop.numpy import numpy_dtype

from .calls import Call, Given, contiguous, every_layout, leaves, mapped
from .forms import basic_form, has_method, keyword_form, takes_out
from .libraries import TORCH
from .outcomes import Result, observe
from .templates import templates_of

Draw = Callable[..., Any]

COMMON = (float32, float32, float64, int64, bool_, float16, bfloat16, complex64, uint8)
FLOAT_EDGES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-3, 20.0, -100.0, 1e4)
INTEGER_EDGES = (0, 1, -1, 2, 3, 7, 31, 64, 100, 127)
NUMBERS = (0, 1, 2, -1, -3, 0.0, 0.5, -1.5, 2.0, True, False, float("nan"), float("inf"), 1j, 2 - 1j)
HARMLESS_SIZES = 5


@st.composite
def calls(draw: Draw, path: str) -> Call:
    """A call of the function at *path*."""
    template = draw(st.sampled_from(templates_of(path)))
    dtype = draw(st.sampled_from(template.dtypes))
    args, kwargs = template.draw(dtype, draw(st.integers(0, 999)))
    tree: Any = {"args": list(args), "kwargs": dict(kwargs)}
    main = numpy_dtype(dtype)
    if draw(st.integers(0, 3)):
        tree = draw(_reshaped(tree, main, _is_elementwise(path)))
    if draw(st.booleans()):
        tree = draw(_retyped(tree, main))
    if draw(st.booleans()):
        tree = draw(_with_edges(tree, main))
    if draw(st.integers(0, 2)) == 0:
        # Python itself calls operators, with all of their operands.
        tree = draw(_with_other_parameters(tree, leave_out=not path.startswith("Tensor.__")))
    if draw(st.integers(0, 5)) == 0:
        tree = draw(_with_numbers(tree, main))
    tree = draw(_laid_out(tree, template.expand))
    known = {"reference": template.reference, "magnitude": template.magnitude}
    call = basic_form(Call(path, tuple(tree["args"]), tree["kwargs"], **known))
    return draw(_in_a_form(call))


def _is_elementwise(path: str) -> bool:
    public = PUBLIC.get(path)
    return public is not None and public.op is not None and isinstance(public.op.structure, Pointwise)


# ------------------------------------------------------------------------------------------------------------ shapes


@st.composite
def _reshaped(draw: Draw, tree: Any, main: np.dtype, elementwise: bool) -> Any:
    arrays = [leaf for leaf in leaves(tree) if isinstance(leaf, np.ndarray)]
    if not arrays:
        return tree
    choice = draw(st.sampled_from(["sizes", "sizes", "sizes", "a dimension more", "a dimension less", "one size"]))
    if elementwise and draw(st.integers(0, 4)):
        shapes = draw(_broadcastable(len(arrays)))
        turn = iter(shapes)
        return mapped(tree, np.ndarray, lambda array: np.resize(array, next(turn)) if array.size else array)
    if choice == "sizes":
        sizes = sorted({size for array in arrays for size in array.shape})
        drawn = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 4, 5]), min_size=len(sizes), max_size=len(sizes)))
        renamed = dict(zip(sizes, drawn))
        if 1 in renamed and draw(st.booleans()):
            renamed[1] = 1  # what is broadcast stays so
        changed = mapped(tree, np.ndarray, lambda array: _resized(array, [renamed[size] for size in array.shape]))
        if draw(st.booleans()):
            changed = _renamed_numbers(changed, renamed)
        return changed
    position = draw(st.integers(0, len(arrays) - 1))
    turn_ = iter(range(len(arrays)))

    def one(array: np.ndarray) -> np.ndarray:
        if next(turn_) != position:
            return array
        if choice == "a dimension more":
            return np.repeat(array[None], draw(st.integers(1, 3)), 0)
        if choice == "a dimension less" and array.ndim:
            return np.array(array[0]) if array.shape[0] else np.array(array.reshape(-1)[:0])
        shape = list(array.shape)
        if shape:
            shape[draw(st.integers(0, len(shape) - 1))] = draw(st.integers(0, 4))
        return _resized(array, shape)

    return mapped(tree, np.ndarray, one)


def _resized(array: np.ndarray, shape: list[int]) -> np.ndarray:
    """The elements again, as many as *shape* has."""
    count = int(np.prod(shape))
    if array.size == 0:
        return np.ones(shape, array.dtype)
    return np.resize(array, count).reshape(shape)


def _renamed_numbers(tree: Any, renamed: dict[int, int]) -> Any:
    """Integers among the parameters that are sizes of arguments follow them: ``view(x, (3, 4))``."""

    def one(value: Any) -> Any:
        return renamed.get(value, value) if type(value) is int and value > 1 else value

    return mapped(tree, int, one)


@st.composite
def _broadcastable(draw: Draw, count: int) -> list[tuple[int, ...]]:
    full = draw(st.lists(st.sampled_from([0, 1, 2, 2, 3, 4]), max_size=4))
    shapes = []
    for _ in range(count):
        shape = [size if draw(st.integers(0, 3)) else 1 for size in full]
        shapes.append(tuple(shape[draw(st.integers(0, len(shape))) if draw(st.booleans()) else 0 :]))
    return shapes


# ------------------------------------------------------------------------------------------------------------ dtypes


@st.composite
def _retyped(draw: Draw, tree: Any, main: np.dtype) -> Any:
    together = draw(st.sampled_from(ALL)) if draw(st.booleans()) else None

    def one(array: np.ndarray) -> np.ndarray:
        if array.dtype != main:
            return array
        target = together or draw(st.sampled_from(COMMON))
        return _converted(array, target)

    changed = mapped(tree, np.ndarray, one)
    if draw(st.integers(0, 3)) == 0:
        changed = mapped(changed, DType, lambda dtype: draw(st.sampled_from(ALL)))
    return changed


def _converted(array: np.ndarray, dtype: DType) -> np.ndarray:
    twin = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and twin.kind != "c":
            array = array.real
        if twin.kind in "iu":
            array = np.nan_to_num(np.asarray(array, np.float64) if array.dtype.kind not in "iub" else array)
            array = np.clip(array, 0 if twin.kind == "u" else -100, 100)
        return np.asarray(array.astype(twin))


# ------------------------------------------------------------------------------------------------------------ values


@st.composite
def _with_edges(draw: Draw, tree: Any, main: np.dtype) -> Any:
    def one(array: np.ndarray) -> np.ndarray:
        kind = array.dtype.kind
        if array.dtype != main and kind in "iub":
            return array  # an index or a mask
        if not array.size or kind == "b":
            return array
        array = np.array(array)
        for _ in range(draw(st.integers(0, min(3, array.size)))):
            place = draw(st.integers(0, array.size - 1))
            if kind in "iu":
                value: Any = draw(st.sampled_from(INTEGER_EDGES))
                value = abs(value) if kind == "u" else value
            else:
                value = draw(st.sampled_from(FLOAT_EDGES))
                if kind == "c" and np.isfinite(value):
                    value = complex(value, draw(st.sampled_from([0.0, 1.0, -0.5])))
            with np.errstate(all="ignore"):
                array.reshape(-1)[place] = value
        return array

    return mapped(tree, np.ndarray, one)


@st.composite
def _with_numbers(draw: Draw, tree: Any, main: np.dtype) -> Any:
    """A Python number or a 0-d tensor in the place of a tensor, or a tensor in the place of a number."""
    args = list(tree["args"])
    places = [i for i, value in enumerate(args) if isinstance(value, np.ndarray) and value.dtype == main]
    if not places:
        return tree
    place = draw(st.sampled_from(places))
    kind = draw(st.sampled_from(["number", "0-d", "another"]))
    if kind == "0-d":
        args[place] = np.asarray(draw(st.sampled_from((1, 0, 2)))).astype(numpy_dtype(draw(st.sampled_from(COMMON))))
    elif kind == "number":
        args[place] = draw(st.sampled_from(NUMBERS))
    else:
        args[place] = _converted(args[place], draw(st.sampled_from(COMMON))).reshape(-1)[:1]
    return {**tree, "args": args}


# -------------------------------------------------------------------------------------------------------- parameters


@st.composite
def _with_other_parameters(draw: Draw, tree: Any, leave_out: bool) -> Any:
    kwargs = dict(tree["kwargs"])
    for name in list(kwargs):
        if draw(st.integers(0, 3)) == 0:
            del kwargs[name]
    budget = [draw(st.integers(1, 2))]

    def one(value: Any) -> Any:
        if budget[0] <= 0 or draw(st.booleans()):
            return value
        budget[0] -= 1
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return draw(st.integers(-HARMLESS_SIZES, HARMLESS_SIZES) | st.booleans())
        if isinstance(value, float):
            return draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0, value * 2]))
        return value

    changed = mapped({"args": tree["args"][1:], "kwargs": kwargs}, (bool, int, float), one)
    rest = changed["args"]
    if rest and leave_out and draw(st.integers(0, 7)) == 0:
        rest = rest[:-1]  # a dimension, a size, an operand is not named
    return {"args": [*tree["args"][:1], *rest], "kwargs": changed["kwargs"]}


# ---------------------------------------------------------------------------------------------------- layouts, forms


@st.composite
def _laid_out(draw: Draw, tree: Any, expand: bool) -> Any:
    plain = draw(st.booleans())

    def one(array: np.ndarray) -> Given:
        found = every_layout(array)
        if not expand:
            found.pop("expanded", None)
        return found["contiguous"] if plain else found[draw(st.sampled_from(sorted(found)))]

    return mapped(tree, np.ndarray, one)


@st.composite
def _in_a_form(draw: Draw, call: Call) -> Call:
    if call.form != "function":
        return call if call.form == "property" or draw(st.booleans()) else call.with_gradients()
    form = draw(st.sampled_from(["gradient", "gradient", "function", "method", "in place", "out", "keywords"]))
    if form == "method" and has_method(call):
        return replace(call, form="method").with_gradients()
    if form == "in place" and has_method(call, "_"):
        return replace(call, form="in place")
    if form == "out" and takes_out(call.path):
        return draw(_with_out(call))
    if form == "keywords":
        made = keyword_form(call)
        if made is not None and not isinstance(observe(TORCH, made).error, TypeError):
            return made
    return call if form == "function" else call.with_gradients()


@st.composite
def _with_out(draw: Draw, call: Call) -> Call:
    outcome = observe(TORCH, call)
    if outcome.error is not None or not all(isinstance(one, Result) for one in outcome.results):
        return call
    outs = []
    for one in outcome.results:
        if not isinstance(one.dtype, DType):
            return call
        shape = one.shape if draw(st.integers(0, 4)) else (0,)
        dtype = one.values.dtype if draw(st.integers(0, 3)) else numpy_dtype(draw(st.sampled_from(COMMON)))
        zeros = np.zeros(shape, dtype)
        laid = every_layout(zeros)
        laid.pop("expanded", None)
        outs.append(laid[draw(st.sampled_from(sorted(laid)))] if shape == one.shape else contiguous(zeros))
    out = outs[0] if len(outs) == 1 else tuple(outs)
    return replace(call, kwargs={**call.kwargs, "out": out}, form="out", grad=False)
