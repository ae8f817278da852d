"""jvp, jacfwd and hessian: forward mode nested with vmap, with reverse mode and with itself."""

from __future__ import annotations

import pytest

import polyad
from polyad.autograd import Function, forward_ad
from polyad.func import grad, hessian, jacfwd, jacrev, jvp, vmap

D = polyad.float64
polyad.manual_seed(0)
X, T, W = polyad.randn(4, 3, dtype=D), polyad.randn(4, 3, dtype=D), polyad.randn(3, 3, dtype=D)


def scalar(x):
    return ((x @ W).tanh() * x).sum()


def vector(x):
    return polyad.nn.functional.layer_norm((x @ W).tanh() * x, (3,)).softmax(-1)


def written(x):
    y = x.clone()
    y[0] = x[1] * x[2]
    y[1:].mul_(x[0])
    return y.sin_()


def near(one, other) -> bool:
    return polyad.allclose(one, other, rtol=1e-9, atol=1e-10)


def rows(function, *tensors):
    return polyad.stack([function(*row) for row in zip(*tensors, strict=True)])


def second(x):
    return jacrev(grad(scalar))(x)


def pushed(function):
    return lambda x, t: jvp(function, (x,), (t,))[1]


@pytest.mark.parametrize("function", [vector, written])
def test_jvp_and_vmap_in_both_orders(function) -> None:
    expected = rows(lambda x, t: jacrev(function)(x) @ t, X, T)
    assert near(rows(pushed(function), X, T), expected)
    assert near(vmap(pushed(function))(X, T), expected)
    assert near(jvp(vmap(function), (X,), (T,))[1], expected)
    assert near(jvp(vmap(function, in_dims=1, out_dims=1), (X.t(),), (T.t(),))[1], expected.t())


def test_second_derivatives_in_all_orders() -> None:
    expected = rows(lambda x, t: second(x) @ t, X, T)
    assert near(vmap(pushed(grad(scalar)))(X, T), expected)
    assert near(jvp(vmap(grad(scalar)), (X,), (T,))[1], expected)
    assert near(vmap(lambda x, t: grad(lambda x: pushed(scalar)(x, t))(x))(X, T), expected)
    assert near(grad(lambda x: jvp(vmap(scalar), (x,), (T,))[1].sum())(X), expected)
    assert near(vmap(hessian(scalar))(X), rows(second, X))
    for jacobian in (jacfwd(jacfwd(scalar)), jacrev(jacfwd(scalar)), jacfwd(jacrev(scalar))):
        assert near(jacobian(X[0]), second(X[0]))
    assert near(jvp(jacfwd(scalar), (X[0],), (T[0],))[1], expected[0])
    assert near(jacfwd(hessian(scalar))(X[0]), jacrev(jacrev(jacrev(scalar)))(X[0]))


def test_jacfwd_calls_the_function_once() -> None:
    calls = []

    def counted(x, y):
        calls.append(1)
        return {"product": x * y, "sum": (x + 2 * y).sum(), "fixed": polyad.ones(2)}

    found = jacfwd(counted, argnums=(1, 0))(X[0], X[1])
    assert len(calls) == 1
    assert near(found["product"][0], X[0].diag())
    assert near(found["product"][1], X[1].diag())
    assert found["sum"][0].tolist() == [2, 2, 2]
    assert found["fixed"][1].shape == (2, 3)


def test_jacfwd_of_inputs_without_elements_and_without_dimensions() -> None:
    assert jacfwd(lambda x: x.sum())(polyad.ones(0)).shape == (0,)
    assert jacfwd(lambda x: x * 2)(polyad.ones(2, 0)).shape == (2, 0, 2, 0)
    assert jacfwd(lambda x: x**3)(polyad.tensor(2.0)).item() == 12
    assert jacfwd(lambda x: (x * 2, X), has_aux=True)(X[0])[1] is X


def test_random_numbers_within() -> None:
    def noisy(x):
        return x * polyad.rand(3, dtype=D)

    with pytest.raises(RuntimeError, match="randomness"):
        jacfwd(noisy)(X[0])
    same = jacfwd(noisy, randomness="same")(X[0])
    assert int((same != 0).sum()) == 3
    value, slope = jvp(noisy, (X[0],), (T[0],))
    assert near(value / X[0], slope / T[0])


def test_a_result_is_never_the_argument() -> None:
    tangent = jvp(lambda x: x, (X,), (T,))[1]
    assert tangent is not T
    tangent.zero_()
    assert bool((T != 0).all())


def test_inputs_that_are_written_to_are_refused() -> None:
    for function in (lambda x: x.mul_(2), lambda x: x[0].zero_(), lambda x: x.view(-1).add_(1)):
        with pytest.raises(RuntimeError, match="in place"):
            jvp(function, (X,), (T,))


class Square(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 2 * x * y * g, x * x * g

    @staticmethod
    def jvp(ctx, t, u):
        x, y = ctx.saved_tensors
        return 2 * x * y * t + x * x * u


class Mapped(Square):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, y):
        return Mapped.apply(x, y), in_dims[0]


@pytest.mark.parametrize("function", [Square, Mapped])
def test_functions_with_rules_of_their_own(function) -> None:
    def f(x):
        return function.apply(x, polyad.full((3,), 2.0, dtype=D))

    assert near(vmap(pushed(f))(X, T), 4 * X * T)
    assert near(jvp(vmap(f), (X,), (T,))[1], 4 * X * T)
    assert near(vmap(jacfwd(f))(X), rows(polyad.diag, 4 * X))
    assert near(jvp(vmap(grad(lambda x: f(x).sum())), (X,), (T,))[1], 4 * T)
    assert near(vmap(pushed(grad(lambda x: f(x).sum())))(X, T), 4 * T)


def test_a_level_outside_of_vmap_is_refused_within() -> None:
    def inside(x):
        return forward_ad.unpack_dual(forward_ad.make_dual(x, x) ** 2).tangent

    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="outside of vmap"):
        vmap(inside)(X)
    assert near(vmap(forward_ad.dual_level()(inside))(X), 2 * X * X)
    with forward_ad.dual_level():
        mapped = vmap(lambda x: x.sin())(forward_ad.make_dual(X, T))
        assert near(forward_ad.unpack_dual(mapped).tangent, X.cos() * T)
