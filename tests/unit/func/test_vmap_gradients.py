"""vmap with the other transforms, in any order: per-sample gradients, ensembles, Jacobians, custom functions."""

import pytest

import polyad
from polyad import nn
from polyad.autograd import Function
from polyad.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    loop_report,
    reset_loop_report,
    stack_module_state,
    vjp,
    vmap,
)
from polyad.testing import assert_close

F = nn.functional
f64 = polyad.float64


@pytest.fixture(autouse=True)
def _seed():
    polyad.manual_seed(3)
    reset_loop_report()


def randn(*shape, **settings):
    return polyad.randn(*shape, dtype=f64, **settings)


def curve(x):
    return (x.sin() * x.exp()).sum()


def field(x):
    return (x * x.roll(1, 0)).tanh()


# ------------------------------------------------------------------------------------------------ per-sample gradients


def loss_of(net):
    def loss(parameters, x, y):
        return F.cross_entropy(functional_call(net, parameters, (x.unsqueeze(0),)), y.unsqueeze(0))

    return loss


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.LayerNorm(7), nn.Linear(7, 3)), (5,)),
        (
            nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)),
            (2, 6, 6),
        ),
        (
            nn.Sequential(nn.Conv2d(2, 4, 3, groups=2, bias=False), nn.GELU(), nn.Flatten(), nn.Linear(64, 3)),
            (2, 6, 6),
        ),
    ],
    ids=["perceptron", "convolution", "groups"],
)
def test_gradients_of_each_sample(net, shape) -> None:
    parameters = {name: one.detach() for name, one in net.named_parameters()}
    x, y = polyad.randn(4, *shape), polyad.randint(0, 3, (4,))
    found, losses = vmap(grad_and_value(loss_of(net)), in_dims=(None, 0, 0))(parameters, x, y)
    for number in range(4):
        single, loss = grad_and_value(loss_of(net))(parameters, x[number], y[number])
        assert_close(losses[number], loss)
        for name, one in single.items():
            assert_close(found[name][number], one, rtol=1e-4, atol=1e-6)
    assert loop_report() == ()


def test_embeddings_of_each_sample() -> None:
    table, index = randn(6, 3), polyad.tensor([[0, 1, 1], [5, 5, 5]])
    found = vmap(grad(lambda w, i: F.embedding(i, w).square().sum()), in_dims=(None, 0))(table, index)
    counts = F.one_hot(index, 6).sum(1).to(f64)
    assert_close(found, 2 * table * counts.unsqueeze(-1))


def test_per_sample_gradients_are_differentiable_themselves() -> None:
    weight, x = randn(4, requires_grad=True), randn(3, 4)

    def penalty(weight, each):
        return each(weight).square().sum()

    mapped = lambda w: vmap(grad(lambda w, a: curve(w * a)), in_dims=(None, 0))(w, x)  # noqa: E731
    looped = lambda w: polyad.stack([grad(lambda w, a=a: curve(w * a))(w) for a in x])  # noqa: E731
    penalty(weight, mapped).backward()
    (expected,) = polyad.autograd.grad(penalty(weight, looped), weight)
    assert_close(weight.grad, expected)
    assert_close(grad(lambda w: penalty(w, mapped))(weight.detach()), expected)


def test_no_history_without_need() -> None:
    assert not vmap(grad(curve))(randn(3, 4)).requires_grad
    assert vmap(grad(curve))(randn(3, 4, requires_grad=True)).requires_grad
    with polyad.no_grad():
        assert not vmap(grad(curve))(randn(3, 4, requires_grad=True)).requires_grad


# ------------------------------------------------------------------------------------------------ ensembles


def test_ensembles() -> None:
    models = [nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 3)).eval() for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    base = models[0]
    x, batches = polyad.randn(6, 5), polyad.randn(4, 6, 5)

    def call(parameters, buffers, x):
        return functional_call(base, (parameters, buffers), (x,))

    found = vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    assert_close(found, polyad.stack([model(x) for model in models]))
    each_its_own = vmap(call)(parameters, buffers, batches)
    assert_close(each_its_own, polyad.stack([model(one) for model, one in zip(models, batches, strict=True)]))
    found.square().sum().backward()
    models[2](x).square().sum().backward()
    assert_close(parameters["0.weight"].grad[2], models[2][0].weight.grad, rtol=1e-4, atol=1e-5)


