"""polyad.autograd.forward_ad: levels, duals, views, writes in place, reverse mode around and within."""

from __future__ import annotations

import gc
import math
import threading
import weakref

import pytest

import polyad
from polyad.autograd import Function, forward_ad as fwd, grad

D = polyad.float64
X = polyad.tensor([0.5, -1.0, 2.0], dtype=D)
T = polyad.tensor([1.0, 10.0, 100.0], dtype=D)


def dual(x=X, t=T):
    return fwd.make_dual(x, t)


def tangent(x):
    return fwd.unpack_dual(x).tangent


def near(one, other) -> bool:
    return bool(((one - other).abs() <= 1e-12 * (1 + other.abs())).all())


# ------------------------------------------------------------------------------------------------ levels and duals


def test_values_and_tangents_come_apart_again() -> None:
    with fwd.dual_level():
        made = dual()
        value, slope = fwd.unpack_dual(made)
        assert slope is T
        assert tangent(value) is None
        assert value.tolist() == X.tolist()
        assert tangent(X) is None
        assert tangent(made * 2).tolist() == [2, 20, 200]
        assert tangent(X * 2) is None


def test_a_dual_is_shown_with_its_tangent() -> None:
    with fwd.dual_level():
        made = dual(polyad.tensor([1.0, 2.0]), polyad.tensor([3.0, 4.0]))
        assert repr(made) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
    assert repr(made) == "tensor([1., 2.])"


def test_a_level_forgets_its_tangents() -> None:
    with fwd.dual_level():
        made = dual() * 3
        assert tangent(made) is not None
    assert fwd.unpack_dual(made) == (made, None)
    with fwd.dual_level():
        assert tangent(made) is None


def test_a_dual_shows_the_memory_of_its_primal() -> None:
    x = X.clone()
    with fwd.dual_level():
        made = dual(x)
        made.mul_(2)
        assert tangent(made).tolist() == [2, 20, 200]
        assert tangent(x) is None
    assert x.tolist() == [1, -2, 4]
    assert T.tolist() == [1, 10, 100]


def test_levels_nest() -> None:
    one = polyad.tensor(1.0, dtype=D)
    with fwd.dual_level() as outer:
        x = fwd.make_dual(polyad.tensor(2.0, dtype=D), one)
        with fwd.dual_level() as inner:
            assert (outer, inner) == (0, 1)
            y = fwd.make_dual(x, one) ** 3
            value, slope = fwd.unpack_dual(y)
            assert fwd.unpack_dual(value, level=inner).tangent is None
            assert fwd.unpack_dual(value, level=outer).tangent.item() == 12
            assert slope.item() == 12
            assert fwd.unpack_dual(slope, level=outer).tangent.item() == 12
            # A constant of the inner level may have a tangent at the outer one.
            assert fwd.unpack_dual(x, level=inner).tangent is None
            assert fwd.unpack_dual(fwd.make_dual(one, one) * x).tangent.item() == 2
        assert tangent(y).item() == 12


def test_levels_are_left_in_order_and_are_a_threads_own() -> None:
    with fwd.dual_level(), fwd.dual_level():
        with pytest.raises(RuntimeError, match="level 0 is not the one"):
            fwd.exit_dual_level(level=0)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(fwd.unpack_dual(X)))
        thread.start()
        thread.join()
        assert seen[0].tangent is None
    with pytest.raises(RuntimeError, match="no level"):
        fwd.exit_dual_level()


def test_dual_level_is_a_decorator_and_ends_after_errors() -> None:
    @fwd.dual_level()
    def slope(x):
        return tangent(dual(x) ** 2)

    assert near(slope(X), 2 * X * T)
    assert near(slope(X), 2 * X * T)
    with pytest.raises(ZeroDivisionError), fwd.dual_level():
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="make_dual: no level"):
        dual()


def test_tangents_die_with_their_tensors() -> None:
    with fwd.dual_level():
        made = dual()
        product = made * made
        kept = weakref.ref(tangent(product))
        del product
        gc.collect()
        assert kept() is None


