"""polyad.autograd.functional: values, structures, create_graph, strict."""

import pytest

import polyad
from polyad.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

X = polyad.tensor([1.0, 2.0])
V = polyad.tensor([1.0, 10.0])


def cubed(x):
    return (x**3).sum()


def mixed(x, y):
    return (x**2 * y).sum()


def test_jacobian_has_the_structure_of_outputs_and_inputs() -> None:
    assert jacobian(lambda x: x * x, X).tolist() == [[2, 0], [0, 4]]
    (one,) = jacobian(lambda x: x * x, (X,))
    assert one.tolist() == [[2, 0], [0, 4]]
    found = jacobian(lambda x, y: (x * y, x.sum()), (X, V))
    assert found[0][0].tolist() == [[1, 0], [0, 10]]
    assert found[0][1].tolist() == [[1, 0], [0, 2]]
    assert found[1][0].tolist() == [1, 1]
    assert found[1][1].tolist() == [0, 0]


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_shapes_and_both_strategies(strategy) -> None:
    def function(x):
        return x.reshape(-1)[:3].exp() * x.sum()

    x = polyad.tensor([[0.1, -0.2], [0.3, 0.5]], dtype=polyad.float64)
    found = jacobian(function, x, strategy=strategy)
    assert found.shape == (3, 2, 2)
    e, total = x.reshape(-1)[:3].exp(), x.sum()
    for i in range(3):
        for j in range(4):
            want = e[i] * (1 + (total if i == j else 0))
            # A product and a sum, each rounded once.
            assert abs(found[i].reshape(-1)[j].item() - want.item()) < 1e-15
    assert jacobian(lambda x: x * 2, polyad.ones(0), strategy=strategy).shape == (0, 0)
    assert jacobian(lambda x: polyad.ones(2), X, strategy=strategy).tolist() == [[0, 0], [0, 0]]
    assert jacobian(lambda x: x.long(), X, strategy=strategy).tolist() == [[0, 0], [0, 0]]


def test_products() -> None:
    assert vjp(lambda x: x * x, X, V)[1].tolist() == [2, 40]
    assert vjp(cubed, X)[1].tolist() == [3, 12]
    values, products = jvp(lambda x, y: (x * y, x), (X, X), (V, V))
    assert [one.tolist() for one in values] == [[1, 4], [1, 2]]
    assert [one.tolist() for one in products] == [[2, 40], [1, 10]]
    for product in (vhp, hvp):
        value, found = product(mixed, (X, X), (V, V))
        assert value.item() == 9
        assert [one.tolist() for one in found] == [[4, 80], [2, 40]]
        assert product(lambda x: x.sum(), X, V)[1].tolist() == [0, 0]


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_hessian(strategy) -> None:
    assert hessian(cubed, X, outer_jacobian_strategy=strategy).tolist() == [[6, 0], [0, 12]]
    found = hessian(mixed, (X, V), outer_jacobian_strategy=strategy)
    assert [[one.tolist() for one in row] for row in found] == [
        [[[2, 0], [0, 20]], [[2, 0], [0, 4]]],
        [[[2, 0], [0, 4]], [[0, 0], [0, 0]]],
    ]


def test_complex_functions() -> None:
    z, v = polyad.tensor([1 + 2j]), polyad.tensor([2 - 1j])
    assert jvp(lambda z: z * z, z, v)[1].tolist() == [2 * (1 + 2j) * (2 - 1j)]
    assert vjp(lambda z: z * z, z, v)[1].tolist() == [(2 * (1 - 2j)) * (2 - 1j)]
    assert jacobian(lambda z: z * z, z, strategy="forward-mode").tolist() == [[2 + 4j]]
    with pytest.raises(RuntimeError, match="complex"):
        jacobian(lambda z: z * z, z)


