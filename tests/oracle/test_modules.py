"""Layers against PyTorch's, over the conformance suite's table: the same settings, weights and inputs.

What must agree: results and changed buffers in both modes, gradients of inputs and parameters, the state's keys,
shapes and dtypes, the representation, the settings that are attributes, and the constructors' and forward's arguments.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any, get_overloads

import numpy as np
import pytest
import torch

import polyad
from polyad_conformance.checks.modules import as_tensors, build, draw
from polyad_conformance.modules import ModuleSample, module_samples

NO_CLASSES = {
    "Module",
    "Parameter",
    "Buffer",
    "Sequential",
    "ModuleList",
    "ModuleDict",
    "ParameterList",
    "ParameterDict",
}

IN_FLOAT32 = {"Hardsigmoid"}
"""Layers in whose gradient PyTorch has a constant (1 / 6) with the digits of float32."""

OTHER_GRADIENT = {"CrossMapLRN2d"}
"""Layers of which PyTorch's gradient is not that of its result: its windows forwards and backwards differ."""

NO_GRADIENT_OF_TARGET = {"SoftMarginLoss"}
"""Losses to which PyTorch refuses a target that requires a gradient."""


def twin_of(sample: ModuleSample, layer: Any) -> Any:
    """PyTorch's layer with the state of polyad's *layer*, in float64."""
    twin = sample.build(torch).to(torch.float64)
    state = {name: torch.tensor(value.numpy()) for name, value in layer.state_dict().items()}
    twin.load_state_dict(state)
    return twin


def flat(value: Any) -> list[Any]:
    """The tensors in nested results, in order."""
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in flat(part)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [value] if hasattr(value, "requires_grad") else []


def in_torch(value: Any, grad: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(in_torch(item, grad) for item in value)
    if not isinstance(value, np.ndarray):
        return value
    tensor = torch.tensor(value)
    return tensor.to(torch.float64).requires_grad_(grad) if tensor.is_floating_point() else tensor


def near(got: Any, expected: Any, what: str, tolerance: float = 1e-9) -> None:
    got, expected = got.detach().numpy(), expected.detach().numpy()
    assert got.dtype == expected.dtype, f"{what}: {got.dtype}, PyTorch gives {expected.dtype}"
    assert got.shape == expected.shape, f"{what}: {got.shape}, PyTorch gives {expected.shape}"
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=what)


def loss_of(library: Any, results: list[Any]) -> Any:
    total: Any = 0.0
    for result in results:
        if result.is_floating_point():
            weights = np.cos(1.0 + np.arange(result.numel())).reshape(tuple(result.shape))
            total = total + (result * library.tensor(weights)).sum()
    return total


@pytest.mark.parametrize("sample", module_samples(), ids=lambda sample: sample.label)
def test_layer(sample: ModuleSample) -> None:
    layer = build(sample, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin = twin_of(sample, layer)
        compare_settings(sample, layer, twin)
        for training in (True, False):
            if not sample.draws(training):
                compare_call(sample, layer.train(training), twin.train(training), f"{sample.label} {training=}")


def compare_call(sample: ModuleSample, layer: Any, twin: Any, what: str) -> None:
    arrays = draw(sample, sample.inputs, 0)
    given, twins = as_tensors(arrays, polyad.float64, "cpu", sample.gradient), in_torch(arrays, sample.gradient)
    if sample.layer in NO_GRADIENT_OF_TARGET:
        given[1].requires_grad_(False)
        twins[1].requires_grad_(False)
    results, expected = flat(sample.run(polyad, layer, given)), flat(sample.run(torch, twin, twins))
    assert len(results) == len(expected), f"{what}: {len(results)} results, PyTorch gives {len(expected)}"
    for position, (one, other) in enumerate(zip(results, expected, strict=True)):
        near(one, other, f"{what}: result {position}")
    for name, value in twin.state_dict().items():
        near(layer.state_dict()[name], value, f"{what}: {name} afterwards")
    if sample.gradient and sample.layer not in OTHER_GRADIENT:
        loss_of(polyad, results).backward()
        loss_of(torch, expected).backward()
        pairs = list(zip(flat(given), flat(twins), strict=True))
        pairs += zip(layer.parameters(), twin.parameters(), strict=True)
        for position, (one, other) in enumerate(pairs):
            assert (one.grad is None) == (other.grad is None), f"{what}: gradient {position} {one.grad} {other.grad}"
            if one.grad is not None:
                tolerance = 1e-7 if sample.layer in IN_FLOAT32 else 1e-9
                near(one.grad, other.grad, f"{what}: gradient {position}", tolerance)
        layer.zero_grad()
        twin.zero_grad()


def compare_settings(sample: ModuleSample, layer: Any, twin: Any) -> None:
    label = sample.label
    keys = [(name, tuple(value.shape)) for name, value in layer.state_dict().items()]
    assert keys == [(name, tuple(value.shape)) for name, value in twin.state_dict().items()], label
    assert [name for name, _ in layer.named_buffers()] == [name for name, _ in twin.named_buffers()], label
    assert layer._version == twin._version, f"{label}: version {layer._version} of its state, PyTorch's {twin._version}"
    assert repr(layer) == repr(twin), label
    for name, value in vars(twin).items():
        if isinstance(value, (int, float, str, tuple, list, type(None))) and not name.startswith("_"):
            assert getattr(layer, name, "no such attribute") == value, f"{label}: {name}"


LAYERS = [name for name in polyad.nn.__all__ if hasattr(getattr(polyad.nn, name), "forward") and name not in NO_CLASSES]

BASES = {"RNNBase", "RNNCellBase"}
"""Classes without a forward in PyTorch, which programs derive from; tested through the layers that derive from them."""

BY_POSITION = {"GRU": {"proj_size"}, "RNN": {"proj_size"}}
"""Arguments that PyTorch takes, by position too, and refuses but at their default; its declared overloads omit them."""


def arguments(library: Any, name: str, method: str) -> list[inspect.Parameter]:
    """Those of the method, or where it only passes them on (``*args, **kwargs``), those of its first overload."""
    function = getattr(getattr(library.nn, name), method)
    declared = get_overloads(function)[:1] or [function]
    found = inspect.signature(declared[0]).parameters.values()
    return [one for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def own_default(value: Any) -> Any:
    """polyad's default for PyTorch's: of a function, the function of that name."""
    return getattr(polyad.nn.functional, value.__name__) if inspect.isroutine(value) else value


METHODS = [("__init__", name) for name in LAYERS] + [("forward", name) for name in LAYERS if name not in BASES]


@pytest.mark.parametrize(("method", "name"), METHODS)
def test_arguments(method: str, name: str) -> None:
    theirs = arguments(torch, name, method)
    omitted = BY_POSITION.get(name, set()) if method == "__init__" else set()
    own = arguments(polyad, name, method)
    assert omitted <= {one.name for one in own} - {one.name for one in theirs}
    own = [one for one in own if one.name not in omitted]
    assert [(one.name, one.kind) for one in own] == [(one.name, one.kind) for one in theirs]
    assert [one.default for one in own] == [own_default(one.default) for one in theirs]


def test_every_layer_is_in_the_table() -> None:
    tested = {sample.layer for sample in module_samples()} | {"DataParallel"} | BASES
    missing = {name for name in LAYERS if not name.startswith("Lazy")} - tested
    assert not missing, "layers that no module sample is for"
