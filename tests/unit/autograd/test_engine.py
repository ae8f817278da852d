"""The backward pass: order, accumulation, freeing, second derivatives, hooks, threads."""

import gc
import sys
import threading
import weakref

import pytest

import polyad
from polyad.autograd import grad
from polyad.base.state import state


def leaf(*values: float) -> polyad.Tensor:
    return polyad.tensor(values if len(values) > 1 else values[0], dtype=polyad.float64, requires_grad=True)


def test_a_diamond_adds_up_once() -> None:
    x = leaf(2.0)
    a = x * 3
    b = a * a
    c = a * 5
    (b + c).backward()
    # d/dx (9 x^2 + 15 x) at 2
    assert x.grad.item() == 51.0


def test_gradients_accumulate_and_stay_apart() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward()
    first = x.grad
    x.grad.mul_(100)
    assert y.grad.tolist() == [1.0, 1.0]
    (x + y).sum().backward()
    assert x.grad is first
    assert x.grad.tolist() == [101.0, 101.0]


def test_a_users_gradient_is_not_taken_over() -> None:
    x = leaf(1.0, 2.0)
    given = polyad.ones(2, dtype=polyad.float64)
    (x + 0).backward(given)
    x.grad.mul_(7)
    assert given.tolist() == [1.0, 1.0]


def test_the_graph_is_freed_and_says_so() -> None:
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=r"the graph was freed: MulBackward0[\s\S]*retain_graph=True"):
        y.backward()
    z = x * x
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.item() == 18.0


def test_higher_derivatives() -> None:
    x = leaf(2.0)
    value = x
    for _ in range(3):
        value = value * x
    expected = [32.0, 48.0, 48.0, 24.0]  # derivatives of x**4 at 2
    for want in expected:
        (value,) = grad(value, x, create_graph=True)
        assert value.item() == want


def test_results_that_formulas_save_differentiate_again() -> None:
    x = leaf(0.5)
    (first,) = grad(x.exp(), x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    (third,) = grad(second, x)
    assert first.item() == second.item() == third.item() == pytest.approx(1.6487212707001282, rel=1e-15)


def test_broadcast_and_casts_are_undone() -> None:
    row = polyad.ones(3, requires_grad=True)
    column = polyad.ones(2, 1, dtype=polyad.float64, requires_grad=True)
    (row * column * 2).sum().backward()
    assert row.grad.dtype is polyad.float32
    assert row.grad.tolist() == [4.0, 4.0, 4.0]
    assert column.grad.dtype is polyad.float64
    assert column.grad.tolist() == [[6.0], [6.0]]


def test_grad_touches_no_leaf_and_skips_what_is_not_asked() -> None:
    x, y = leaf(2.0), leaf(5.0)
    calls = []
    middle = x * y
    (y * 1).register_hook(calls.append)
    (dx,) = grad(middle * x, x)
    assert dx.item() == 20.0
    assert x.grad is None
    assert y.grad is None


def test_unused_inputs() -> None:
    x, y = leaf(1.0), leaf(2.0)
    with pytest.raises(RuntimeError, match=r"inputs\[1\] was not used"):
        grad(x * 2, (x, y))
    assert grad(x * 2, (x, y), allow_unused=True)[1] is None
    assert grad(x * 2, (x, y), materialize_grads=True)[1].item() == 0.0


def test_inputs_limits_backward() -> None:
    x, y = leaf(1.0), leaf(2.0)
    (x * y).backward(inputs=[x])
    assert x.grad.item() == 2.0
    assert y.grad is None
    polyad.stack([x, y]).sum().backward(inputs=[x])
    assert (x.grad.item(), y.grad) == (3.0, None)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: (x * 2).backward(), RuntimeError, "tensor of one element"),
        (lambda x: (x * 2).backward(polyad.ones(3)), RuntimeError, "must have the tensor's shape"),
        (lambda x: (x * 2).backward([1.0]), TypeError, "not a tensor"),
        (lambda x: x.detach().sum().backward(), RuntimeError, "no history"),
        (lambda x: grad(x.sum(), polyad.ones(2)), RuntimeError, "requires no gradient"),
        (lambda x: grad((x.sum(), x.sum()), x, polyad.ones(())), ValueError, "2 tensors and 1 gradients"),
    ],
)  # fmt: skip
def test_bad_input(call, error: type[Exception], words: str) -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(error, match=words):
        call(x)
    assert x.grad is None


def test_a_changed_saved_tensor_names_both_ops_and_the_line() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError) as caught:
        z.backward()
    text = str(caught.value)
    assert "MulBackward0 needs was changed in place" in text
    assert "by add_ (test_engine.py:" in text
    assert x.grad is None


def test_a_change_before_saving_is_no_change() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    y.add_(1)
    (y * y).sum().backward()
    assert x.grad.tolist() == [24.0, 42.0]


def test_a_chain_of_a_hundred_thousand_ops() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 0.0
    y.backward()
    assert x.grad.item() == 1.0


