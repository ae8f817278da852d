"""Every declared op is tested: samples, error cases, gradients, examples.

What is missing is listed here with its reason, or fails.

An op counts as sampled when a sample names it, or when a sample's call reaches it from outside any other op: then its
result was compared with a reference. An op that gradients are made of (``softmax_backward``) is reached by a gradient
check.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any

import pytest

import polyad
from polyad.dispatch.catalogue import ATTRIBUTES
from polyad.dispatch.op import OPS, PUBLIC, Function, Op
from polyad_conformance.calls import Target, draw, function_of, kwargs_of
from polyad_conformance.checks import large, lengths
from polyad_conformance.checks.gradients import at, differentiable, floating, gradient_dtypes, weights
from polyad_conformance.layouts import contiguous, place
from polyad_conformance.sample import Sample
from polyad_conformance.samples import families

NO_SAMPLE: dict[str, str] = {}
"""Public functions without a sample of their own, with the reason. It only ever gets shorter."""

NO_ERROR: dict[str, str] = {}
"""Public functions that accept whatever their signature allows, with the reason. It only ever gets shorter."""

NO_GRADIENT: dict[str, str] = {}
"""Ops with gradient formulas that no sample's gradient check reaches, with the reason. It only ever gets shorter."""

_INSIDE = "another op's, with operands of that op's shapes"
_SCALARS = "of 0-d tensors alone"
NO_LENGTH = {
    **dict.fromkeys(
        ("adagrad_rates", "adamax_rates", "asgd_rates", "nadam_rates", "radam_rates", "step_count"), _SCALARS
    ),
    "copy_strided": "what arranges memory: copies of many elements are checked",
    "from_front": _INSIDE,
    "share": _INSIDE,
    "sorted": _INSIDE,
    "glu": "its function halves one tensor",
    "huber": "its functions reduce it",
    "gaussian_nll": "its function reduces it",
}
"""Ops that say how they may be made longer, and are tested on few elements alone, with the reason. It only ever gets
shorter."""

SAMPLES: list[Sample] = [sample for samples, _ in families().values() for sample in samples]
ERRORS = [case for _, errors in families().values() for case in errors]


@cache
def reached() -> tuple[frozenset[str], frozenset[str]]:
    """The ops that samples reach forwards, and those that gradient checks differentiate or reach backwards."""
    forward: set[str] = set()
    backward: set[str] = set()
    for sample in SAMPLES:
        target = Target("cpu")
        dtypes = gradient_dtypes(sample)
        dtype = dtypes[-1] if dtypes else sample.dtypes[-1]
        args = draw(sample, dtype, 0)
        tensors, _, _ = place(args, (contiguous,), "cpu")
        kwargs, _ = kwargs_of(sample, dtype, "cpu", args)
        inputs = [at(tensors, path).requires_grad_() for path in differentiable(sample, dtype, args)]
        with target.watching() as paths:
            results = function_of(sample)(*tensors, **kwargs)
        forward |= {op.name for op, _ in paths.calls} | ({sample.op[1:]} if sample.op.startswith("_") else set())
        if inputs:
            outputs = floating(results)
            backward |= {op.name for op, _ in paths.calls} | {name for name, _, _ in paths.taken}
            with target.watching() as paths:
                incoming = weights(sample, dtype, 0, outputs, "cpu")
                polyad.autograd.grad([one for _, one in outputs], inputs, grad_outputs=incoming, allow_unused=True)
            backward |= {op.name for op, _ in paths.calls} | {name for name, _, _ in paths.taken}
    return frozenset(forward), frozenset(backward)


def returns_tensors(public: Function) -> bool:
    """Whether a public function returns tensors; others (``is_complex``) are tested with the tensor,
    not on a device.
    """
    annotation = str(inspect.signature(public.call).return_annotation)
    return "Tensor" in annotation or annotation in ("Any", "<class 'inspect._empty'>")


# Ops outside of `polyad.ops` belong to a mechanism, such as batching, whose own checks reach them.
CATALOGUE = [op for op in OPS.values() if op.module.startswith("polyad.ops")]


@pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op.name)
def test_every_op_has_a_sample(op: Op) -> None:
    forward, backward = reached()
    assert op.name in forward | backward, (
        f"no sample reaches {op.name}, declared in {op.module}; see polyad_conformance.samples"
    )


@pytest.mark.parametrize("name", [name for name, public in PUBLIC.items() if returns_tensors(public)])
def test_every_public_function_has_a_sample(name: str) -> None:
    named = {sample.op for sample in SAMPLES}
    same = {other for other, public in PUBLIC.items() if public.call is PUBLIC[name].call}
    assert named & same or name in NO_SAMPLE, f"no sample calls {name}, declared in {PUBLIC[name].module}"


@pytest.mark.parametrize("name", [name for name, public in PUBLIC.items() if returns_tensors(public)])
def test_every_public_function_has_an_error_case(name: str) -> None:
    named = {case.op for case in ERRORS}
    same = {other for other, public in PUBLIC.items() if public.call is PUBLIC[name].call}
    assert named & same or name in NO_ERROR, f"no error case calls {name}, declared in {PUBLIC[name].module}"