def test_no_grad_and_integers_and_detach() -> None:
    with fwd.dual_level():
        made = dual()
        with polyad.no_grad():
            assert tangent(made * 2).tolist() == [2, 20, 200]
        assert tangent(made.detach()) is None
        assert tangent(made.data) is None
        assert tangent(made.long()) is None
        assert tangent(made > 0) is None
        assert tangent(made.to(polyad.float32)).dtype is polyad.float32
        assert made.sum().item() == 1.5
        assert made.tolist() == X.tolist()


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: fwd.make_dual(X, T[:2]), RuntimeError, "tangent has not the shape of tensor"),
        (lambda: fwd.make_dual(X, T.to(polyad.complex128)), RuntimeError, "complex128 cannot be"),
        (lambda: fwd.make_dual(X, T.long()), ValueError, "tangent is neither floating"),
        (lambda: fwd.make_dual(X.long(), T), ValueError, "tensor is neither floating"),
        (lambda: fwd.make_dual(X, 1.0), TypeError, "tangent is float"),
        (lambda: fwd.make_dual(dual(), T), RuntimeError, "has a tangent at this level already"),
        (lambda: fwd.make_dual(X, T, level=3), RuntimeError, "no level 3"),
        (lambda: fwd.unpack_dual([X]), TypeError, "tensor is list"),
        (lambda: fwd.unpack_dual(X, level=-1), RuntimeError, "no level -1"),
    ],
)
def test_mistakes_are_told(call, kind, says) -> None:
    with fwd.dual_level(), pytest.raises(kind, match=says):
        call()


def test_tangents_take_the_dtype_of_their_tensor() -> None:
    with fwd.dual_level():
        assert tangent(fwd.make_dual(X, T.float())).dtype is D
        assert tangent(fwd.make_dual(X.to(polyad.complex128), T)).dtype is polyad.complex128


# ------------------------------------------------------------------------------------------------ views


def test_views_of_a_dual_have_views_of_its_tangent() -> None:
    x, t = polyad.arange(6.0, dtype=D).reshape(2, 3), polyad.arange(6.0, dtype=D).reshape(2, 3).exp()
    takes = [
        lambda x: x.t(),
        lambda x: x[1],
        lambda x: x[:, ::2],
        lambda x: x.reshape(3, 2),
        lambda x: x.unsqueeze(1).expand(2, 4, 3),
        lambda x: x.diagonal(),
        lambda x: x.unfold(1, 2, 1),
        lambda x: x.unbind(1)[2],
        lambda x: x.split(2, 1)[1],
        lambda x: polyad.as_strided(x, (2, 2), (1, 2), 1),
        lambda x: x.flatten().view(3, 2).t().squeeze(),
    ]
    with fwd.dual_level():
        made = dual(x, t)
        turned = dual(x, t.t().contiguous().t())
        for take in takes:
            assert tangent(take(made)).tolist() == take(t).tolist()
            assert tangent(take(turned)).tolist() == take(t).tolist()
        assert tangent(made[0])._base is t


def test_parts_of_complex_numbers() -> None:
    z = polyad.tensor([1 + 2j, 3 - 1j])
    t = polyad.tensor([1j, 2 + 0j])
    with fwd.dual_level():
        made = dual(z, t)
        assert tangent(made.real).tolist() == [0, 2]
        assert tangent(made.imag).tolist() == [1, 0]
        assert tangent(polyad.view_as_complex(polyad.view_as_real(made))).tolist() == t.tolist()
        real = z.clone()
        real.imag.copy_(made.imag)
        assert tangent(real).tolist() == [1j, 0]


# ------------------------------------------------------------------------------------------------ writes in place


def test_writes_renew_tangents() -> None:
    with fwd.dual_level():
        x = dual(X.clone())
        x.mul_(x)
        assert near(tangent(x), 2 * X * T)
        x += 1
        x.exp_()
        assert near(tangent(x), 2 * X * T * (X * X + 1).exp())
        x.copy_(polyad.ones(3))
        assert tangent(x) is None
        x.copy_(dual())
        assert near(tangent(x), T)
        x.fill_(dual()[1])
        assert tangent(x).tolist() == [10, 10, 10]
        x.zero_()
        assert tangent(x) is None
        x = dual(X.clone())
        x.normal_()
        assert tangent(x) is None


@pytest.mark.parametrize("recording", [True, False])
def test_writes_through_views_reach_base_and_other_views(recording) -> None:
    with fwd.dual_level(), polyad.set_grad_enabled(recording):
        base = polyad.zeros(2, 3, dtype=D)
        row, column, other = base[0], base[:, 1], base[1]
        row.copy_(dual())
        assert tangent(base).tolist() == [[1, 10, 100], [0, 0, 0]]
        assert tangent(column).tolist() == [10, 0]
        assert tangent(other).tolist() == [0, 0, 0]
        base.mul_(2)
        assert tangent(row).tolist() == [2, 20, 200]
        column.zero_()
        assert tangent(base).tolist() == [[2, 0, 200], [0, 0, 0]]
        assert tangent(row).tolist() == [2, 0, 200]
        base[1, 2] = dual()[0] ** 2
        assert tangent(other).tolist() == [0, 0, 1]
        base[base > 100] = 7
        base.t_()
        assert tangent(base).tolist() == [[2, 0], [0, 0], [200, 1]]


