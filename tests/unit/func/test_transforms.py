"""polyad.func: derivatives, nesting, structures, and what they leave untouched."""

import itertools

import pytest

import polyad
from polyad.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

D = polyad.float64
X = polyad.tensor([0.3, 0.7, -0.2], dtype=D)
V = polyad.tensor([1.0, -2.0, 0.5], dtype=D)


def scalar(x):
    return (x.sin() * x.exp() * x.sum()).sum()


def vector(x):
    return polyad.stack([x.prod(), (x * x).sum(), x[0] * x[2].cos()])


def near(one, other, scale=1.0) -> bool:
    # A dozen float64 operations on values below 10.
    return bool(((one - other).abs() <= scale * 1e-13).all())


def test_grad_of_grad_of_grad() -> None:
    x = polyad.tensor(2.0)
    f = lambda x: x**4  # noqa: E731
    assert [g(x).item() for g in (grad(f), grad(grad(f)), grad(grad(grad(f))))] == [32, 48, 48]


def test_grad_follows_structures_and_argnums() -> None:
    def f(w, x):
        return (w["a"] * w["b"][0] * x).sum()

    w = {"a": polyad.tensor([1.0, 2.0]), "b": (polyad.tensor([3.0, 4.0]),)}
    x = polyad.ones(2)
    found = grad(f)(w, x)
    assert found["a"].tolist() == [3, 4]
    assert found["b"][0].tolist() == [1, 2]
    assert grad(f, argnums=-1)(w, x).tolist() == [3, 8]
    both = grad(f, argnums=(1, 0))(w, x)
    assert both[0].tolist() == [3, 8]
    assert both[1]["a"].tolist() == [3, 4]
    assert grad(lambda x, y: y.sum())(x, x).tolist() == [0, 0]


def test_aux_and_value() -> None:
    x = polyad.tensor(3.0)
    assert grad_and_value(lambda x: x**2)(x) == (polyad.tensor(6.0), polyad.tensor(9.0))
    gradient, (value, aux) = grad_and_value(lambda x: (x**2, {"twice": x * 2, "n": 1}), has_aux=True)(x)
    assert (gradient.item(), value.item(), aux["twice"].item(), aux["n"]) == (6, 9, 6, 1)
    assert not aux["twice"].requires_grad
    assert grad(lambda x: (x**2, "aux"), has_aux=True)(x) == (polyad.tensor(6.0), "aux")
    assert vjp(lambda x: (x**2, "aux"), x, has_aux=True)[2] == "aux"
    assert jvp(lambda x: (x**2, "aux"), (x,), (x,), has_aux=True) == (polyad.tensor(9.0), polyad.tensor(18.0), "aux")
    assert jacrev(lambda x: (x**2, "aux"), has_aux=True)(x) == (polyad.tensor(6.0), "aux")
    assert jacfwd(lambda x: (x**2, "aux"), has_aux=True)(x) == (polyad.tensor(6.0), "aux")


def test_vjp_and_jvp_are_adjoint() -> None:
    u = polyad.tensor([0.5, -1.0, 2.0], dtype=D)
    value, pull = vjp(vector, X)
    _, pushed = jvp(vector, (X,), (V,))
    assert near(value, vector(X))
    assert near((pull(u)[0] * V).sum(), (pushed * u).sum())
    assert near(pull(u)[0], pull(u)[0])  # any number of times


def test_jvp_against_finite_differences() -> None:
    eps = 1e-6
    expected = (vector(X + eps * V) - vector(X - eps * V)) / (2 * eps)
    # eps**2 / 6 times third derivatives, plus rounding eps(float64) / eps
    assert near(jvp(vector, (X,), (V,))[1], expected, scale=1e4)


