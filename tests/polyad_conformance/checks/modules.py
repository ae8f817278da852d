"""Layers: what they give and what they keep, from the table in `polyad_conformance.modules`.

The reference for a device is the same layer in float64 on the cpu; on the cpu it is the layer's functional form, and
gradients are compared with finite differences in float64. Functional forms themselves are compared with NumPy by the
samples of their ops.
"""

from __future__ import annotations

import copy
import pickle
import zlib
from typing import Any

import numpy as np

import polyad
from polyad import nn
from polyad.base.dtypes import bfloat16, float16, float32, float64
from polyad.errors import PolyadError, UndeclaredDType
from polyad.tensor import Tensor

from ..calls import Target, outputs_of
from ..layouts import to_host
from ..modules import Inputs, ModuleSample
from ..sample import Maker
from ..tolerance import allowed_error, assert_equal, largest, wide

STEP = 1e-6
"""Of central differences in float64, off by about 1e-10 of the values' size; the next line leaves room for more."""
DIFFERENCE_ERROR = 2e-7


def build(sample: ModuleSample, seed: int) -> Any:
    """The layer on the cpu in float64, with values that differ from the starting values of most layers."""
    polyad.manual_seed(zlib.crc32(f"{sample.label} {seed}".encode()))
    layer = sample.build(polyad)
    random = np.random.default_rng([seed, zlib.crc32(sample.label.encode())])
    layer.to(float64)
    with polyad.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(
                polyad.tensor(wide(to_host(parameter)) + random.uniform(-0.25, 0.25, tuple(parameter.shape)))
            )
    return layer


def draw(sample: ModuleSample, inputs: Inputs, seed: int) -> tuple[Any, ...]:
    """Inputs as arrays, floats in float64 that float32 holds exactly."""
    random = np.random.default_rng([seed, zlib.crc32(f"{sample.label} inputs".encode())])
    return tuple(inputs(Maker(random, float32)))


def as_tensors(value: Any, dtype: Any, device: Any, requires_grad: bool = False) -> Any:
    """Arrays as tensors, floating point ones of *dtype*."""
    if isinstance(value, (list, tuple)):
        return type(value)(as_tensors(item, dtype, device, requires_grad) for item in value)
    if not isinstance(value, np.ndarray):
        return value
    tensor = polyad.tensor(value, device=device)
    return tensor.to(dtype).requires_grad_(requires_grad) if tensor.is_floating_point() else tensor


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in nested results or inputs, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    return [one for one in outputs_of(value) if isinstance(one, Tensor)]


def _modes(sample: ModuleSample) -> list[bool]:
    return [training for training in (True, False) if not sample.draws(training)]


def _on(layer: Any, target: Target, dtype: Any) -> Any:
    return copy.deepcopy(layer).to(target.device, dtype)


def _compare(
    got: list[Tensor], expected: list[Tensor], sample: ModuleSample, what: str, dtype: Any, size: float
) -> None:
    assert len(got) == len(expected), f"{what}: {len(got)} results, expected {len(expected)}"
    for position, (one, other) in enumerate(zip(got, expected)):
        reference = wide(to_host(other))
        if one.is_floating_point():
            magnitude = max(largest(reference), size)
            allowed = allowed_error(dtype, reference, steps=sample.steps, length=0, magnitude=magnitude)
            assert_equal(to_host(one), reference, dtype, allowed, f"{what} {position}")
        else:
            assert_equal(to_host(one), reference, one.dtype, 0.0, f"{what} {position}")


def check_forward(sample: ModuleSample, target: Target) -> None:
    """Results in both modes, and the state afterwards, in float32."""
    arrays = draw(sample, sample.inputs, target.seed)
    first = build(sample, target.seed)
    size = largest(arrays)
    for training in _modes(sample):
        reference, layer = copy.deepcopy(first).train(training), _on(first, target, float32).train(training)
        on_cpu = as_tensors(arrays, float64, "cpu")
        expected = tensors_in(sample.run(polyad, reference, on_cpu))
        with target.watching():
            given = as_tensors(arrays, float32, target.device)
            got = tensors_in(sample.run(polyad, layer, given))
        mode = f"{sample.label} in {'training' if training else 'evaluation'}"
        assert all(one.device == target.full_device for one in got), f"{mode}: a result is on another device"
        _compare(got, expected, sample, f"{mode}: result", float32, size)
        kept, wanted = layer.state_dict(), reference.state_dict()
        assert list(kept) == list(wanted), f"{mode}: state keys {list(kept)}, expected {list(wanted)}"
        _compare(tensors_in(dict(kept)), tensors_in(dict(wanted)), sample, f"{mode}: state", float32, size)
        for array, tensor in zip(_arrays_in(arrays), tensors_in(given)):
            assert np.array_equal(to_host(tensor), array.astype(to_host(tensor).dtype), equal_nan=True), (
                f"{mode}: an input was changed"
            )
        if sample.functional is not None:
            other = copy.deepcopy(first).train(training)
            by_functions = tensors_in(sample.functional(nn.functional, other, *on_cpu))
            _compare(expected, by_functions, sample, f"{mode}: result by functions", float64, size)