def test_memory_goes_with_the_last_reference() -> None:
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        middle = (x * x).exp()
        seen = weakref.ref(middle)
        loss = (middle * middle).sum()
        del middle
        loss.backward()
        assert seen() is None, "a saved tensor outlived backward without the garbage collector"
        y = leaf(1.0)
        gone = weakref.ref(y)
        z = y.exp()
        del y, z
        assert gone() is None
    finally:
        gc.enable()


def test_hooks_see_and_replace_gradients() -> None:
    x = leaf(1.0, 2.0)
    seen = []
    y = x * 2
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0]]
    assert x.grad.tolist() == [20.0, 20.0]
    handle.remove()
    y.sum().backward()
    assert len(seen) == 1


def test_hooks_that_return_the_wrong_thing() -> None:
    x = leaf(1.0, 2.0)
    with x.register_hook(lambda g: g.sum()), pytest.raises(RuntimeError, match="has another shape"):
        x.sum().backward()
    with x.register_hook(lambda g: 3), pytest.raises(TypeError, match="it returned int, not a tensor"):
        x.sum().backward()


def test_retain_grad() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [6.0, 12.0]
    assert x.grad.tolist() == [18.0, 36.0]
    y.grad.zero_()
    assert x.grad.tolist() == [18.0, 36.0]


def test_backward_from_threads() -> None:
    x = leaf(1.0, 2.0)
    results: list[list[float]] = []

    def work() -> None:
        for _ in range(50):
            (g,) = grad((x * x).sum(), x)
            results.append(g.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2.0, 4.0]] * 200


def test_a_gradient_that_has_to_pass_a_freed_node_is_refused() -> None:
    # Other ways to the same leaf are open, and what comes by them alone would be a wrong gradient.
    x = leaf(0.5, -1.0)
    shared = x.sin().exp()
    whole = shared * x.cos()
    grad(shared.sum(), x)
    with pytest.raises(RuntimeError, match="freed"):
        grad(whole.sum(), x)
    # What need not pass there is not refused.
    y = leaf(1.0, 2.0)
    other = shared.detach() * y + 0 * shared
    assert grad(other.sum(), y)[0].tolist() == shared.tolist()


def test_backward_inside_backward() -> None:
    class Inner(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with polyad.enable_grad():
                y = x.detach().requires_grad_()
                (slope,) = grad((y * y * y).sum(), y)
            return g * slope

    x = leaf(2.0, 3.0)
    Inner.apply(x).sum().backward()
    assert x.grad.tolist() == [12.0, 27.0]


def nested(levels: int, at_the_bottom) -> type:
    class Nested(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if not levels:
                at_the_bottom()
                return g * 2
            with polyad.enable_grad():
                y = leaf(1.0)
                nested(levels - 1, at_the_bottom).apply(y).sum().backward()
            return g * y.grad

    return Nested


def test_backward_inside_backward_three_hundred_times() -> None:
    """Deeper than a thread's stack would take it; switches are those of the thread that asked."""
    seen = []
    x = leaf(1.0)
    with polyad.autograd.graph.disable_saved_tensors_hooks("not here"):
        nested(300, lambda: seen.append(state.saved_hooks_disabled)).apply(x).sum().backward()
    assert x.grad.item() == 2.0
    assert seen == ["not here"]
    assert not [thread for thread in threading.enumerate() if thread.name == "polyad backward"]


def test_errors_come_up_through_all_of_them() -> None:
    def fail():
        raise ValueError("at the bottom")

    x = leaf(1.0)
    with pytest.raises(ValueError, match="at the bottom"):
        nested(100, fail).apply(x).sum().backward()
    (x * 1).sum().backward()
    assert x.grad.item() == 1.0


def test_complex_gradients_are_conjugate() -> None:
    z = polyad.tensor([1 + 2j], dtype=polyad.complex128, requires_grad=True)
    (z * (3 - 1j)).backward(polyad.tensor([1 + 0j], dtype=polyad.complex128))
    assert z.grad.tolist() == [3 + 1j]


@pytest.mark.parametrize("gradients", [3.0, object(), ["a"], [2.0]])
def test_gradients_that_are_no_tensors_are_refused(gradients) -> None:
    x = polyad.ones(3, requires_grad=True)
    for differentiate in (
        lambda: polyad.autograd.backward((x * 2).sum(), gradients),
        lambda: polyad.autograd.grad((x * 2).sum(), x, gradients),
    ):
        with pytest.raises(TypeError, match=r"(?s)(backward|grad): gradients? is .*fix"):
            differentiate()


def test_two_frames_lie_between_backward_and_the_loop():
    x, names = polyad.ones(2, requires_grad=True), []

    def look(gradient):
        frame = sys._getframe(1)
        while frame is not None and (not names or names[-1] != "Tensor.backward"):
            names.append(frame.f_code.co_qualname)
            frame = frame.f_back

    y = x * 2
    y.register_hook(look)
    y.sum().backward()
    assert names[names.index("Pass.run") :] == ["Pass.run", "_backward", "backward", "Tensor.backward"]