def test_dropout_in_an_ensemble() -> None:
    models = [nn.Sequential(nn.Linear(4, 4), nn.Dropout()) for _ in range(3)]
    state, x = stack_module_state(models), polyad.ones(2, 4)
    call = lambda parameters, buffers: functional_call(models[0], (parameters, buffers), (x,))  # noqa: E731
    with pytest.raises(RuntimeError, match="draws random numbers"):
        vmap(call)(*state)
    zeros = vmap(call, randomness="same")(*state) == 0
    assert (zeros == zeros[0]).all()


# ------------------------------------------------------------------------------------------------ any order


def test_orders_of_transforms() -> None:
    x, v = randn(3, 4), randn(3, 4)
    for k in range(3):
        row, direction = x[k], v[k]
        expected = hessian(curve)(row)
        assert_close(vmap(hessian(curve))(x)[k], expected)
        assert_close(vmap(jacrev(jacfwd(curve)))(x)[k], expected)
        assert_close(vmap(jacfwd(jacfwd(curve)))(x)[k], expected)
        assert_close(vmap(jacrev(jacrev(curve)))(x)[k], expected)
        product = vmap(lambda a, b: jvp(grad(curve), (a,), (b,))[1])(x, v)[k]
        assert_close(product, expected @ direction)
        assert_close(vmap(lambda a, b: vjp(grad(curve), a)[1](b)[0])(x, v)[k], expected @ direction)
        assert_close(vmap(lambda a, b: linearize(grad(curve), a)[1](b))(x, v)[k], expected @ direction)
    together = lambda a: vmap(curve)(a).sum()  # noqa: E731
    assert_close(grad(together)(x), vmap(grad(curve))(x))
    assert_close(jvp(vmap(grad(curve)), (x,), (v,))[1], vmap(lambda a, b: jvp(grad(curve), (a,), (b,))[1])(x, v))
    assert_close(vjp(vmap(field), x)[1](v)[0], vmap(lambda a, b: vjp(field, a)[1](b)[0])(x, v))
    assert_close(jacrev(vmap(curve))(x), polyad.diag_embed(vmap(grad(curve))(x).t()).permute(1, 2, 0))
    nested = vmap(lambda a: vmap(grad(lambda b: curve(b * a[0])))(x))(v)
    assert_close(nested[1, 2], grad(lambda b: curve(b * v[1, 0]))(x[2]))
    assert loop_report() == ()


def test_vjp_functions_map_over_cotangents() -> None:
    x = randn(4)
    _, pull = vjp(field, x)
    assert_close(vmap(pull)(polyad.eye(4, dtype=f64))[0], jacfwd(field)(x))
    _, push = linearize(field, x)
    assert_close(vmap(push, out_dims=1)(polyad.eye(4, dtype=f64)), jacfwd(field)(x))


@pytest.mark.parametrize("chunk", [None, 1, 3, 100])
def test_jacobians_in_chunks(chunk) -> None:
    x, y = randn(5), randn(2)
    function = lambda x, y: {"a": field(x) * y[0], "b": (x.sum() * y).cos()}  # noqa: E731
    found = jacrev(function, argnums=(0, 1), chunk_size=chunk)(x, y)
    expected = jacfwd(function, argnums=(0, 1))(x, y)
    for name in "ab":
        for number in range(2):
            assert_close(found[name][number], expected[name][number])


def test_jacobians_have_history() -> None:
    x = randn(3, requires_grad=True)
    jacrev(field)(x).square().sum().backward()
    found, x.grad = x.grad, None
    jacfwd(field)(x).square().sum().backward()
    assert_close(found, x.grad)
    assert jacrev(lambda x: x * 2)(randn(3)).requires_grad is False


