"""Random programs of ops, views and in-place writes: their gradients agree with finite differences.

A program is a list of steps on a list of tensors, in float64; what it is differentiated for is a sum of all that it
made. Writes that polyad refuses (to expanded tensors, of shapes that do not fit) are refused in every run alike. A
write to something that backward needs must be told by backward; such a program has no other gradient to compare.
Values stay between -1 and 1 where functions are smooth, so that differences are exact to about eight digits; the
tolerance is far above that and far below any wrong gradient.
"""

import math

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import polyad
from polyad.errors import AutogradError
from polyad.func import grad, jvp, vmap
from polyad.testing import assert_close

STEP = 1e-5

UNARY = {
    "sin": polyad.sin,
    "tanh": polyad.tanh,
    "square": lambda t: t * t * 0.5,
    "scaled exp": lambda t: (t * 0.5).exp() * 0.5,
    "rational": lambda t: t / (t * t + 1),
    "softmax": lambda t: t.softmax(-1),
    "cumsum": lambda t: t.cumsum(0) * 0.5,
    "clone": polyad.clone,
    "normalised": lambda t: t / (1 + t.square().sum()).sqrt(),
}
BINARY = {
    "add": lambda a, b: (a + b) * 0.5,
    "sub": lambda a, b: (a - b) * 0.5,
    "mul": lambda a, b: a * b,
    "where": lambda a, b: polyad.where(polyad.arange(3, dtype=polyad.float64) < 2, a, b),
    "lerp": lambda a, b: a.lerp(b, 0.25),
}
VIEWS = {
    "row": lambda t: t[0],
    "tail": lambda t: t[1:],
    "column": lambda t: t[:, 1:2],
    "transposed": lambda t: t.t(),
    "flat": lambda t: t.reshape(-1),
    # Of whole tensors alone: what as_strided sees of a view's surroundings has no gradient, in PyTorch neither.
    "window": lambda t: t.as_strided((2, 2), (3, 1), 1) if t.shape == (2, 3) and t.is_contiguous() else t[9],
    "diagonal": lambda t: t.diagonal(),
    "first of split": lambda t: t.split(1)[0],
    "second of unbind": lambda t: t.unbind()[1],
    "expanded": lambda t: t[:1].expand(2, 3),
}
WRITES = {
    "mul_": lambda t, other: t.mul_(0.5 + 0.25 * other),
    "add_": lambda t, other: t.add_(other, alpha=0.5),
    "copy_": lambda t, other: t.copy_(other),
    "fill_": lambda t, other: t.fill_(0.3),
    "zero_": lambda t, other: t.zero_(),
    "sin_": lambda t, other: t.sin_(),
    "setitem": lambda t, other: t.__setitem__(..., other * 0.5),
    "exp_": lambda t, other: t.mul_(0.1).exp_(),
}

position = st.integers(0, 7)
step = st.one_of(
    st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY)), position, position),
    st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), position, position),
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), position, position),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), position, position),
    st.tuples(st.just("view of view write"), st.sampled_from(sorted(WRITES)), position, position),
)


def run(program, inputs):
    """The sum of everything that *program* makes of *inputs*, each weighted differently."""
    made = [one * 1.0 for one in inputs]
    for kind, name, first, second in program:
        a, b = made[first % len(made)], made[second % len(made)]
        try:
            if kind == "unary":
                made.append(UNARY[name](a))
            elif kind == "binary":
                made.append(BINARY[name](a, b))
            elif kind == "view":
                made.append(VIEWS[name](a))
            else:
                target = a if kind == "write" else a[1:].t()
                other = b.clone()
                WRITES[name](target, other if other.shape == target.shape else other.reshape(-1)[:1])
        except (RuntimeError, IndexError):
            continue  # shapes that do not fit, views that cannot be, writes that are refused
    total = 0.0
    for number, one in enumerate(made):
        weights = (polyad.arange(one.numel(), dtype=polyad.float64) * (0.7 + number)).cos().reshape(one.shape)
        total = total + (one * weights).sum()
    return total


def differences(program, inputs):
    """The gradient of `run` by central differences, the inputs' elements after one another."""
    found = []
    for number, one in enumerate(inputs):
        for place in range(one.numel()):
            values = []
            for sign in (1, -1):
                moved = [other.detach().clone() for other in inputs]
                moved[number].view(-1)[place] += sign * STEP
                values.append(run(program, [other.requires_grad_() for other in moved]).item())
            found.append((values[0] - values[1]) / (2 * STEP))
    return found


def check(program) -> bool:
    """Compare; False if there is no gradient to compare."""
    inputs = [
        (polyad.arange(6, dtype=polyad.float64).reshape(2, 3) * 0.31 - 0.8).requires_grad_(),
        (polyad.arange(3, dtype=polyad.float64) * -0.45 + 0.5).requires_grad_(),
    ]
    out = run(program, inputs)
    if not math.isfinite(out.item()):
        return False
    try:
        out.backward()
    except RuntimeError as error:
        if "was changed in place" in str(error):
            return False
        raise
    got = [value for one in inputs for value in one.grad.reshape(-1).tolist()]
    wanted = differences(program, inputs)
    scale = 1 + max(map(abs, wanted))
    assert got == pytest.approx(wanted, abs=1e-6 * scale), program
    return True


compared: list[bool] = []


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(step, min_size=1, max_size=9))
def test_gradients_of_random_programs(program) -> None:
    compared.append(check(program))


def test_enough_programs_had_a_gradient() -> None:
    """Runs after the test above, in the same process; alone it has nothing to say."""
    assert not compared or sum(compared) > len(compared) / 2


@pytest.mark.parametrize("write", sorted(WRITES))
@pytest.mark.parametrize("view", sorted(VIEWS))
def test_every_write_through_every_view(view, write) -> None:
    assert check(
        [
            ("binary", "add", 0, 1),
            ("view", view, 2, 0),
            ("view", "tail", 2, 0),
            ("write", write, 3, 1),
            ("unary", "tanh", 2, 0),
            ("unary", "square", 3, 0),
            ("binary", "mul", 4, 5),
        ]
    )


def batches():
    """Two samples of each input."""
    base = (polyad.arange(6, dtype=polyad.float64).reshape(2, 3) * 0.31 - 0.8, polyad.arange(3) * -0.45 + 0.5)
    return [polyad.stack([one, one.flip(0) * 0.7]).to(polyad.float64) for one in base]


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(step, min_size=1, max_size=9))
def test_random_programs_of_batches(program) -> None:
    """vmap against a loop, for values and gradients taken inside and outside, and for tangents."""

    def value(a, b):
        return run(program, [a, b])

    def slope(*primals):
        return jvp(value, primals, tuple(one.detach() * 0.5 for one in primals))[1]

    def looped(function):
        return polyad.stack([function(a, b) for a, b in zip(*batches(), strict=True)])

    assert_close(vmap(value)(*batches()), looped(value), equal_nan=True)
    assert_close(vmap(slope)(*batches()), looped(slope), equal_nan=True)
    gradients = grad(value, argnums=(0, 1))
    try:
        expected = [polyad.stack(one) for one in zip(*map(gradients, *batches()), strict=True)]
    except AutogradError as error:
        if "was changed in place" in str(error):
            return  # backward needs what was written to
        raise
    outside = [one.requires_grad_() for one in batches()]
    vmap(value)(*outside).sum().backward()
    for inside, one, wanted in zip(vmap(gradients)(*batches()), outside, expected, strict=True):
        assert_close(inside, wanted, equal_nan=True)
        assert_close(one.grad, wanted, equal_nan=True)