def test_results_have_history_only_with_create_graph() -> None:
    w = polyad.tensor(3.0, requires_grad=True)
    x = polyad.tensor([1.0, 2.0], requires_grad=True)
    for plain in (
        jacobian(lambda x: x * x * w, x),
        hessian(lambda x: cubed(x) * w, x),
        *vjp(lambda x: x * x * w, x, V),
        *jvp(lambda x: x * x * w, x, V),
        *vhp(lambda x: cubed(x) * w, x, V),
    ):
        assert not plain.requires_grad
    jacobian(lambda x: x * x * w, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6, 6]  # of 2 w (x0 + x1)
    assert w.grad.item() == 6
    with polyad.no_grad():
        found = jvp(lambda x: x**3, x, V, create_graph=True)[1]
    (second,) = polyad.autograd.grad(found.sum(), x)
    assert second.tolist() == [6, 120]
    assert w.grad.item() == 6


def test_inputs_are_not_touched() -> None:
    x = polyad.tensor([1.0, 2.0], requires_grad=True)
    jacobian(lambda x: x * x, x)
    hessian(cubed, x)
    assert x.grad is None
    with pytest.raises(RuntimeError, match="in place"):
        jacobian(lambda x: x.sin_(), X)
    assert X.tolist() == [1, 2]


def test_strict_refuses_what_is_not_connected() -> None:
    def constant(x):
        return polyad.ones(2)

    for product in (vjp, jvp):
        with pytest.raises(RuntimeError, match="output 0"):
            product(constant, X, V, strict=True)
        assert product(constant, X, V)[1].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="output 0"):
        jacobian(constant, X, strict=True)
    with pytest.raises(RuntimeError, match="input 1"):
        jacobian(lambda x, y: x * 2, (X, X), strict=True)
    with pytest.raises(RuntimeError, match="does not depend on the inputs"):
        jacobian(lambda x: x * 2, X, strict=True, create_graph=True)
    for second in (hvp, vhp):
        with pytest.raises(RuntimeError, match="input 0"):
            second(lambda x: x.sum(), X, V, strict=True)
    with pytest.raises(RuntimeError, match="input 0"):
        hessian(lambda x: x.sum(), X, strict=True)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: jacobian(cubed, [X]), TypeError, "inputs"),
        (lambda: jacobian(cubed, (X, 3)), TypeError, r"inputs\[1\]"),
        (lambda: jacobian(lambda x: 3, X), TypeError, "result"),
        (lambda: jacobian(cubed, polyad.tensor([1, 2])), RuntimeError, "floating"),
        (lambda: jacobian(cubed, X, strategy="sideways"), ValueError, "strategy"),
        (lambda: vjp(lambda x: x, X), RuntimeError, "v can be left out only"),
        (lambda: vjp(lambda x: x, X, polyad.ones(3)), RuntimeError, "shape"),
        (lambda: vjp(lambda x: x, X, (X, X)), RuntimeError, "v has 2 tensors"),
        (lambda: vjp(lambda x: x, X, 3), TypeError, "v must be"),
        (lambda: jvp(lambda x: x, X), RuntimeError, "v can be left out only"),
        (lambda: hessian(lambda x: x, X), RuntimeError, "one element"),
        (lambda: hessian(lambda x: (x.sum(),), X), RuntimeError, "one tensor"),
        (lambda: vhp(lambda x: x, X, X), RuntimeError, "one element"),
        (lambda: hvp(lambda x: (x * 1j).sum(), X, X), RuntimeError, "real"),
    ],
)
def test_mistakes_are_told(call, kind, says) -> None:
    with pytest.raises(kind, match=says):
        call()


@pytest.mark.parametrize("name", ["hessian", "hvp", "vhp"])
def test_results_of_functions_that_are_to_be_differentiated_twice(name) -> None:
    x = polyad.ones(2)
    vectors = () if name == "hessian" else (x,)
    for wrong, error in (((lambda x: (x, "b")), TypeError), ((lambda x: (x.sum(), x.sum())), RuntimeError)):
        with pytest.raises(error, match=f"{name}: the function"):
            getattr(polyad.autograd.functional, name)(wrong, x, *vectors)