def test_auxiliary_results_leave_jacobians() -> None:
    x = randn(3)
    for transform in (jacrev, jacfwd):
        (_, aux) = transform(lambda x: (field(x), grad(curve)(x)), has_aux=True)(x)
        assert_close(aux + 0, grad(curve)(x))


def test_batches_of_gradients() -> None:
    x = randn(3, requires_grad=True)
    y = field(x)
    rows = polyad.stack([polyad.autograd.grad(y, x, one, retain_graph=True)[0] for one in polyad.eye(3, dtype=f64)])
    (found,) = polyad.autograd.grad(y, x, polyad.eye(3, dtype=f64), is_grads_batched=True, create_graph=True)
    assert_close(found, rows)
    found.sum().backward()
    assert x.grad is not None
    unused = randn(2, requires_grad=True)
    none = polyad.autograd.grad(
        field(x), [x, unused], polyad.eye(3, dtype=f64), is_grads_batched=True, allow_unused=True
    )
    assert none[1] is None
    with pytest.raises(RuntimeError, match="leading dimension"):
        polyad.autograd.grad(field(x), x, polyad.tensor(1.0, dtype=f64), is_grads_batched=True)


def test_backward_inside_of_a_mapped_function() -> None:
    def f(a):
        a = a.clone().requires_grad_()
        curve(a).backward()
        return a.grad

    x = randn(3, 4)
    assert_close(vmap(f)(x), vmap(grad(curve))(x))


def test_checkpoints_and_hooks_inside() -> None:
    from polyad.utils.checkpoint import checkpoint

    x, seen = randn(3, 4), []

    def f(a):
        inside = checkpoint(lambda b: b.sin() * b.exp(), a, use_reentrant=False)
        inside.register_hook(lambda g: seen.append(g.shape))
        return inside.sum()

    assert_close(vmap(grad(f))(x), vmap(grad(curve))(x))
    assert seen == [(4,)]


def test_anomaly_mode_and_capture() -> None:
    x = randn(3, 4)
    expected = vmap(grad(curve))(x)
    with polyad.autograd.detect_anomaly(check_nan=True), polyad.detect_nonfinite():
        assert_close(vmap(grad(curve))(x), expected)
    graph = polyad.jit.capture(vmap(grad(curve)), x * 2)
    assert_close(graph(x), expected)


# ------------------------------------------------------------------------------------------------ custom functions


class Scaled(Function):
    """sin(x * w), its own gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return (x * w).sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        x, w, _ = ctx.saved_tensors
        slope = g * (x * w).cos()
        return slope * w, slope * x


class Old(Function):
    """The same with a forward that saves for itself."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).sin()

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        slope = g * (x * w).cos()
        return slope * w, slope * x


class Ruled(Scaled):
    """The same with a rule for batches."""

    generate_vmap_rule = False
    calls: list = []  # noqa: RUF012

    @staticmethod
    def vmap(info, in_dims, x, w):
        Ruled.calls.append((info.batch_size, info.randomness, in_dims))
        x, w = (one.unsqueeze(0) if dim is None else one for one, dim in zip((x, w), in_dims, strict=True))
        return Ruled.apply(x, w).transpose(0, 1), 1


@pytest.mark.parametrize("function", [Scaled, Old, Ruled])
def test_custom_functions(function) -> None:
    x, w, y = randn(3, 4), randn(4), randn(2, 3, 4)
    plain = lambda x, w: (x * w).sin()  # noqa: E731

    def same(of):
        assert_close(of(function.apply), of(plain))

    def outside(f):
        w_ = w.clone().requires_grad_()
        vmap(grad(lambda x, w: f(x, w).sum()), in_dims=(0, None))(x, w_).square().sum().backward()
        return w_.grad

    same(lambda f: vmap(f, in_dims=(0, None))(x, w))
    same(lambda f: vmap(grad(lambda x, w: f(x, w).sum(), argnums=1), in_dims=(0, None))(x, w))
    same(lambda f: grad(lambda w: vmap(f, in_dims=(0, None))(x, w).square().sum())(w))
    same(lambda f: jacrev(jacrev(lambda w: vmap(f, in_dims=(0, None))(x, w).sum()))(w))
    same(lambda f: vmap(vmap(f, in_dims=(0, None)), in_dims=(0, None))(y, w))
    same(lambda f: grad(lambda w: vmap(vmap(f, in_dims=(0, None)), in_dims=(0, None))(y, w).sum())(w))
    same(lambda f: jacrev(lambda w: f(x, w))(w))
    same(outside)
    assert function is not Ruled or Ruled.calls[0] == (3, "error", (0, None))


