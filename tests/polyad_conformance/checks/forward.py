"""Forward mode: tangents of the results against gradients of the inputs.

For a function with Jacobian J, weights w and a direction v, forward mode gives J v and reverse mode the adjoint of J
times w, in which ``<w, J v> == <J^* w, v>`` must hold, with the real part of the inner product for complex numbers.
With random w and v a wrong entry of either shows. Gradients are compared with finite differences elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad
from polyad.autograd import forward_ad
from polyad.base.dtypes import DType, complex64, complex128, float32, float64

from ..calls import Target, function_of, generator, outputs_of
from ..layouts import to_host
from ..sample import Sample
from ..tolerance import FINITE_DIFFERENCE_ERROR, eps, wide
from .gradients import at, floating, gradient_dtypes, prepare, replaced, second_gradient_dtypes, weights

WIDEST = (float64, complex128, float32, complex64)


def forward_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes among which forward mode is tested: the widest of each kind that the device has."""
    return tuple(dtype for dtype in gradient_dtypes(sample) if dtype in WIDEST)


def second_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtype in which forward over reverse mode is tested: complex where there is one."""
    return second_gradient_dtypes(sample)[-1:]


def _direction(random: np.random.Generator, like: Any) -> np.ndarray:
    values = random.uniform(0.5, 1.5, tuple(like.shape)) * random.choice([-1.0, 1.0], tuple(like.shape))
    if like.dtype.is_complex:
        values = values + 1j * random.uniform(-1.5, 1.5, tuple(like.shape))
    return np.asarray(values).astype(to_host(like).dtype)


def _inner(one: Any, other: Any) -> tuple[float, float]:
    """The real inner product of two arrays, and the size of its terms."""
    terms = (np.conj(one) * other).real
    return float(terms.sum()), float(np.abs(one * other).sum())


def _with_tangents(tensors: Any, paths: list[Any], directions: list[np.ndarray], device: Any) -> Any:
    """*tensors* with a tangent for each of those at *paths*."""
    for path, direction in zip(paths, directions):
        dual = forward_ad.make_dual(at(tensors, path), polyad.tensor(direction, device=device))
        tensors = replaced(tensors, path, dual)
    return tensors


def check_forward(sample: Sample, dtype: DType, target: Target) -> None:
    """The tangent of each floating result: shape, dtype, value, with all inputs moved at once."""
    tensors, _, _, paths, kwargs, _ = prepare(sample, dtype, target)
    inputs = [at(tensors, path) for path in paths]
    random = generator(sample, dtype, target.seed + 4)
    directions = [_direction(random, one) for one in inputs]
    with target.watching(), forward_ad.dual_level():
        duals = _with_tangents(tensors, paths, directions, target.device)
        unpacked = [forward_ad.unpack_dual(one) for one in outputs_of(function_of(sample)(*duals, **kwargs))]
    live = [(i, primal, tangent) for i, (primal, tangent) in enumerate(unpacked) if primal.requires_grad]
    assert live, f"{sample.label} {dtype.name}: no result has a gradient function"
    incoming = weights(sample, dtype, target.seed, [(i, primal) for i, primal, _ in live], target.device)
    gradients = polyad.autograd.grad(
        [primal for _, primal, _ in live], inputs, grad_outputs=incoming, allow_unused=True
    )
    forward, forward_size, terms = 0.0, 0.0, 0
    for (i, primal, tangent), weight in zip(live, incoming):
        if tangent is None:
            continue
        what = f"{sample.label} {dtype.name}: tangent of result {i}"
        assert tangent.dtype is primal.dtype, f"{what} has dtype {tangent.dtype}, the result {primal.dtype}"
        assert tangent.shape == primal.shape, f"{what} has shape {tuple(tangent.shape)}, not {tuple(primal.shape)}"
        # Where a result is no number (the mean of nothing), neither is its derivative.
        known = np.isfinite(wide(to_host(primal)))
        value, size = _inner(wide(to_host(weight))[known], wide(to_host(tangent))[known])
        forward, forward_size, terms = forward + value, forward_size + size, terms + primal.numel()
    reverse, reverse_size = 0.0, 0.0
    for gradient, direction in zip(gradients, directions):
        if gradient is not None:
            value, size = _inner(wide(to_host(gradient)), wide(direction))
            reverse, reverse_size, terms = reverse + value, reverse_size + size, terms + direction.size
    # Both modes go through the sample's operations forth and back; the sums above are taken in float64.
    allowed = (4 * (sample.steps + 2) + sample.length + terms) * eps(dtype) * (1.0 + forward_size + reverse_size)
    assert abs(forward - reverse) <= allowed, (
        f"{sample.label} {dtype.name}: forward mode gives {forward:.9g} along a direction, reverse mode {reverse:.9g}; "
        f"off by {abs(forward - reverse):.3g}, allowed {allowed:.3g}"
    )


def check_forward_over_reverse(sample: Sample, dtype: DType, target: Target) -> None:
    """The tangents of gradients: a second derivative along a direction, against the gradient of the gradients."""
    tensors, _, _, paths, kwargs, _ = prepare(sample, dtype, target)
    inputs = [at(tensors, path) for path in paths]
    random = generator(sample, dtype, target.seed + 4)
    directions = [_direction(random, one) for one in inputs]
    function, grad = function_of(sample), polyad.autograd.grad
    with target.watching():
        results = [one for _, one in floating(function(*tensors, **kwargs))]
        incoming = weights(sample, dtype, target.seed, list(enumerate(results)), target.device)
        first = grad(results, inputs, grad_outputs=incoming, create_graph=True)
        tests = [_direction(random, one) for one in first]
        live = [
            (one, polyad.tensor(test, device=target.device)) for one, test in zip(first, tests) if one.requires_grad
        ]
        second: Any = [None] * len(inputs)
        if live:
            second = grad([one for one, _ in live], inputs, [test for _, test in live], allow_unused=True)
        with forward_ad.dual_level():
            duals = _with_tangents(tensors, paths, directions, target.device)
            results = [one for _, one in floating(function(*duals, **kwargs))]
            again = grad(results, [at(duals, path) for path in paths], grad_outputs=incoming)
            tangents = [forward_ad.unpack_dual(one).tangent for one in again]
    sums = []
    for found, against in ((tangents, tests), (second, directions)):
        pairs = [_inner(wide(other), wide(to_host(one))) for one, other in zip(found, against) if one is not None]
        sums.append((sum(value for value, _ in pairs), sum(size for _, size in pairs)))
    (forward, forward_size), (reverse, reverse_size) = sums
    # Two ways through the same formulas, which may be ill-conditioned: the bound is that of second gradients.
    allowed = FINITE_DIFFERENCE_ERROR * (1.0 + forward_size + reverse_size)
    assert abs(forward - reverse) <= allowed, (
        f"{sample.label} {dtype.name}: the tangent of the gradient is {forward:.9g} along a direction, the gradient of "
        f"the gradient {reverse:.9g}; off by {abs(forward - reverse):.3g}, allowed {allowed:.3g}"
    )