def test_views_taken_before_the_level_follow() -> None:
    base = polyad.zeros(2, 3, dtype=D)
    row = base[1]
    with fwd.dual_level():
        base.add_(dual())
        assert tangent(row).tolist() == T.tolist()
        row.mul_(2)
        assert tangent(base).tolist() == [T.tolist(), (2 * T).tolist()]


def test_out_gets_the_tangent() -> None:
    with fwd.dual_level():
        out = polyad.empty(3, dtype=D)
        polyad.mul(dual(), 2, out=out)
        assert tangent(out).tolist() == [2, 20, 200]


# ------------------------------------------------------------------------------------------------ with reverse mode


def test_tangents_can_be_differentiated_backward() -> None:
    x = X.clone().requires_grad_()
    t = T.clone().requires_grad_()
    with fwd.dual_level():
        slope = tangent(dual(x, t).sin())
    assert near(grad(slope.sum(), x, retain_graph=True)[0], -X.sin() * T)
    assert near(grad(slope.sum(), t)[0], X.cos())


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_have_tangents(create_graph) -> None:
    x = X.clone().requires_grad_()
    with fwd.dual_level():
        made = dual(x)
        y = (made.exp() * made.tanh()).sum()  # both formulas use the result that they saved
        (slope,) = grad(y, made, create_graph=create_graph)
        product = tangent(slope)
    expected = grad(grad((x.exp() * x.tanh()).sum(), x, create_graph=True)[0], x, T)[0]
    assert near(product, expected)


def test_third_derivatives_forward_over_reverse_over_reverse() -> None:
    x = X.clone().requires_grad_()
    with fwd.dual_level():
        made = dual(x)
        (first,) = grad(made.exp().sum(), made, create_graph=True)
        (second,) = grad(first.sum(), made, create_graph=True)
        assert near(tangent(second), X.exp() * T)


def test_gradients_after_writes_in_place_have_tangents() -> None:
    with fwd.dual_level():
        x = dual(X.clone().requires_grad_())
        y = x * 2
        y.mul_(y)
        y[0].sin_()
        (slope,) = grad(y.sum(), x)
        expected = 8 * T.clone()
        inner = 4 * X[0] ** 2
        expected[0] = (8 * inner.cos() - 64 * X[0] ** 2 * inner.sin()) * T[0]
        assert near(tangent(slope), expected)


def test_backward_leaves_gradients_with_tangents() -> None:
    w = X.clone().requires_grad_()
    with fwd.dual_level():
        (w**2 * dual()).sum().backward()
        assert near(w.grad, 2 * X * X)
        assert near(tangent(w.grad), 2 * X * T)


# ------------------------------------------------------------------------------------------------ layers


def layers():
    nn = polyad.nn
    return {
        "linear": (nn.Linear(4, 3), (2, 4)),
        "conv": (nn.Conv2d(2, 3, 3, padding=1, stride=2), (2, 2, 5, 5)),
        "layer_norm": (nn.LayerNorm(4), (2, 4)),
        "batch_norm": (nn.BatchNorm2d(2), (3, 2, 2, 2)),
        "group": (nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.Softmax(-1)), (3, 4)),
        "pool": (nn.Sequential(nn.MaxPool2d(2), nn.Flatten()), (2, 2, 4, 4)),
    }


@pytest.mark.parametrize("name", layers())
def test_layers_just_work(name) -> None:
    polyad.manual_seed(0)
    module, shape = layers()[name]
    module = module.double()
    x, t = polyad.randn(*shape, dtype=D), polyad.randn(*shape, dtype=D)
    moved = {key: polyad.randn_like(one) for key, one in module.named_parameters()}
    with fwd.dual_level():
        duals = {key: dual(one.detach(), moved[key]) for key, one in module.named_parameters()}
        found = tangent(polyad.func.functional_call(module, duals, dual(x, t)))

    def at(step):
        values = {key: one.detach() + step * moved[key] for key, one in module.named_parameters()}
        return polyad.func.functional_call(module, values, x + step * t)

    with polyad.no_grad():
        expected = (at(1e-6) - at(-1e-6)) / 2e-6
    assert polyad.allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_attention_and_losses() -> None:
    polyad.manual_seed(0)
    q, k, v, dq, dk, dv = polyad.randn(6, 2, 3, 4, dtype=D)
    F = polyad.nn.functional

    def f(q, k, v):
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.cross_entropy(found.reshape(-1, 4), polyad.tensor([0, 1, 2, 3, 0, 1])) + F.mse_loss(found, q)

    with fwd.dual_level():
        found = tangent(f(dual(q, dq), dual(k, dk), dual(v, dv)))
    step = 1e-6
    expected = (f(q + step * dq, k + step * dk, v + step * dv) - f(q - step * dq, k - step * dk, v - step * dv)) / (
        2 * step
    )
    assert abs((found - expected).item()) < 1e-8