def test_what_custom_functions_are_told() -> None:
    class Both(Scaled):
        vmap = staticmethod(lambda info, in_dims, x, w: (x, 0))

    class NoPair(Ruled):
        vmap = staticmethod(lambda info, in_dims, x, w: x)

    class Reads(Function):
        @staticmethod
        def forward(ctx, x):
            return x * (2 if x.sum() > 0 else 3)

    with pytest.raises(RuntimeError, match=r"Both.*generate_vmap_rule"):
        vmap(Both.apply)(randn(3, 2), randn(3, 2))
    with pytest.raises(RuntimeError, match=r"NoPair\.vmap.*\(output, out_dims\)"):
        vmap(NoPair.apply)(randn(3, 2), randn(3, 2))
    with pytest.raises(RuntimeError, match="reads data"):
        vmap(Reads.apply)(randn(3, 2))


def test_several_results_and_writes_of_custom_functions() -> None:
    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            places = x.argmax()
            ctx.mark_non_differentiable(places)
            return x.mul_(2), places

        @staticmethod
        def backward(ctx, g, nothing):
            return g * 2

    x = randn(3, 4, requires_grad=True)
    doubled, places = vmap(lambda a: Split.apply(a * 1))(x)
    assert_close(doubled, x * 2)
    assert places.tolist() == x.argmax(1).tolist()
    doubled.square().sum().backward()
    assert_close(x.grad, 8 * x)
    assert_close(vmap(grad(lambda a: Split.apply(a * 1)[0].square().sum()))(x.detach()), 8 * x.detach())


class Forward(Old):
    """Of one argument, with a derivative for forward mode."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

    jvp = backward


def test_forward_mode_of_custom_functions() -> None:
    x, v = randn(3, 4), randn(3, 4)
    assert_close(vmap(lambda a, b: jvp(Forward.apply, (a,), (b,))[1])(x, v), v * x.cos())
    assert_close(jvp(vmap(Forward.apply), (x,), (v,))[1], v * x.cos())
    assert_close(vmap(jacfwd(Forward.apply))(x), polyad.diag_embed(x.cos()))
    assert_close(vmap(hessian(lambda a: Forward.apply(a).sum()))(x), polyad.diag_embed(-x.sin()))


def test_vmap_of_a_function_is_told_where_the_batch_was_given():
    told = []

    class Sine(polyad.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def vmap(info, in_dims, x):
            told.append((info.batch_size, in_dims, tuple(x.shape)))
            return x.sin(), in_dims[0]

    x = polyad.arange(24.0).reshape(2, 3, 4)
    for dim in (0, 1, 2, -1):
        result = vmap(Sine.apply, in_dims=dim)(x)
        assert told.pop() == (x.shape[dim], (dim % 3,), (2, 3, 4))
        assert result.tolist() == x.movedim(dim, 0).sin().tolist()
    vmap(lambda row: Sine.apply(row * 1), in_dims=1)(x)
    assert told.pop() == (3, (0,), (3, 2, 4))
    nested = vmap(vmap(Sine.apply, in_dims=1), in_dims=2)(x)
    assert told.pop() == (3, (1,), (2, 3))
    assert nested.shape == (4, 3, 2)
    y = x.clone().requires_grad_()
    vmap(Sine.apply, in_dims=1, out_dims=1)(y).sum().backward()
    assert polyad.allclose(y.grad, x.cos())