def _arrays_in(value: Any) -> list[np.ndarray]:
    return [one for one in outputs_of(value) if isinstance(one, np.ndarray)]


def check_gradient(sample: ModuleSample, target: Target) -> None:
    """Gradients of inputs and parameters: in float64 along a random direction of each against finite differences; on a
    device without float64, all of them against the cpu's.
    """
    arrays = draw(sample, sample.inputs, target.seed)
    first = build(sample, target.seed)
    in_float64 = float64 in target.dtypes
    for training in _modes(sample):
        mode = f"{sample.label} in {'training' if training else 'evaluation'}"
        dtype = float64 if in_float64 else float32
        with target.watching():
            names, got, loss = _gradients(
                sample, _on(first, target, dtype).train(training), arrays, target.device, dtype
            )
        if not in_float64:
            _, expected, _ = _gradients(sample, copy.deepcopy(first).train(training), arrays, "cpu", float64)
            size = max([largest(wide(to_host(one))) for one in expected], default=0.0)
            _compare(got, expected, sample, f"{mode}: gradient", float32, 2 * size)
            continue
        random = np.random.default_rng(zlib.crc32(mode.encode()))
        with polyad.no_grad():
            for position, (name, gradient) in enumerate(zip(names, got)):
                direction = random.uniform(-1, 1, tuple(gradient.shape))
                ends = []
                for sign in (1, -1):
                    layer = _on(first, target, dtype).train(training)
                    given = as_tensors(arrays, dtype, target.device)
                    step = polyad.tensor(sign * STEP * direction, device=target.device)
                    _leaves(layer, given)[position][1].add_(step)
                    ends.append(_loss(tensors_in(sample.run(polyad, layer, given))))
                slope = (float(ends[0]) - float(ends[1])) / (2 * STEP)
                found = float((wide(to_host(gradient)) * direction).sum())
                room = DIFFERENCE_ERROR * max(1.0, abs(slope), abs(loss), largest(wide(to_host(gradient))))
                assert abs(found - slope) <= room, (
                    f"{mode}: the gradient of {name} along a direction is {found}, finite differences give {slope}"
                )


def _leaves(layer: Any, given: Any) -> list[tuple[str, Tensor]]:
    """What has a gradient: inputs in floating point and trained parameters."""
    inputs = [one for one in tensors_in(given) if one.is_floating_point()]
    named = [(f"input {position}", one) for position, one in enumerate(inputs)]
    return named + [(name, one) for name, one in layer.named_parameters() if one.requires_grad]


def _loss(results: list[Tensor]) -> Any:
    """A number from all results in floating point, each element with a weight of its own."""
    total: Any = 0.0
    for result in results:
        if result.is_floating_point():
            weights = np.cos(1.0 + np.arange(result.numel())).reshape(tuple(result.shape))
            total = total + (result * polyad.tensor(weights, dtype=result.dtype, device=result.device)).sum()
    return total


def _gradients(
    sample: ModuleSample, layer: Any, arrays: Any, device: Any, dtype: Any
) -> tuple[list[str], list[Tensor], float]:
    given = as_tensors(arrays, dtype, device, requires_grad=True)
    leaves = _leaves(layer, given)
    loss = _loss(tensors_in(sample.run(polyad, layer, given)))
    found = polyad.autograd.grad(loss, [one for _, one in leaves], allow_unused=True)
    used = [(name, one) for (name, _), one in zip(leaves, found) if one is not None]
    assert used, f"{sample.label}: nothing has a gradient"
    zeros = [polyad.zeros_like(one) if gradient is None else gradient for (_, one), gradient in zip(leaves, found)]
    return [name for name, _ in leaves], zeros, float(to_host(loss.detach()))


def check_modes(sample: ModuleSample, target: Target) -> None:
    """``train`` and ``eval`` set the mode; what draws random numbers does so there alone, by the generator's seed."""
    arrays = draw(sample, sample.inputs, target.seed)
    layer = _on(build(sample, target.seed), target, float32)
    assert layer.training
    assert layer.train() is layer
    assert all(not part.training for part in layer.eval().modules())
    for training in (True, False):
        results = []
        with target.watching():
            for seed in (1, 1, 2, 3, 4):
                polyad.manual_seed(seed)
                fresh = copy.deepcopy(layer).train(training)
                given = as_tensors(arrays, float32, target.device)
                results.append([to_host(one) for one in tensors_in(sample.run(polyad, fresh, given))])
        same = [all(np.array_equal(a, b, equal_nan=True) for a, b in zip(results[0], other)) for other in results[1:]]
        assert same[0], f"{sample.label}: two calls with the same seed differ (training={training})"
        assert all(same) != sample.draws(training), (
            f"{sample.label}: draws random numbers: {not all(same)}, expected {sample.draws(training)} "
            f"(training={training})"
        )


