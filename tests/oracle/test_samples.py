"""Every conformance sample of every public function, made in both libraries: all dtypes, layouts and forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from polyad.dispatch.op import PUBLIC
from polyad_conformance.sample import ErrorCase

from .calls import Call, Given, contiguous, every_layout, row_major
from .crashes import crashes
from .differences import deliberate
from .forms import basic_form, has_method, keyword_form, out_forms
from .judgement import disagreements, report
from .libraries import POLYAD, TORCH
from .outcomes import Mismatch, Outcome, compare, observe
from .templates import Template, bound_of, compared_paths, error_cases_of, templates_of

PATHS = list(compared_paths())
LAYOUTS = ("transposed", "channels last", "stepped", "offset", "expanded")


def in_layouts(template: Template, dtype: object) -> Iterator[Call]:
    """The call in each layout, and with neighbouring arguments in different ones."""

    def laid(choose: object) -> Call:
        return basic_form(template.call(dtype, layout=choose))

    yield laid(contiguous)
    for name in LAYOUTS:
        met = []

        def one(values: np.ndarray, name: str = name, met: list[bool] = met) -> Given:
            found = every_layout(values).get(name)
            met.append(found is not None)
            return found or contiguous(values)

        call = laid(one)
        if any(met) and (name != "expanded" or template.expand):
            yield call
    turn = iter(range(1000))
    names = ("transposed", "stepped", "contiguous", "channels last")
    mixed = laid(lambda values: every_layout(values).get(names[next(turn) % 4]) or contiguous(values))
    if len(mixed.givens()) > 1:
        yield mixed


@pytest.mark.parametrize("path", PATHS)
def test_samples(path: str) -> None:
    found = []
    bound = bound_of(path)
    for template in templates_of(path):
        for dtype in template.dtypes:
            for number, call in enumerate(in_layouts(template, dtype)):
                calls = [call if call.form == "property" else call.with_gradients()]
                if number == 0:
                    calls += further_forms(call)
                for one in calls:
                    found += [(one, mismatch) for mismatch in disagreements(one, bound)]
                if number == 0:
                    found += [(one, mismatch) for one in keywords(call) for mismatch in disagreements(one, bound)]
    assert not found, report(found)


def keywords(call: Call) -> list[Call]:
    """The call with keywords, where PyTorch has the function in a form that takes these."""
    made = keyword_form(call)
    return [] if made is None or isinstance(observe(TORCH, made).error, TypeError) else [made]


def further_forms(call: Call) -> list[Call]:
    """The call as a method, in place and with ``out=``."""
    if call.form == "property":
        return []
    made = [*out_forms(call)]
    if call.form == "function" and has_method(call):
        made.append(replace(call, form="method").with_gradients())
    if has_method(call, "_"):
        made.append(replace(call, form="in place"))
    return made


@pytest.mark.parametrize("path", [path for path in PATHS if error_cases_of(path)])
def test_refused_calls(path: str) -> None:
    """What the conformance suite wants refused, PyTorch refuses too, with an exception that polyad's stands for."""
    found = []
    for case in error_cases_of(path):
        call = Call(path, (), {})
        if crashes(call):
            continue
        ours, theirs = (refusal(library, path, case) for library in (POLYAD, TORCH))
        for mismatch in compare(call, ours, theirs, bound_of(path)):
            entry = deliberate(call, mismatch, ours, theirs)
            if entry is None or entry.name == "which of several faults is told":
                found.append((case, Mismatch(mismatch.kind, f"{case.label}: {mismatch.text}")))
    assert not found, "\n".join(str(mismatch) for _, mismatch in found)


def refusal(library: object, path: str, case: ErrorCase) -> Outcome:
    """What an error case's call does in *library*."""
    from polyad.base.dtypes import DType, float32
    from polyad.interop.numpy import numpy_dtype

    def tensor(*shape: int, dtype: DType = float32) -> object:
        values = (np.arange(int(np.prod(shape))) % 5).astype(numpy_dtype(dtype))
        return library.tensor(Given(values, shape, row_major(shape)))[0]

    function = library.function(path)

    def call(*args: object, **kwargs: object) -> object:
        return function(*library.argument(args), **library.argument(kwargs))

    outcome = Outcome(structure="tensor")
    try:
        case.call(call, tensor)
    except Exception as error:
        outcome.error = error
    return outcome


def test_every_function_that_pytorch_has_is_compared() -> None:
    from .exclusions import NOT_COMPARED

    missing = [path for path in PUBLIC if path not in PATHS and path not in NOT_COMPARED]
    assert not missing, f"no sample is compared for {missing}; give samples, or a reason in exclusions.NOT_COMPARED"
    stale = [path for path in NOT_COMPARED if path in PATHS or path not in PUBLIC]
    assert not stale, f"delete these entries of NOT_COMPARED: {stale}"


def test_pytorch_is_the_version_that_is_promised() -> None:
    assert torch.__version__.startswith("2.13.")
