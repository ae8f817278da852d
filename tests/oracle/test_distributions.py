"""Distributions say what PyTorch's say: densities, moments, divergences, transforms, names, and refusals."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import polyad
from polyad_conformance.distribution_cases import CASES

WITHOUT_SAMPLES = ("mean", "mode", "variance", "stddev", "entropy", "perplexity")
OURS, THEIRS = polyad.distributions, torch.distributions

DIFFERENT = {("Kumaraswamy", "mode")}
"""Where polyad gives a number and PyTorch, which takes the logarithm of a negative number, nan."""

COARSE = {("ContinuousBernoulli", "cdf"): 1e-3, ("ContinuousBernoulli", "icdf"): 1e-3}
"""How far PyTorch is off: near probs = 0.5 it takes the uniform distribution."""


def ours_tensor(value: Any) -> Any:
    return polyad.tensor(value, dtype=polyad.float64)


def theirs_tensor(value: Any) -> Any:
    return torch.tensor(value, dtype=torch.float64)


def pair(name: str) -> tuple[Any, Any]:
    ours, theirs = (polyad.float64, torch.float64) if name != "GeneralizedPareto" else (polyad.float32, torch.float32)
    return (
        CASES[name](OURS, lambda value: polyad.tensor(value, dtype=ours)),
        CASES[name](THEIRS, lambda value: torch.tensor(value, dtype=theirs)),  # which compares with a float32 number
    )


def outcome(function: Any) -> Any:
    """The result as an array, or the type of the error; the PyTorch type of ours."""
    try:
        result = function()
    except (ValueError, NotImplementedError, RuntimeError, TypeError, AssertionError) as error:
        kinds = (NotImplementedError, ValueError, TypeError, AssertionError, RuntimeError)
        return next(kind for kind in kinds if isinstance(error, kind))
    return np.asarray(result.detach().numpy())


def check(ours: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours is theirs
        return
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_attributes(name) -> None:
    ours, theirs = pair(name)
    kind = name.split()[0]
    if kind != "MixtureSameFamily":  # PyTorch's, when made, has the caller's Categorical compute its logits
        assert repr(ours) == repr(theirs).replace("torch.Size", "polyad.Size")
    for attribute in ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)
    assert (ours.support.event_dim, ours.support.is_discrete) == (theirs.support.event_dim, theirs.support.is_discrete)
    for method in WITHOUT_SAMPLES:
        results = [
            outcome(lambda d=d, method=method: value() if callable(value := getattr(d, method)) else value)
            for d in (ours, theirs)
        ]
        if (kind, method) in DIFFERENT:
            assert np.isfinite(results[0]).any()
            assert np.isnan(results[1]).any()
        else:
            check(*results)


@pytest.mark.parametrize("name", CASES)
def test_values(name) -> None:
    """Log-densities, distribution functions, quantiles and gradients, at values that PyTorch drew."""
    ours, theirs = pair(name)
    torch.manual_seed(0)
    value = theirs.sample((4,))
    given = polyad.from_numpy(value.numpy())
    levels = torch.tensor([0.01, 0.4, 0.97], dtype=value.dtype if value.is_floating_point() else None)
    levels = levels.reshape(3, *[1] * len(theirs.batch_shape))
    for method, at in (("log_prob", value), ("cdf", value), ("icdf", levels)):
        check(
            outcome(lambda method=method, at=at: getattr(ours, method)(polyad.from_numpy(at.numpy()))),
            outcome(lambda method=method, at=at: getattr(theirs, method)(at)),
            COARSE.get((name.split()[0], method), 1e-6),
        )
    assert ours.sample((4,)).shape == tuple(value.shape)
    assert str(ours.sample().dtype).removeprefix("polyad.") == str(value.dtype).removeprefix("torch.")
    assert ours.support.check(given).numpy().all()


@pytest.mark.parametrize("name", CASES)
def test_expanding(name) -> None:
    ours, theirs = pair(name)
    if name.startswith("MultivariateNormal by factor"):
        shape = (3, 2)
    else:
        shape = (3, *theirs.batch_shape)
    expanded, expected = ours.expand(shape), theirs.expand(shape)
    assert (expanded.batch_shape, expanded.event_shape) == (expected.batch_shape, expected.event_shape)
    assert type(expanded) is type(ours)
    torch.manual_seed(0)
    value = expected.sample((2,))
    assert expanded.sample((2,)).shape == tuple(value.shape)
    check(
        outcome(lambda: expanded.log_prob(polyad.from_numpy(value.numpy()))), outcome(lambda: expected.log_prob(value))
    )
    check(outcome(lambda: expanded.mean), outcome(lambda: expected.mean))
    assert repr(ours) == repr(pair(name)[0]), "expanding changed the distribution"


@pytest.mark.parametrize(
    "name", [name for name, make in CASES.items() if make(THEIRS, theirs_tensor).has_enumerate_support]
)
@pytest.mark.parametrize("expand", [True, False])
def test_support(name, expand) -> None:
    ours, theirs = pair(name)
    check(outcome(lambda: ours.enumerate_support(expand)), outcome(lambda: theirs.enumerate_support(expand)))


FAMILIES = [name for name in CASES if " " not in name]
EDGES = {("ContinuousBernoulli", "Uniform"), ("Uniform", "ContinuousBernoulli")}
"""Pairs for which PyTorch says infinity although q covers p's support to its bounds."""


def of_two(make: Any) -> Any:
    return lambda value: make(value[:2] if isinstance(value, list) else value)


def test_divergences() -> None:
    """Every pair: the same number, or the same refusal."""
    compared = 0
    for name, other in itertools.product(FAMILIES, FAMILIES):
        p, q = (CASES[family](OURS, of_two(ours_tensor)) for family in (name, other))
        p_theirs, q_theirs = (CASES[family](THEIRS, of_two(theirs_tensor)) for family in (name, other))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = outcome(lambda p=p_theirs, q=q_theirs: THEIRS.kl_divergence(p, q))
            found = outcome(lambda p=p, q=q: OURS.kl_divergence(p, q))
        if (name, other) in EDGES:
            assert np.isinf(expected).any()
            assert np.isfinite(found).any()
            continue
        try:
            check(found, expected)
        except AssertionError as error:
            raise AssertionError(f"kl_divergence({name}, {other})") from error
        compared += not isinstance(expected, type)
    assert compared > 80