def test_structures_of_vjp_and_jvp() -> None:
    def f(x, pair):
        return {"product": x * pair[0], "sum": (pair[1].sum(),)}

    out, pull = vjp(f, X, [X, V])
    gx, gpair = pull({"sum": (polyad.tensor(1.0, dtype=D),), "product": V})  # keys in another order
    assert near(gx, V * X)
    assert near(gpair[0], V * X)
    assert gpair[1].tolist() == [1, 1, 1]
    _, pushed = jvp(f, (X, [X, V]), (V, [V, V]))
    assert near(pushed["product"], 2 * X * V)
    assert near(pushed["sum"][0], V.sum())
    assert not out["product"].requires_grad


def test_linearize() -> None:
    calls = []

    def f(x):
        calls.append(None)
        return vector(x)

    value, push = linearize(f, X)
    for tangent in (V, X):
        assert near(push(tangent), jvp(vector, (X,), (tangent,))[1])
    assert near(value, vector(X))
    assert len(calls) == 1


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd])
def test_second_derivatives_in_any_order(outer, inner) -> None:
    found = outer(inner(vector))(X)
    assert found.shape == (3, 3, 3)
    expected = polyad.zeros(3, 3, 3, dtype=D)
    for i, j in itertools.permutations(range(3), 2):
        expected[0, i, j] = X[3 - i - j]
    expected[1] = 2 * polyad.eye(3, dtype=D)
    expected[2, 0, 2] = expected[2, 2, 0] = -X[2].sin()
    expected[2, 2, 2] = -X[0] * X[2].cos()
    assert near(found, expected)
    assert not found.requires_grad
    assert near(hessian(vector)(X), expected)


def test_third_derivatives() -> None:
    found = jacfwd(jacrev(jacfwd(lambda x: (x**4).sum())))(X)
    expected = polyad.zeros(3, 3, 3, dtype=D)
    for i in range(3):
        expected[i, i, i] = 24 * X[i]
    assert near(found, expected)


def test_hessian_vector_products() -> None:
    expected = hessian(scalar)(X) @ V
    assert near(jvp(grad(scalar), (X,), (V,))[1], expected)
    assert near(vjp(grad(scalar), X)[1](V)[0], expected)
    assert near(grad(lambda x: (grad(scalar)(x) * V).sum())(X), expected)
    assert near(grad(lambda x: jvp(scalar, (x,), (V,))[1])(X), expected)
    assert near(vjp(lambda x: jvp(scalar, (x,), (V,))[1], X)[1](polyad.tensor(1.0, dtype=D))[0], expected)
    assert near(linearize(grad(scalar), X)[1](V), expected)


def test_perturbations_are_not_confused() -> None:
    # Each level differentiates by its own variable, though all of them are one tensor.
    x = polyad.tensor(3.0)
    assert grad(lambda x: x * grad(lambda y: x * y)(x))(x).item() == 6  # d/dx x**2
    assert grad(lambda x: x * grad(lambda y: x + y)(polyad.tensor(1.0)))(x).item() == 1
    one = polyad.tensor(1.0)
    assert jvp(lambda x: x * jvp(lambda y: x + y, (one,), (one,))[1], (x,), (one,))[1].item() == 1
    assert jvp(lambda x: x * jvp(lambda y: x * y, (x,), (one,))[1], (x,), (one,))[1].item() == 6


