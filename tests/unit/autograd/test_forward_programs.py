"""Random programs of ops, views and in-place writes: their tangents, and the tangents of their gradients, agree with
finite differences. The programs are those of test_programs.py.
"""

import math
from contextlib import nullcontext

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import polyad
from polyad.autograd import forward_ad, grad

from .test_programs import STEP, run, step

D = polyad.float64
POINTS = (polyad.arange(6, dtype=D).reshape(2, 3) * 0.31 - 0.8, polyad.arange(3, dtype=D) * -0.45 + 0.5)
DIRECTIONS = (polyad.arange(6, dtype=D).reshape(2, 3).cos(), polyad.arange(3, dtype=D).exp() * 0.2)

programs = st.lists(step, min_size=1, max_size=9)
fuzzed = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def moved(by, recorded):
    made = [point + by * direction for point, direction in zip(POINTS, DIRECTIONS, strict=True)]
    return [one.requires_grad_() for one in made] if recorded else made


def duals(recorded):
    return [forward_ad.make_dual(one, t) for one, t in zip(moved(0.0, recorded), DIRECTIONS, strict=True)]


@pytest.mark.parametrize("way", ["plain", "recorded", "no_grad"])
@given(program=programs)
@fuzzed
def test_tangents_of_random_programs(way, program) -> None:
    recorded = way == "recorded"
    with polyad.no_grad() if way == "no_grad" else nullcontext():
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(run(program, duals(recorded))).tangent
        wanted = (run(program, moved(STEP, recorded)) - run(program, moved(-STEP, recorded))).item() / (2 * STEP)
    if math.isfinite(wanted):
        got = 0.0 if found is None else found.item()
        assert got == pytest.approx(wanted, abs=1e-6 * (1 + abs(wanted))), program


@pytest.mark.parametrize("create_graph", [False, True])
@given(program=programs)
@fuzzed
def test_tangents_of_gradients_of_random_programs(create_graph, program) -> None:
    try:
        with forward_ad.dual_level():
            inputs = duals(True)
            gradients = grad(run(program, inputs), inputs, create_graph=create_graph)
            found = [forward_ad.unpack_dual(one).tangent for one in gradients]
        sides = []
        for by in (STEP, -STEP):
            inputs = moved(by, True)
            sides.append(grad(run(program, inputs), inputs))
    except RuntimeError as error:
        if "was changed in place" in str(error):
            return  # that is told; there is no gradient to compare
        raise
    for got, ahead, behind in zip(found, *sides, strict=True):
        wanted = (ahead - behind) / (2 * STEP)
        if bool(wanted.isfinite().all()):
            got = polyad.zeros_like(wanted) if got is None else got
            scale = 1 + float(wanted.abs().max())
            assert float((got - wanted).abs().max()) <= 1e-5 * scale, program