def test_dropout_uses_one_mask_for_value_and_tangent() -> None:
    with fwd.dual_level():
        found = polyad.nn.functional.dropout(dual(polyad.ones(50, dtype=D), polyad.full((50,), 3.0, dtype=D)))
        assert near(tangent(found), 3 * fwd.unpack_dual(found).primal)


# ------------------------------------------------------------------------------------------------ functions


class Cube(Function):
    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.power * x ** (ctx.power - 1), None

    @staticmethod
    def jvp(ctx, t, power):
        assert power is None
        (x,) = ctx.saved_tensors
        return t * ctx.power * x ** (ctx.power - 1)


def test_a_function_brings_its_jvp() -> None:
    assert near(polyad.func.jvp(lambda x: Cube.apply(x, 3), (X,), (T,))[1], 3 * X**2 * T)
    assert polyad.autograd.gradcheck(lambda x: Cube.apply(x, 3), X.clone().requires_grad_(), check_forward_ad=True)
    # Its jvp is made of ops, so it nests.
    twice = polyad.func.jvp(lambda x: polyad.func.jvp(lambda y: Cube.apply(y, 3), (x,), (T,))[1], (X,), (T,))[1]
    assert near(twice, 6 * X * T * T)
    assert near(polyad.func.jvp(polyad.func.grad(lambda x: Cube.apply(x, 3).sum()), (X,), (T,))[1], 6 * X * T)
    assert near(polyad.func.jacfwd(lambda x: Cube.apply(x, 3))(X), (3 * X**2).diag())


class Exp(Function):
    """Saves its result, and has its context set up apart."""

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0]


def test_what_a_function_saves_has_tangents() -> None:
    from polyad.autograd.graph import save_on_cpu

    func = polyad.func

    def packed(x):
        with save_on_cpu():
            return Exp.apply(x).sum()

    for f in (lambda x: Exp.apply(x).sum(), packed):
        assert near(func.jvp(f, (X,), (T,))[1], (X.exp() * T).sum())
        assert near(func.jvp(func.grad(f), (X,), (T,))[1], X.exp() * T)
        assert near(func.grad(lambda x: func.jvp(f, (x,), (T,))[1])(X), X.exp() * T)  # noqa: B023
        assert near(func.hessian(f)(X), X.exp().diag())
        assert near(func.jvp(func.grad(lambda x: func.grad(f)(x).sum()), (X,), (T,))[1], X.exp() * T)  # noqa: B023


def function(jvp, forward=lambda ctx, x, y: x * y):
    class Made(Function):
        pass

    Made.forward, Made.jvp = staticmethod(forward), staticmethod(jvp)
    return Made.apply