def test_jacobians_of_structures() -> None:
    found = jacrev(lambda d: {"out": d["a"] * 2 + d["b"][0]})({"a": polyad.ones(2), "b": [polyad.ones(2)]})
    assert found["out"]["a"].tolist() == [[2, 0], [0, 2]]
    assert found["out"]["b"][0].tolist() == [[1, 0], [0, 1]]
    two = jacfwd(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(polyad.ones(2), polyad.ones(2))
    assert [[one.tolist() for one in row] for row in two] == [[[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 1], [0, 0]]]
    assert jacrev(lambda x: x * x, chunk_size=1)(polyad.ones(2)).tolist() == [[2, 0], [0, 2]]
    assert jacfwd(lambda x: x.long())(polyad.ones(2)).dtype is polyad.int64
    for jac in (jacrev, jacfwd):
        assert jac(lambda x: x * 2)(polyad.ones(0)).shape == (0, 0)
        assert jac(lambda x: x.sum() * polyad.ones(3))(polyad.ones(0)).shape == (3, 0)
        assert jac(lambda x: x[:0])(polyad.ones(2)).shape == (0, 2)
        assert jac(lambda x: polyad.ones(3))(polyad.ones(2)).tolist() == [[0, 0]] * 3


def test_gradients_flow_to_what_is_outside() -> None:
    w = polyad.tensor([0.2, 0.1, 0.9], dtype=D, requires_grad=True)

    def flows(result, expected) -> None:
        assert result.requires_grad
        w.grad = None
        result.sum().backward()
        assert near(w.grad, expected)

    flows(grad(lambda x: (x * x * w).sum())(X), 2 * X)
    flows(grad(lambda x: (x**3).sum())(w), 6 * w.detach())
    flows(grad_and_value(lambda x: (x**3).sum())(w)[1], 3 * w.detach() ** 2)
    flows(jvp(lambda x: x * x * w, (X,), (V,))[1], 2 * X * V)
    flows(jvp(lambda x: x * x, (X,), (w,))[1], 2 * X)
    flows(vjp(lambda x: x * x, X)[1](w)[0], 2 * X)
    flows(linearize(lambda x: x * x, w)[1](V), 2 * V)
    flows(jacrev(lambda x: x * x * w)(X), 2 * X)
    flows(jacfwd(lambda x: x * x * w)(X), 2 * X)


def test_results_have_no_history_where_nothing_is_outside() -> None:
    w = polyad.tensor([0.2, 0.1, 0.9], dtype=D, requires_grad=True)
    results = [
        *grad_and_value(scalar)(X),
        *jvp(vector, (X,), (V,)),
        vjp(vector, X)[0],
        vjp(vector, X)[1](V)[0],
        jacrev(vector)(X),
        hessian(scalar)(X),
        grad(lambda x: x.sum())(w),
        grad(lambda x: (x * x).sum() + w.sum())(X),
    ]
    with polyad.no_grad():
        results += [grad(lambda x: (x * x * w).sum())(X), hessian(scalar)(w), jvp(vector, (w,), (V,))[1]]
    assert not any(one.requires_grad for one in results)
    assert near(results[-3], 2 * X * w.detach())
    assert X.grad is None
    assert w.grad is None


def test_inputs_are_not_changed() -> None:
    x = polyad.tensor([1.0, 2.0])
    for transform in (grad(lambda x: x.sin_().sum()), jacrev(lambda x: x.sin_()), jacfwd(lambda x: x.mul_(2))):
        with pytest.raises(RuntimeError, match="in place"):
            transform(x)
    with pytest.raises(RuntimeError, match="in place"):
        grad(lambda x: x.sin_().sum())(x.clone().requires_grad_() * 1)
    assert x.tolist() == [1, 2]
    assert grad(lambda x: x.clone().mul_(x).sum())(x).tolist() == [2, 4]


def test_no_grad_and_detach_within() -> None:
    def f(x):
        with polyad.no_grad():
            factor = x * 2
        return (x * factor + x.detach()).sum()

    x = polyad.tensor([1.0, 2.0])
    assert grad(f)(x).tolist() == [2, 4]
    # Tangents pass through no_grad, which is about recording, and not through detach, as in PyTorch.
    assert jvp(f, (x,), (x,))[1].item() == 20
    assert grad(lambda x: polyad.no_grad()(grad(lambda y: (y**3).sum()))(x).sum() + x.sum())(x).tolist() == [1, 1]


def test_complex_functions() -> None:
    z, t = polyad.tensor([1 + 2j, 0.5 - 1j], dtype=polyad.complex128), polyad.tensor([2j, 1 - 1j])
    assert near(grad(lambda z: (z * z.conj()).real.sum())(z), 2 * z)
    assert near(jvp(lambda z: z * z.conj(), (z,), (t,))[1], t * z.conj() + z * t.conj())
    assert near(vjp(lambda z: z * z, z)[1](t)[0], 2 * z.conj() * t)
    for jac in (jacrev, jacfwd):
        with pytest.raises(RuntimeError, match="real functions"):
            jac(lambda z: z * z)(z)


def test_views_and_writes_in_place_within() -> None:
    def f(x):
        y = x.clone()
        y[0] = x[1] * x[2]
        y[1:].mul_(x[0])
        return y.reshape(3, 1).expand(3, 2).sum(1)

    expected = 2 * polyad.tensor([[0.0, -0.2, 0.7], [0.7, 0.3, 0.0], [-0.2, 0.0, 0.3]], dtype=D)
    assert near(jacrev(f)(X), expected)
    assert near(jacfwd(f)(X), expected)


def test_a_transform_is_captured_and_replayed() -> None:
    graph = polyad.jit.capture(grad(lambda x: (x**3).sum()), polyad.tensor([1.0, 2.0]))
    assert graph(polyad.tensor([2.0, 3.0])).tolist() == [12, 27]


X2 = polyad.ones(2)


def first_of(result):
    return lambda y: result[1](y)[0]


RETURNED = {
    "vjp": lambda x: first_of(vjp(polyad.sin, x)),
    "vjp with aux": lambda x: first_of(vjp(lambda a: (a.sin(), a), x, has_aux=True)),
    "vjp of two": lambda x: first_of(vjp(lambda a, b: a.sin() + b, x, x)),
    "linearize": lambda x: linearize(polyad.sin, x)[1],
}
"""Functions that transforms returned: each multiplies by cos(x)."""


@pytest.mark.parametrize("returned", RETURNED.values(), ids=RETURNED)
def test_what_a_transform_returned_is_differentiated_itself(returned) -> None:
    f, slope = returned(X), X.cos()
    cube = lambda y: (f(y) ** 3).sum()  # noqa: E731
    found = {
        "grad": (grad(lambda y: f(y).sum())(V), slope),
        "vjp": (vjp(f, V)[1](X)[0], X * slope),
        "jacrev": (jacrev(f)(V), slope.diag()),
        "jacfwd": (jacfwd(f)(V), slope.diag()),
        "jvp": (jvp(f, (V,), (X,))[1], X * slope),
        "linearize": (linearize(f, V)[1](X), X * slope),
        "itself": (grad(lambda y: f(f(y)).sum())(V), slope**2),
        "twice": (grad(lambda y: grad(cube)(y).sum())(V), 6 * V * slope**3),
        "mapped": (vmap(grad(lambda y: returned(X[0])(y)))(V), slope[0].expand(3)),
        "functional": (polyad.autograd.functional.jacobian(f, V), slope.diag()),
    }
    wrong = [name for name, (one, other) in found.items() if not near(one, other)]
    assert not wrong
    assert not any(one.requires_grad for one, _ in found.values())


def test_what_vjp_returned_leads_back_to_leaves() -> None:
    x, y = X.clone().requires_grad_(), V.clone().requires_grad_()
    found = polyad.autograd.grad(vjp(polyad.sin, x)[1](y)[0].sum(), (x, y))
    assert near(found[0], -X.sin() * V)
    assert near(found[1], X.cos())


def test_what_vjp_returned_outlives_the_transform_around_it() -> None:
    kept = []
    grad(lambda x: kept.append(vjp(polyad.sin, x)[1]) or x.sum())(X)
    (found,) = kept[0](V)
    assert near(found, X.cos() * V)
    assert not found.requires_grad


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: grad(lambda x: x * 2)(X2), RuntimeError, "one number"),
        (lambda: grad(lambda x: 1.0)(X2), RuntimeError, "not a tensor"),
        (lambda: grad(lambda x: (x.sum(), 1))(X2), RuntimeError, "has_aux"),
        (lambda: grad(lambda x: x.sum(), has_aux=True)(X2), RuntimeError, r"\(output, aux\)"),
        (lambda: grad(lambda x: (x * 1j).sum())(X2), RuntimeError, "real number"),
        (lambda: grad(lambda x: x.sum())(polyad.tensor([1, 2])), RuntimeError, "floating"),
        (lambda: grad(lambda x: x * x)(2.0), ValueError, "float is no tensor"),
        (lambda: grad(lambda x: x.sum(), argnums=1)(X2), RuntimeError, "argument 1"),
        (lambda: grad(lambda x: x.sum(), argnums=(0, 0))(X2), RuntimeError, "twice"),
        (lambda: grad(lambda x: x.sum(), argnums=())(X2), RuntimeError, "empty"),
        (lambda: grad(lambda x: x.sum(), argnums="0")(X2), RuntimeError, "no int"),
        (lambda: vjp(lambda x: (x, x), X2)[1](X2), RuntimeError, "structure"),
        (lambda: vjp(lambda x: x, X2)[1](polyad.ones(3)), RuntimeError, "shape"),
        (lambda: vjp(lambda x: x, X2)[1](1.0), TypeError, "float"),
        (lambda: vjp(lambda x: x.long(), X2), RuntimeError, "neither floating"),
        (lambda: vjp(lambda x: (x, 3), X2), RuntimeError, "int"),
        (lambda: jvp(lambda x: x, X2, X2), RuntimeError, "tuple"),
        (lambda: jvp(lambda x: x, (X2,), ([X2],)), RuntimeError, "structure"),
        (lambda: jvp(lambda x: x, (X2,), (polyad.ones(3),)), RuntimeError, "shape"),
        (lambda: jvp(lambda: X2, (), ()), RuntimeError, "no tensor"),
        (lambda: jvp(lambda x: polyad.ones(2), (X2,), (X2,), strict=True), RuntimeError, "does not depend"),
        (lambda: linearize(lambda x: x, X2)[1](X2.double()), RuntimeError, "dtype"),
        (lambda: jacrev(lambda x: x, chunk_size=0), ValueError, "chunk_size"),
        (lambda: jacfwd(lambda x: x, randomness="some"), ValueError, "randomness"),
    ],
)
def test_mistakes_are_told(call, kind, says) -> None:
    with pytest.raises(kind, match=says):
        call()


