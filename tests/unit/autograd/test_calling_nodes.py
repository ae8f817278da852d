"""``tensor.grad_fn(gradient)``: what a node makes of gradients, without a backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import polyad
from polyad import Tensor


def leaf(*shape: int) -> Tensor:
    return polyad.rand(*shape, dtype=polyad.float64).requires_grad_()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sin() * x.exp(), lambda x: x * 3, lambda x: x.exp(), lambda x: x.sum(), lambda x: x.t(),
        lambda x: x + polyad.ones(2, 3), lambda x: x[0], lambda x: polyad.where(x > 0.5, x, 0.0),
        lambda x: x.exp() @ x.t(), lambda x: x.expand(4, 2, 3), lambda x: polyad.nn.functional.softmax(x, -1),
    ],
)  # fmt: skip
def test_as_backward_does(function: Callable[[Tensor], Tensor]) -> None:
    x = leaf(2, 3)
    y = function(x)
    gradient = polyad.rand_like(y)
    computed = y.grad_fn(gradient)
    places = computed if isinstance(computed, tuple) else (computed,)
    assert len(places) == len(y.grad_fn.next_functions)
    total: Any = 0
    for part, (node, _) in zip(places, y.grad_fn.next_functions, strict=True):
        assert (part is None) == (node is None)
        if part is not None:
            other = polyad.autograd.grad(y, polyad.autograd.graph.GradientEdge(node, 0), gradient, retain_graph=True)
            assert polyad.equal(part, other[0])
            total = total + part.sum()
    assert total.isfinite()


def test_several_results() -> None:
    x = leaf(2, 3)
    first, second = x.unbind(0)
    assert first.grad_fn(polyad.ones(3), None).tolist() == [[1.0] * 3, [0.0] * 3]
    assert second.grad_fn(None, None) is None
    values, _ = x.max(1)
    assert values.grad_fn(polyad.ones(2)).sum() == 2


def test_again_and_after_backward() -> None:
    x = leaf(2)
    y = x.exp()
    assert polyad.equal(y.grad_fn(polyad.ones(2)), y.grad_fn(polyad.ones(2)))
    y.sum().backward()
    with pytest.raises(RuntimeError, match="ExpBackward0 has already been run"):
        y.grad_fn(polyad.ones(2))


def test_history() -> None:
    x = leaf(2)
    gradient = polyad.ones(2, dtype=polyad.float64, requires_grad=True)
    part = (x.exp()).grad_fn(gradient)
    found = polyad.autograd.grad(part.sum(), (x, gradient))
    assert polyad.equal(found[0], x.exp())
    assert polyad.equal(found[1], x.exp())
    y = x.exp()
    with polyad.no_grad():
        assert not y.grad_fn(gradient).requires_grad


def test_leaves() -> None:
    x = leaf(2)
    node = (x * 2).grad_fn.next_functions[0][0]
    assert node(polyad.ones(2)) == ()
    assert node(polyad.ones(2)) == ()
    assert x.grad.tolist() == [2.0, 2.0]


def test_hooks_do_not_run() -> None:
    x, seen = leaf(2), []
    y = x.exp()
    y.register_hook(seen.append)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs))
    y.grad_fn.register_prehook(seen.append)
    y.grad_fn(polyad.ones(2))
    assert not seen


def test_what_was_written_over() -> None:
    x = leaf(2)
    y = x * 1
    z = y.sin()
    y.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        z.grad_fn(polyad.ones(2))


@pytest.mark.parametrize("gradients", [(), (1.0,), (polyad.ones(2), polyad.ones(2))])
def test_wrong_gradients(gradients: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="MulBackward0: it takes 1 gradients"):
        (leaf(2) * 3).grad_fn(*gradients)


@pytest.mark.parametrize(
    "function", [lambda x: x.max(0), lambda x: x.sort(), lambda x: x.topk(1), lambda x: x.kthvalue(1)]
)
def test_hooks_see_results_with_gradients_alone(function: Callable[[Tensor], Any]) -> None:
    x, seen = leaf(2, 3), []
    values = function(x)[0]
    values.grad_fn.register_prehook(lambda gradients: (seen.append(len(gradients)), (gradients[0] * 2,))[1])
    values.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(outputs)))
    values.sum().backward()
    assert seen == [1, 1]
    assert x.grad.sum() == 2 * values.numel()
