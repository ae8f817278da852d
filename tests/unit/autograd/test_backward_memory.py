"""When backward lets go of what it holds: saved tensors, and gradients of leaves."""

import tracemalloc
import weakref

import pytest

import polyad
from polyad import nn


def peak_of_a_step(model: nn.Module, x: polyad.Tensor) -> int:
    """The bytes that one step allocates at most beyond what there was before."""
    loss = model(x).sum()
    tracemalloc.start()
    try:
        loss.backward()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def deep(width: int = 64, depth: int = 50) -> nn.Module:
    return nn.Sequential(*[layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())])


def test_gradients_are_added_where_there_are_some_and_not_kept_for_later() -> None:
    model, x = deep(), polyad.ones(1, 64)
    weights = sum(parameter.nbytes for parameter in model.parameters())
    peak_of_a_step(model, x)
    assert all(parameter.grad is not None for parameter in model.parameters())
    peak_of_a_step(model, x)  # loads the family of what adds to a gradient
    assert peak_of_a_step(model, x) < weights / 4


def test_an_optimizer_step_in_a_hook_needs_one_gradient_at_a_time() -> None:
    model, x = deep(), polyad.ones(1, 64)
    weights = sum(parameter.nbytes for parameter in model.parameters())

    def drop(parameter: polyad.Tensor) -> None:
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(drop)
    assert peak_of_a_step(model, x) < weights / 4


def test_a_leaf_is_seen_to_right_after_the_node_that_sends_its_last_gradient() -> None:
    events: list[str] = []
    first, last, both = (polyad.ones(2, requires_grad=True) for _ in range(3))
    for name, tensor in {"first": first, "last": last, "both": both}.items():
        tensor.register_post_accumulate_grad_hook(lambda leaf, name=name: events.append(f"{name} {leaf.grad.tolist()}"))
    early = both * first
    early.grad_fn.register_prehook(lambda _: events.append("early"))
    middle = early.exp()
    middle.grad_fn.register_prehook(lambda _: events.append("middle"))
    late = middle * last * both
    late.sum().backward()
    # `both` is used by the last node and by the first: its hook waits for the sum of the two.
    e = polyad.ones(2).exp()
    assert events[0] == f"last {e.tolist()}"
    assert events[1:3] == ["middle", "early"]
    assert sorted(events[3:]) == [f"both {(2 * e).tolist()}", f"first {e.tolist()}"]


def test_a_leaf_in_the_midst_of_a_graph_with_a_dead_branch_still_gets_its_gradient() -> None:
    """The node that should send the last gradient is never reached: a hook dropped what it would get."""
    x = polyad.ones(2, requires_grad=True)
    x.grad = polyad.zeros(2)
    branch = (x * 5).exp()
    branch.grad_fn.register_prehook(lambda _: (None,))
    (branch + x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_saved_tensors_go_node_by_node() -> None:
    seen: list[int] = []
    alive: list[weakref.ref] = []
    h = x = polyad.ones(4, requires_grad=True)
    for _ in range(6):
        h = h.exp() * h  # both save
        alive.append(weakref.ref(h))
        h.register_hook(lambda _: seen.append(sum(one() is not None for one in alive)))
    loss = h.sum()
    del h
    loss.backward()
    assert seen == sorted(seen, reverse=True)
    assert seen[0] - seen[-1] == 5
    assert x.grad is not None


def test_what_a_function_saved_goes_with_its_node() -> None:
    class Square(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = polyad.ones(4, requires_grad=True)
    middle = x * 2
    gone = weakref.ref(middle)
    out = Square.apply(middle)
    del middle
    out.sum().backward()
    assert gone() is None
    assert out.grad_fn is not None


def test_adding_to_a_gradient_is_a_write() -> None:
    x, w = polyad.ones(2, requires_grad=True), polyad.ones(2, requires_grad=True)
    x.sum().backward()
    gradient = x.grad
    penalty = (gradient * w).sum()
    version = gradient._version
    x.sum().backward()
    assert x.grad is gradient
    assert gradient._version == version + 1
    with pytest.raises(RuntimeError, match=r"changed in place(.|\n)*by backward, which added to a gradient"):
        penalty.backward()


def test_gradients_that_the_user_made_are_added_to_as_they_are() -> None:
    x = polyad.ones(2, 2, requires_grad=True)
    x.grad = polyad.zeros(1).expand(2, 2)
    with pytest.raises(RuntimeError, match="several elements of an expanded tensor are one place"):
        x.sum().backward()
    x.grad = base = polyad.zeros(4).view(2, 2).t()
    (x * polyad.arange(4.0).view(2, 2)).sum().backward()
    assert x.grad is base
    assert base.tolist() == [[0.0, 1.0], [2.0, 3.0]]