class ReadsItsGradient(polyad.autograd.Function):
    """A function whose backward cannot be mapped."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * gradient * x if float(gradient.sum()) else polyad.zeros_like(x)


def test_a_jacobian_row_by_row_needs_no_vmap():
    x = polyad.tensor([1.0, 2.0, 3.0])
    jacobian = polyad.func.jacrev(ReadsItsGradient.apply, chunk_size=1)(x)
    assert polyad.equal(jacobian, polyad.diag(2 * x))
    with pytest.raises(RuntimeError, match="vmap"):
        polyad.func.jacrev(ReadsItsGradient.apply, chunk_size=2)(x)


def test_jacobians_row_by_row_are_those_of_all_rows():
    def function(x, y):
        return x * y.sum(), (y**2).sum()

    given = (polyad.tensor([1.0, 2.0, 3.0]), polyad.tensor([4.0, 5.0]))
    whole = polyad.func.jacrev(function, argnums=(0, 1))(*given)
    rows = polyad.func.jacrev(function, argnums=(0, 1), chunk_size=1)(*given)
    polyad.testing.assert_close(rows, whole)
    polyad.testing.assert_close(
        polyad.func.vmap(polyad.func.jacrev(lambda x: x**3, chunk_size=1))(polyad.ones(2, 3)),
        polyad.func.vmap(polyad.func.jacrev(lambda x: x**3))(polyad.ones(2, 3)),
    )
