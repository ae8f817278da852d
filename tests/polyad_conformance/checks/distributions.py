"""Distributions on a device: samples, their gradients and densities are those of the host, up to rounding.

In float64, or in float32 where a device has no wider one. Those whose ops need what a device does not declare, such as
float64 for sampling, are left out there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad
from polyad.errors import UndeclaredDType

from ..calls import Target
from ..distribution_cases import CASES
from ..layouts import to_host

TOLERANCE = {polyad.float64: 1e-9, polyad.float32: 1e-3}


def outcomes(name: str, device: str, drawn: Any = None, dtype: Any = polyad.float64) -> tuple[Any, list[np.ndarray]]:
    """Samples on *device*, and what follows from *drawn*, or else from them: densities and gradients."""
    leaves = []

    def parameter(value: Any) -> Any:
        leaves.append(polyad.tensor(value, dtype=dtype, device=device, requires_grad=True))
        return leaves[-1]

    distribution = CASES[name](polyad.distributions, parameter)
    polyad.manual_seed(0)
    samples = distribution.rsample((3,)) if distribution.has_rsample else distribution.sample((3,))
    results = [samples]
    if distribution.has_rsample:
        gradients = polyad.autograd.grad(samples.sum(), leaves, allow_unused=True, retain_graph=True)
        results += [g for g in gradients if g is not None]
    value = samples.detach() if drawn is None else polyad.tensor(drawn, device=device)
    results.append(distribution.log_prob(value))
    return to_host(samples), [to_host(result.detach()) for result in results]


def check_distributions(target: Target) -> None:
    """Every distribution draws the same numbers as on the host, which have the same densities and gradients."""
    dtype = polyad.float64 if polyad.float64 in target.dtypes else polyad.float32
    allowed = TOLERANCE[dtype]
    for name in CASES:
        drawn, expected = outcomes(name, "cpu", dtype=dtype)
        try:
            with target.watching():
                _, found = outcomes(name, target.device, drawn, dtype)
        except UndeclaredDType as error:
            if error.dtype in target.dtypes:
                raise
            continue
        assert len(found) == len(expected), name
        for ours, theirs in zip(found, expected, strict=True):
            scale = max(1.0, float(np.abs(theirs).max()))
            np.testing.assert_allclose(ours, theirs, rtol=allowed, atol=allowed * scale, err_msg=name)
