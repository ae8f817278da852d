"""Hooks on saved tensors, and how long saved tensors live."""

import gc
import threading
import weakref

import pytest

import polyad
from polyad.autograd import grad
from polyad.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def leaf(*values: float) -> polyad.Tensor:
    return polyad.tensor(values, dtype=polyad.float64, requires_grad=True)


def as_list(tensor: polyad.Tensor) -> tuple[list[float], polyad.dtype]:
    return tensor.tolist(), tensor.dtype


def from_list(content: tuple[list[float], polyad.dtype]) -> polyad.Tensor:
    return polyad.tensor(content[0], dtype=content[1])


PROGRAMS = {
    "operands": lambda x: x * x.sin(),
    "results": lambda x: x.exp().sigmoid().tanh(),
    "several results": lambda x: x.sort().values * polyad.tensor([1.0, 2.0, 3.0], dtype=polyad.float64),
    "lists": lambda x: polyad.cat([x, x.exp()]) ** 2,
    "views": lambda x: (x.reshape(3, 1) * x)[1:],
    "normalisation": lambda x: polyad.nn.functional.layer_norm(x, (3,)) ** 3,
    "writes": lambda x: (x * 1).mul_(x).exp_().add_(x),
    "a write by itself": lambda x: (lambda y: y.mul_(y).relu_())(x * 1),
    "a write to a view": lambda x: (lambda y: (y[:2].mul_(x[1:]), y)[1])(x * 1) ** 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_the_same_through_hooks(name: str) -> None:
    program = PROGRAMS[name]
    x = leaf(0.5, 1.5, -0.25)
    plain = program(x)
    with saved_tensors_hooks(as_list, from_list):
        hooked = program(x)
    assert hooked.tolist() == plain.tolist()
    (expected,) = grad(plain.sum(), x, create_graph=True)
    (found,) = grad(hooked.sum(), x, create_graph=True)
    assert found.tolist() == expected.tolist()
    if expected.requires_grad:
        assert found.requires_grad
        assert grad(found.sum(), x)[0].tolist() == pytest.approx(grad(expected.sum(), x)[0].tolist(), rel=1e-14)


def test_hooks_are_called_where_a_tensor_is_saved_and_where_it_is_used() -> None:
    x = leaf(2.0)
    calls = []
    with saved_tensors_hooks(lambda t: calls.append("pack") or t, lambda t: calls.append("unpack") or t):
        y = x.exp()
        assert calls == ["pack"]
        with polyad.no_grad():
            x.exp()
        z = y + 1
    assert calls == ["pack"]
    z.sum().backward(retain_graph=True)
    assert calls == ["pack", "unpack"]
    z.sum().backward()
    assert calls == ["pack", "unpack", "unpack"]
    x.exp()
    assert len(calls) == 3


def test_the_innermost_hooks_count() -> None:
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        with saved_tensors_hooks(lambda t: t * 10, lambda t: t):
            inner = x * x
        outer = x * x
    assert grad(inner.sum(), x)[0].item() == 20.0
    assert grad(outer.sum(), x)[0].item() == 4.0


def test_functions_save_through_hooks() -> None:
    class Square(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            x, nothing = ctx.saved_tensors
            assert nothing is None
            return gradient * 2 * x

    x = leaf(3.0)
    calls = []
    with saved_tensors_hooks(lambda t: calls.append("pack") or as_list(t), from_list):
        y = Square.apply(x)
    y.sum().backward()
    assert calls == ["pack"]
    assert x.grad.tolist() == [6.0]


def bad_pack(tensor: polyad.Tensor) -> polyad.Tensor:
    return tensor.detach().mul_(2)


def test_bad_hooks_are_named() -> None:
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(bad_pack, from_list), pytest.raises(RuntimeError, match=r"pack hook bad_pack .* in place"):
        (x * 1).exp()
    for unpack, error, words in (
        (lambda content: 3, TypeError, "returned int, not a tensor"),
        (lambda content: polyad.ones(7), RuntimeError, "another shape"),
    ):
        with saved_tensors_hooks(as_list, unpack):
            y = x.exp()
        with pytest.raises(error, match=rf"unpack hook <lambda> \(test_saved_tensors.py:\d+\): .*{words}"):
            y.sum().backward()


def test_hooks_can_be_refused() -> None:
    with disable_saved_tensors_hooks("no hooks here"):
        with pytest.raises(RuntimeError, match="no hooks here"), save_on_cpu():
            pass
        with disable_saved_tensors_hooks("inner"):
            pass
        with pytest.raises(RuntimeError, match="no hooks here"), save_on_cpu():
            pass
    with save_on_cpu(), pytest.raises(RuntimeError, match="late"), disable_saved_tensors_hooks("late"):
        pass
    with save_on_cpu():
        pass


def test_hooks_are_their_threads() -> None:
    x = leaf(1.0)
    calls = []

    def work() -> None:
        x.exp()

    with saved_tensors_hooks(lambda t: calls.append(1) or t, lambda t: t):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert calls == []


def test_nothing_watches_once_all_hooks_are_left() -> None:
    from polyad.history.node import watchers

    with pytest.raises(ZeroDivisionError), save_on_cpu(), save_on_cpu():
        raise ZeroDivisionError
    assert watchers == []


def test_a_packed_tensor_is_not_kept() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        with saved_tensors_hooks(as_list, from_list):
            y = x.exp()
            kept = weakref.ref(y)
            z = (y * y).sum()
            del y
        assert kept() is None
        z.backward()
        assert x.grad.tolist() == pytest.approx([2 * 2.718281828459045**2, 2 * 7.38905609893065**2], rel=1e-14)
    finally:
        gc.enable()


def test_saved_tensors_go_while_backward_proceeds() -> None:
    x = leaf(1.0, 2.0)
    value, saved, alive = x, [], []
    for _ in range(4):
        value = value * polyad.ones(2, dtype=polyad.float64)
        other = value.detach().clone()
        saved.append(weakref.ref(other))
        value = value * other
        del other
        value.register_hook(lambda gradient: alive.append(sum(one() is not None for one in saved)))
    gc.disable()
    try:
        value.sum().backward()
    finally:
        gc.enable()
    # When a gradient arrives, what later operations saved is gone.
    assert alive == [4, 3, 2, 1]
    assert [one() for one in saved] == [None] * 4


def test_kept_graphs_keep_what_they_saved() -> None:
    x = leaf(1.0)
    y = x * 2
    kept = weakref.ref(y)
    z = y * y
    del y
    z.sum().backward(retain_graph=True)
    assert kept() is not None
    z.sum().backward()
    assert kept() is None


def test_a_saved_list_that_was_written_to_is_noticed() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    first, second = a * 1, b * 1
    z = polyad.einsum("i,i->", first, second)
    second.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        z.backward()


def test_what_was_saved_may_be_written_to_where_that_is_allowed():
    x = leaf(1.0, 2.0)
    with polyad.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y.sin() * y.exp()
        y.zero_()
    z.sum().backward()
    expected = x.sin() * x.exp() + x.cos() * x.exp()
    polyad.testing.assert_close(x.grad, expected.detach())
    y = x * 1
    z = y.sin()
    y.zero_()
    with pytest.raises(RuntimeError, match="changed in place"):
        z.sum().backward()


def test_second_derivatives_where_saved_tensors_may_be_written_to():
    x = leaf(1.0, 2.0)
    with polyad.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y * y * y).sum()
        y.zero_()
        (slope,) = grad(z, x, create_graph=True)
        (curve,) = grad(slope.sum(), x)
    assert curve.tolist() == [6.0, 12.0]


@pytest.mark.parametrize(
    "function",
    [
        polyad.erfinv,
        lambda x: polyad.nn.functional.glu(x, 0),
        lambda x: polyad.nn.functional.max_pool1d(x[None, None], 2)[0, 0],
        lambda x: polyad.nn.functional.max_pool2d(x.reshape(1, 1, 1, 2), (1, 2)),
    ],
)
def test_the_result_may_be_written_to(function):
    x, y = leaf(0.25, 0.5), leaf(0.25, 0.5)
    result = function(x)
    (result * 1).sum().backward(retain_graph=True)
    function(y).mul_(1).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()
