"""The further forms of a call: as a method, in place, with ``out=``, with keywords."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import polyad
from polyad.base.dtypes import DType, bool_, complex64, complex128, float32, float64, int64
from polyad.dispatch.op import PUBLIC
from polyad.interop.numpy import numpy_dtype

from .calls import Call, Given, contiguous, gapped, row_major, transposed
from .libraries import TORCH, twin
from .more_calls import PROPERTIES
from .outcomes import Result, observe

ROOM = 400
"""Elements in the memory of an ``out`` of another shape, where the result finds room."""


BY_SHAPE = frozenset({"matmul", "linalg.matmul"})
"""Functions whose ``out`` PyTorch gives to one of several functions below, each with rules of its own."""


def basic_form(call: Call) -> Call:
    """The call as its path asks for it: a path in ``Tensor`` is a method or a property."""
    if not call.path.startswith("Tensor.") or call.path in PUBLIC:
        return call
    return replace(call, form="property" if call.name in PROPERTIES else "method")


def has_method(call: Call, ending: str = "") -> bool:
    """Whether both libraries have the call's function as a method, with *ending* "_" in place."""
    return (
        bool(call.args)
        and isinstance(call.args[0], Given)
        and call.path.rpartition(".")[0] in ("", "Tensor")
        and hasattr(polyad.Tensor, call.name + ending)
        and hasattr(torch.Tensor, call.name + ending)
    )


def takes_out(path: str) -> bool:
    """Whether both libraries' functions have ``out=``."""
    if path not in PUBLIC or "out" not in inspect.signature(PUBLIC[path].call).parameters:
        return False
    found = twin(path)
    try:
        return "out" in inspect.signature(found).parameters  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return True


def keyword_form(call: Call) -> Call | None:
    """The call with its positional arguments after the first as keywords; None if they have no names."""
    if call.path not in PUBLIC or call.form != "function":
        return None
    names = []
    for name, parameter in inspect.signature(PUBLIC[call.path].call).parameters.items():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            break
        names.append(name)
    if len(names) < len(call.args):
        return None
    given = dict(zip(names[1:], call.args[1:]))

    def renamed(function: Any) -> Any:
        """*function* for a call with these keywords."""
        if function is None:
            return None
        return lambda *args, **kwargs: function(*args, *[kwargs.pop(name) for name in given], **kwargs)

    return replace(
        call,
        args=call.args[:1],
        kwargs={**given, **call.kwargs},
        reference=renamed(call.reference),
        magnitude=renamed(call.magnitude),
    )


def out_forms(call: Call, every: bool = True) -> Iterator[Call]:
    """The call with ``out=``: of the result's dtype and shape, in another layout, to be resized, of other dtypes."""
    if not takes_out(call.path) or "out" in call.kwargs:
        return
    outcome = observe(TORCH, call)
    if outcome.error is not None or not all(isinstance(one, Result) for one in outcome.results):
        return
    results: list[Result] = outcome.results
    if not all(isinstance(one.dtype, DType) for one in results):
        return
    yield with_out(call, results, lambda values: contiguous(values))
    if not every:
        return
    yield with_out(call, results, lambda values: transposed(values) if values.ndim > 1 else contiguous(values))
    yield with_out(call, results, lambda values: contiguous(values[:0].reshape(-1)[:0] if values.ndim else values))
    for dtype in (bool_, int64, float32, float64, complex64, complex128):
        twin_dtype = numpy_dtype(dtype)
        yield with_out(
            call, results[:1], lambda values, to=twin_dtype: contiguous(np.zeros(values.shape, to)), results[1:]
        )
    if call.path in BY_SHAPE:
        return
    yield with_out(call, results, lambda values: gapped(values, (2,) * values.ndim, 3))
    # Elsewhere PyTorch keeps the order of a library below in what it resizes.
    if all(math.prod(one.shape) < ROOM and one.strides == row_major(one.shape) for one in results):
        yield with_out(call, results, lambda values: Given(np.zeros(2 * ROOM, values.dtype), (3, 2), (4, 1), 1))


def with_out(call: Call, results: list[Result], make: Any, rest: list[Result] | None = None) -> Call:
    """The call with ``out=`` made like *results* by *make*, and like the *rest* as they are."""
    outs = [make(np.zeros(one.shape, one.values.dtype)) for one in results]
    outs += [contiguous(np.zeros(one.shape, one.values.dtype)) for one in rest or []]
    return replace(
        call, kwargs={**call.kwargs, "out": outs[0] if len(outs) == 1 else tuple(outs)}, form="out", grad=False
    )