def check_state(sample: ModuleSample, target: Target) -> None:
    """State goes into another layer, and a deep and a pickled copy are the same layer with tensors of their own."""
    arrays = draw(sample, sample.inputs, target.seed)
    layer = _on(build(sample, target.seed), target, float32).eval()

    def results(one: Any) -> list[np.ndarray]:
        polyad.manual_seed(3)
        with target.watching():
            given = as_tensors(arrays, float32, target.device)
            return [to_host(result) for result in tensors_in(sample.run(polyad, one, given))]

    other = _on(build(sample, target.seed + 1), target, float32).eval()
    other.load_state_dict(layer.state_dict())
    copies = {"deepcopy": copy.deepcopy(layer), "pickle": pickle.loads(pickle.dumps(layer)), "load_state_dict": other}
    expected = results(layer)
    for name, twin in copies.items():
        assert type(twin) is type(layer), f"{sample.label}: {name} gives {type(twin)}"
        assert repr(twin) == repr(layer), f"{sample.label}: {name} gives {twin!r}"
        own = {id(one) for one in (*layer.parameters(), *layer.buffers())}
        assert not own & {id(one) for one in (*twin.parameters(), *twin.buffers())}, f"{sample.label}: {name} shares"
        assert all(
            isinstance(one, nn.Parameter) and one.requires_grad == before.requires_grad
            for one, before in zip(twin.parameters(), layer.parameters())
        ), f"{sample.label}: {name} makes parameters of another type"
        for got, wanted in zip(results(twin), expected):
            assert np.array_equal(got, wanted, equal_nan=True), f"{sample.label}: {name} gives other results"


def check_moves(sample: ModuleSample, target: Target) -> None:
    """Between dtypes and devices and back: all floating point tensors move, and stay the objects that they are."""
    layer = build(sample, target.seed)
    text, parameters = repr(layer), list(layer.parameters())
    before = {name: to_host(one) for name, one in layer.to(float32).state_dict().items() if isinstance(one, Tensor)}
    for dtype in (float16, bfloat16, float64, float32):
        if dtype not in target.dtypes:
            continue
        layer.to(target.device, dtype)
        for name, one in (*layer.named_parameters(), *layer.named_buffers()):
            assert one.device == target.full_device, f"{sample.label}: {name} stayed on {one.device}"
            wanted = dtype if one.is_floating_point() else one.dtype
            assert one.dtype == wanted, f"{sample.label}: {name} has dtype {one.dtype} after to({dtype})"
    layer.to("cpu")
    assert all(one is other for one, other in zip(layer.parameters(), parameters)), f"{sample.label}: other parameters"
    assert repr(layer) == text, f"{sample.label}: the representation changed"
    for name, one in layer.state_dict().items():
        if isinstance(one, Tensor):
            expected = before[name]
            if one.is_floating_point():
                expected = expected.astype(np.float16).astype(np.float32) if float16 in target.dtypes else expected
                near = np.abs(to_host(one) - expected) <= 2.0**-8 * np.abs(expected) + 1e-6
            else:
                near = to_host(one) == expected
            assert near.all(), f"{sample.label}: {name} changed on its way"


def check_refusals(sample: ModuleSample, target: Target) -> None:
    """Wrong shapes: a polyad error that names the layer and its place in the model; the state is as it was."""
    for number, inputs in enumerate(sample.wrong):
        arrays = draw(sample, inputs, target.seed)
        layer = _on(build(sample, target.seed), target, float32)
        before = {name: to_host(one) for name, one in layer.state_dict().items() if isinstance(one, Tensor)}
        where = f"{sample.label}, wrong input {number}"
        message = _refusal(_Holder(layer, sample), as_tensors(arrays, float32, target.device), where, target)
        if message is not None:
            assert "model.features.3" in message, f"{where}: the message does not say where the layer is:\n{message}"
            assert sample.layer in message or "model.features.3." in message, (
                f"{where}: the message does not name the layer:\n{message}"
            )
        for name, one in layer.state_dict().items():
            if isinstance(one, Tensor):
                assert np.array_equal(to_host(one), before[name], equal_nan=True), f"{where}: {name} was changed"


def _refusal(model: Any, inputs: Any, where: str, target: Target) -> str | None:
    """What the error says; None if an asynchronous device raised it after the call."""
    late = False
    try:
        with polyad.no_grad():
            model(inputs)
        late = "asynchronous" in target.backend.capabilities(target.full_device).features
        if late:
            target.backend.synchronize(target.full_device)
    except UndeclaredDType:  # of the sample or the layer; no word about the shapes
        raise
    except PolyadError as error:
        return None if late else str(error)
    raise AssertionError(f"{where}: it was not refused")


class _Holder(nn.Module):
    """A model with the layer at ``features.3``."""

    def __init__(self, layer: Any, sample: ModuleSample) -> None:
        super().__init__()
        self.features = nn.ModuleList([nn.Identity(), nn.Identity(), nn.Identity(), layer])
        self.sample = sample

    def forward(self, inputs: Any) -> Any:
        return self.sample.run(polyad, self.features[3], inputs)