@cache
def reached_at_size() -> frozenset[str]:
    """The ops that the checks of large sizes reach, forwards or backwards."""
    target = Target("cpu")
    for check in large.CHECKS:
        check(target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lengths, "lengths", lambda *_: (41,))  # which ops are reached does not depend on the length
        for sample in lengths.representatives().values():
            lengths.check_lengths(sample, (gradient_dtypes(sample) or sample.dtypes)[-1], target)
    return frozenset(target.reached | {name for _, name in target.taken})


@pytest.mark.parametrize(
    "op", [op for op in CATALOGUE if op.kind == "primitive" or lengths.grows(op)], ids=lambda op: op.name
)
def test_every_primitive_and_every_op_that_says_how_is_made_larger(op: Op) -> None:
    assert (op.name in reached_at_size()) != (op.name in NO_LENGTH), (
        f"{op.name} is tested on few elements alone: see polyad_conformance.checks.lengths and .large; or it is in "
        "NO_LENGTH and is tested on many"
    )


def has_derivative(op: Op) -> bool:
    """Whether an op has a formula that gives a gradient; others refuse (`polyad.ops.declaring.no_derivative`)."""
    return any(not getattr(formula.function, "refuses", False) for formula in op.formulas)


@pytest.mark.parametrize("op", [op for op in OPS.values() if has_derivative(op)], ids=lambda op: op.name)
def test_every_gradient_formula_is_checked(op: Op) -> None:
    _, backward = reached()
    assert op.name in backward or op.name in NO_GRADIENT, (
        f"{op.name} has gradient formulas, and no sample with gradient=True reaches it"
    )


@pytest.mark.parametrize("name", list(PUBLIC))
def test_every_public_function_has_an_example(name: str) -> None:
    doc = inspect.getdoc(PUBLIC[name].call) or ""
    assert ">>>" in doc, f"{name}, declared in {PUBLIC[name].module}, has no runnable example in its docstring"


@pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))
def test_every_op_says_what_it_is(op: Op) -> None:
    assert op.doc.strip(), f"{op.name}, declared in {op.module}, has no docstring"


@pytest.mark.parametrize("family", list(families()))
def test_families_are_named_after_the_modules_that_declare_their_ops(family: str) -> None:
    modules = {op.module for op in OPS.values()} | {public.module for public in PUBLIC.values()}
    assert f"polyad.ops.{family}" in modules


def homes(op: str) -> set[str]:
    """The families that may list an op's samples and error cases: the one that declares it. The older names of linear
    algebra have samples beside the functions that they call, so for them it is any family that they use.
    """
    entry = PUBLIC.get(op) or (OPS[op[1:]] if op.startswith("_") else ATTRIBUTES[op])
    if entry.module != "polyad.ops.linalg.older_names":
        return {entry.module}
    body = inspect.unwrap(PUBLIC[op].call)
    used = [body.__globals__[name] for name in body.__code__.co_names if name in body.__globals__]
    return {one.__name__ if inspect.ismodule(one) else one.__module__ for one in used}


@pytest.mark.parametrize("family", list(families()))
def test_samples_stand_in_the_family_that_declares_their_op(family: str) -> None:
    samples, errors = families()[family]
    elsewhere = {entry.label: homes(entry.op) for entry in [*samples, *errors]}
    elsewhere = {label: found for label, found in elsewhere.items() if f"polyad.ops.{family}" not in found}
    assert not elsewhere


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.label)
def test_samples_say_something(sample: Sample) -> None:
    result = function_of(sample)
    assert callable(result)
    assert sample.dtypes, "a sample without dtypes is never run"
    if sample.gradient:
        assert gradient_dtypes(sample), "a gradient is asked for, but no dtype of the sample has one"


def test_the_lists_of_exceptions_are_up_to_date() -> None:
    named = {sample.op for sample in SAMPLES}, {case.op for case in ERRORS}
    stale = [name for name in NO_SAMPLE if name in named[0] or name not in PUBLIC]
    stale += [name for name in NO_ERROR if name in named[1] or name not in PUBLIC]
    stale += [name for name in NO_GRADIENT if name in reached()[1] or name not in OPS]
    assert not stale, f"delete these entries: {stale}"


def references(source: Any) -> str:
    return inspect.getsource(source)


def test_references_do_not_compute_with_what_they_test() -> None:
    import pkgutil

    from polyad_conformance import samples

    for module in pkgutil.walk_packages(samples.__path__, f"{samples.__name__}."):
        text = references(importlib.import_module(module.name))
        imported = [line for line in text.splitlines() if line.lstrip().startswith(("import ", "from "))]
        wrong = [
            line
            for line in imported
            if "polyad_numpy" in line or "polyad.ops" in line or line.strip() == "import polyad" or "torch" in line
        ]
        assert not wrong, f"{module.name}: {wrong}"
