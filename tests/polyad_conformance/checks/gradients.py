"""Gradients: the first against finite differences of the sample's reference, the second against those of the first."""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType, bfloat16, complex128, float16, float32, float64
from polyad.interop.numpy import numpy_dtype

from ..calls import Target, draw, function_of, generator, kwargs_of, outputs_of, reference_of
from ..layouts import Placed, contiguous, place, to_host
from ..sample import FLOATS, Sample
from ..tolerance import FINITE_DIFFERENCE_ERROR, FINITE_DIFFERENCE_STEP, eps, wide

Path = tuple[int, ...]


def gradient_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes in which the sample's gradient is tested."""
    return tuple(dtype for dtype in sample.dtypes if dtype in FLOATS) if sample.gradient else ()


def second_gradient_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes in which the second gradient is tested: differences of gradients need all the digits there are."""
    return (
        tuple(dtype for dtype in gradient_dtypes(sample) if dtype in (float64, complex128))
        if sample.second_gradient
        else ()
    )


def differentiable(sample: Sample, dtype: DType, args: tuple[Any, ...]) -> list[Path]:
    """Where in the arguments the arrays are whose gradients are tested: (3,) or, in a list, (0, 2)."""
    twin = numpy_dtype(dtype)
    found: list[Path] = []
    if dtype not in FLOATS or not sample.gradient:
        return found
    for i, value in enumerate(args):
        if sample.gradient is not True and i not in sample.gradient:  # type: ignore[operator]
            continue
        if isinstance(value, np.ndarray) and value.dtype == twin:
            found.append((i,))
        elif isinstance(value, (list, tuple)):
            found += [(i, j) for j, item in enumerate(value) if isinstance(item, np.ndarray) and item.dtype == twin]
    return found


def at(args: Any, path: Path) -> Any:
    """The argument at *path*."""
    for step in path:
        args = args[step]
    return args


def replaced(args: tuple[Any, ...], path: Path, value: Any) -> tuple[Any, ...]:
    """*args* with another value at *path*."""
    changed = list(args)
    if len(path) == 1:
        changed[path[0]] = value
    else:
        inner = list(args[path[0]])
        inner[path[1]] = value
        changed[path[0]] = inner
    return tuple(changed)


def prepare(
    sample: Sample, dtype: DType, target: Target
) -> tuple[Any, Any, list[Placed], list[Path], dict[str, Any], dict[str, Any]]:
    """Inputs on the device, those whose gradient is tested requiring it."""
    args = draw(sample, dtype, target.seed)
    tensors, wide_args, placed = place(args, (contiguous,), target.device)
    paths = differentiable(sample, dtype, args)
    assert paths, f"{sample.label}: no input of {dtype.name} to take a gradient for"
    for path in paths:
        at(tensors, path).requires_grad_()
    return tensors, wide_args, placed, paths, *kwargs_of(sample, dtype, target.device, args)


def floating(results: Any) -> list[tuple[int, Any]]:
    """The results that gradients flow through, with their positions."""
    return [(i, one) for i, one in enumerate(outputs_of(results)) if one.requires_grad]


def weights(sample: Sample, dtype: DType, seed: int, results: list[tuple[int, Any]], device: Any) -> list[Any]:
    """A random gradient for each result."""
    random = generator(sample, dtype, seed + 2)
    made = []
    for _, one in results:
        values = random.uniform(0.5, 1.5, tuple(one.shape)) * random.choice([-1.0, 1.0], tuple(one.shape))
        if one.dtype.is_complex:
            values = values + 1j * random.uniform(-1, 1, tuple(one.shape))
        made.append(polyad.tensor(np.asarray(values).astype(numpy_dtype(one.dtype)), device=device))
    return made


def finite_differences(
    sample: Sample, args: Any, kwargs: dict[str, Any], path: Path, weighted: list[tuple[int, np.ndarray]]
) -> np.ndarray:
    """Central differences of sum(weight * result), with respect to each element (real and imaginary part)
    of one argument.
    """

    def value(argument: np.ndarray) -> float:
        expected = reference_of(sample, replaced(args, path, argument), kwargs)
        return sum(float(np.sum((np.conj(weight) * expected[i]).real)) for i, weight in weighted)

    argument = at(args, path)
    gradient = np.zeros(argument.shape, argument.dtype)
    h = FINITE_DIFFERENCE_STEP
    for place_ in np.ndindex(argument.shape):
        for unit in (1, 1j) if argument.dtype.kind == "c" else (1,):
            ahead, behind = argument.copy(), argument.copy()
            ahead[place_] += h * unit
            behind[place_] -= h * unit
            gradient[place_] += unit * (value(ahead) - value(behind)) / (2 * h)
    return gradient


def check_gradient(sample: Sample, dtype: DType, target: Target) -> None:
    """The gradient of each differentiable input: value, dtype, shape; inputs and incoming gradients unchanged."""
    tensors, args, placed, paths, kwargs, wide_kwargs = prepare(sample, dtype, target)
    inputs = [at(tensors, path) for path in paths]
    with target.watching():
        results = floating(function_of(sample)(*tensors, **kwargs))
        assert results, f"{sample.label} {dtype.name}: no result has a gradient function"
        incoming = weights(sample, dtype, target.seed, results, target.device)
        gradients = polyad.autograd.grad([one for _, one in results], inputs, grad_outputs=incoming, allow_unused=True)
    for position, put in enumerate(placed):
        put.assert_unchanged(f"{sample.label} {dtype.name}: input {position}")
    weighted = [(i, wide(to_host(weight))) for (i, _), weight in zip(results, incoming)]
    accumulator = float32 if dtype in (float16, bfloat16) else dtype
    for path, tensor, gradient in zip(paths, inputs, gradients):
        what = f"{sample.label} {dtype.name}: gradient of input {'.'.join(map(str, path))}"
        assert gradient is not None, f"{what} is missing"
        assert gradient.dtype is dtype, f"{what} has dtype {gradient.dtype}"
        assert gradient.shape == tensor.shape, (
            f"{what} has shape {tuple(gradient.shape)}, expected {tuple(tensor.shape)}"
        )
        expected = finite_differences(sample, args, wide_kwargs, path, weighted)
        terms = sum(weight.size for _, weight in weighted)
        size = float(np.abs(expected).max(initial=0.0)) + 1.0
        allowed = size * (
            4 * (sample.steps + 2) * eps(dtype)
            + (sample.length + terms) * eps(accumulator)
            + 10 * FINITE_DIFFERENCE_ERROR
        )
        got = wide(to_host(gradient))
        with np.errstate(all="ignore"):
            off = np.abs(got - expected)
        assert np.all(off <= allowed), (
            f"{what} is off by {np.max(off):.3g}, allowed {allowed:.3g}: got\n{got}\nfinite differences\n{expected}"
        )


def check_second_gradient(sample: Sample, dtype: DType, target: Target) -> None:
    """The gradient of the gradient, along random directions: of the inputs; then of inputs and incoming gradients
    together, where half of what comes in is 0, as it is for one row of a Jacobian. A formula that takes logarithms of
    what comes in, or divides by it, has the right values there and the wrong derivative.
    """
    tensors, _, _, paths, kwargs, _ = prepare(sample, dtype, target)
    function = function_of(sample)
    random = generator(sample, dtype, target.seed + 3)
    twin = numpy_dtype(dtype)

    def direction(shape: Any) -> np.ndarray:
        values = random.uniform(-1, 1, tuple(shape))
        return np.asarray(values + 1j * random.uniform(-1, 1, tuple(shape)) if dtype.is_complex else values).astype(
            twin
        )

    inputs = [at(tensors, path) for path in paths]
    with target.watching():
        results = floating(function(*tensors, **kwargs))
        full = weights(sample, dtype, target.seed, results, target.device)
    tests: list[Any] = []

    def second(incoming: list[Any]) -> list[np.ndarray]:
        """The gradient of sum(test * first gradient) with respect to inputs and *incoming*."""
        results = floating(function(*tensors, **kwargs))
        first = polyad.autograd.grad([one for _, one in results], inputs, grad_outputs=incoming, create_graph=True)
        if not tests:
            tests.extend(polyad.tensor(direction(one.shape), device=target.device) for one in first)
        live = [(one, test) for one, test in zip(first, tests) if one.requires_grad]
        found: Any = [None] * (len(inputs) + len(incoming))
        if live:  # else the first gradient is constant, as that of sign is: the differences below must be 0
            found = polyad.autograd.grad(
                [one for one, _ in live],
                [*inputs, *incoming],
                grad_outputs=[test for _, test in live],
                allow_unused=True,
            )
        return [
            np.zeros_like(to_host(tensor)) if one is None else wide(to_host(one))
            for tensor, one in zip([*inputs, *incoming], found)
        ]

    def first_along(moved: list[np.ndarray]) -> float:
        """sum(test * first gradient) where inputs and incoming gradients are *moved*."""
        changed = tensors
        for path, values in zip(paths, moved):
            changed = replaced(changed, path, polyad.tensor(values, device=target.device).requires_grad_())
        outgoing = [polyad.tensor(values, device=target.device) for values in moved[len(paths) :]]
        again = floating(function(*changed, **kwargs))
        gradients = polyad.autograd.grad(
            [one for _, one in again], [at(changed, path) for path in paths], grad_outputs=outgoing
        )
        return sum(float(np.sum((np.conj(to_host(test)) * to_host(one)).real)) for test, one in zip(tests, gradients))

    h = FINITE_DIFFERENCE_STEP
    groups = {
        "inputs": (full, len(paths)),
        "inputs and incoming gradients that are partly 0": (half_zero(full, target.device), len(paths) + len(full)),
    }
    for name, (incoming, count) in groups.items():
        with target.watching():
            found = second([one.requires_grad_() for one in incoming])
        hosts = [to_host(one) for one in (*inputs, *incoming)]
        for _ in range(2):
            along = [direction(host.shape) if i < count else np.zeros_like(host) for i, host in enumerate(hosts)]
            with target.watching():
                ahead = first_along([host + h * step for host, step in zip(hosts, along)])
                behind = first_along([host - h * step for host, step in zip(hosts, along)])
            expected = (ahead - behind) / (2 * h)
            got = sum(float(np.sum((np.conj(step) * one).real)) for step, one in zip(along, found))
            size = sum(float(np.sum(np.abs(step * one))) for step, one in zip(along, found)) + abs(expected) + 1.0
            allowed = 100 * FINITE_DIFFERENCE_ERROR * size
            assert abs(got - expected) <= allowed, (
                f"{sample.label} {dtype.name}: second gradient along a direction of the {name} is {got:.9g}, "
                f"finite differences of the first give {expected:.9g}, allowed difference {allowed:.3g}"
            )


def half_zero(incoming: list[Any], device: Any) -> list[Any]:
    """*incoming* with 0 in every second place of those that have several."""
    made = []
    for one in incoming:
        values = to_host(one).copy()
        values.reshape(-1)[1::2] = 0
        made.append(polyad.tensor(values, device=device))
    return made