def test_tangents_are_materialized_unless_asked_not_to() -> None:
    seen = []

    def silent(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * y

    with fwd.dual_level():
        for forward in (lambda ctx, x, y: x * y, silent):
            function(lambda ctx, t, u: seen.append(u), forward)(dual(), X)
    assert seen[0].tolist() == [0, 0, 0]
    assert seen[1] is None


def test_results_of_functions() -> None:
    def dirty(ctx, x, y):
        ctx.mark_dirty(x)
        return x.mul_(y)

    def two(ctx, x, y):
        found = (x > 0).long()
        ctx.mark_non_differentiable(found)
        return x * y, found

    with fwd.dual_level():
        x = dual(X.clone())
        assert function(lambda ctx, t, u: t * 5, dirty)(x, X) is x
        assert tangent(x).tolist() == [5, 50, 500]
        both = function(lambda ctx, t, u: (t, None), two)(dual(), X)
        assert (tangent(both[0]).tolist(), tangent(both[1])) == (T.tolist(), None)
        x = dual()
        same = function(lambda ctx, t, u: t * 7, lambda ctx, x, y: x)(x, X)
        assert tangent(same).tolist() == (7 * T).tolist()
        assert tangent(x) is T


@pytest.mark.parametrize(
    ("jvp", "kind", "says"),
    [
        (lambda ctx, t, u: (t, t), RuntimeError, r"Made.jvp \(.*2 tangents for 1 results"),
        (lambda ctx, t, u: 1.0, RuntimeError, "tangent 0 is float"),
        (lambda ctx, t, u: t.sum(), RuntimeError, "another shape than the result"),
        (lambda ctx, t, u: t.long(), RuntimeError, "dtype that no tangent"),
        (lambda ctx, t, u: t * 1j, RuntimeError, "dtype that no tangent"),
    ],
)
def test_mistakes_of_a_jvp_are_told(jvp, kind, says) -> None:
    with fwd.dual_level(), pytest.raises(kind, match=says):
        function(jvp)(dual(), X)


def test_what_has_no_rule_is_told() -> None:
    class Plain(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fwd.dual_level():
        assert tangent(Plain.apply(X)) is None
        with pytest.raises(NotImplementedError, match="Plain: it has no jvp"):
            Plain.apply(dual())
        with pytest.raises(NotImplementedError, match="ldl_factor"):
            polyad.linalg.ldl_factor(dual(polyad.eye(2), polyad.eye(2)))
        with pytest.raises(NotImplementedError, match="igamma"):
            polyad.igamma(dual(X.abs()), X.abs())


# ------------------------------------------------------------------------------------------------ saved tensors


def test_tangents_survive_what_packs_saved_tensors() -> None:
    from polyad.autograd.graph import save_on_cpu, saved_tensors_hooks
    from polyad.utils.checkpoint import checkpoint

    def f(x):
        return (x.tanh() * x.exp()).sum()

    def listed(x):
        with saved_tensors_hooks(lambda t: t.tolist(), lambda v: polyad.tensor(v, dtype=D)):
            return f(x)

    def saved(x):
        with save_on_cpu():
            return f(x)

    _, expected = polyad.func.jvp(polyad.func.grad(f), (X,), (T,))
    for packed in (listed, saved, lambda x: checkpoint(f, x, use_reentrant=False)):
        assert near(polyad.func.jvp(polyad.func.grad(packed), (X,), (T,))[1], expected)


def test_a_graph_made_at_a_level_can_be_run_after_it() -> None:
    from polyad.utils.checkpoint import checkpoint

    x = X.clone().requires_grad_()
    with fwd.dual_level():
        value, slope = fwd.unpack_dual(checkpoint(lambda x: x.sin().exp(), dual(x), use_reentrant=False))
    assert near(grad(value.sum(), x, retain_graph=True)[0], X.cos() * X.sin().exp())
    assert near(grad(slope.sum(), x)[0], (X.cos() ** 2 - X.sin()) * X.sin().exp() * T)


def test_a_custom_op_needs_no_jvp() -> None:
    calls = []

    @polyad.library.custom_op("forward_ad_test::cube", mutates_args=())
    def cube(x: polyad.Tensor, scale: float) -> polyad.Tensor:
        calls.append(1)
        return polyad.tensor([scale * one**3 for one in x.tolist()], dtype=x.dtype)

    def backward(ctx, g):
        return g * 3 * ctx.scale * ctx.saved_tensors[0] ** 2, None

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    cube.register_autograd(backward, setup_context=setup)
    value, slope = polyad.func.jvp(lambda x: cube(x, 2.0), (X,), (T,))
    assert near(value, 2 * X**3)
    assert near(slope, 6 * X**2 * T)
    assert not slope.requires_grad
    assert len(calls) == 1
    assert near(
        grad(polyad.func.jvp(lambda x: cube(x, 2.0), (w := X.clone().requires_grad_(),), (T,))[1].sum(), w)[0],
        12 * X * T,
    )
    assert near(polyad.func.jvp(polyad.func.grad(lambda x: cube(x, 2.0).sum()), (X,), (T,))[1], 12 * X * T)

    @polyad.library.custom_op("forward_ad_test::exp", mutates_args=())
    def exp(x: polyad.Tensor) -> polyad.Tensor:
        return polyad.tensor([math.exp(one) for one in x.tolist()], dtype=x.dtype)

    exp.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output)
    )
    assert near(polyad.func.jvp(polyad.func.grad(lambda x: exp(x).sum()), (X,), (T,))[1], X.exp() * T)


def test_many_views_at_a_level_leave_nothing_behind() -> None:
    from polyad.autograd.forward_level import ForwardLevel

    with ForwardLevel() as _:
        level = polyad.base.state.state.modes[-1]
        x = level.dual("test", X, T)
        for _ in range(1000):
            x[0]
        assert len(level._views[id(x)][1]) < 32
        assert len(level._roots) < 4
        del x
        gc.collect()
        assert not level._tangents
