"""One graph run backward by several threads: what frees it is done once, and the others are told."""

from __future__ import annotations

import sys
import threading

import pytest

import polyad
from polyad.autograd import Function
from polyad.errors import AutogradError


@pytest.fixture(autouse=True)
def often():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def raced(count, work):
    """What ``work()`` raised in each of *count* threads, or None."""
    barrier, raised = threading.Barrier(count), [None] * count

    def run(number):
        barrier.wait()
        try:
            work()
        except AutogradError as error:
            raised[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "with saved-tensor hooks"])
def test_one_of_the_threads_frees_the_graph(packed):
    for _ in range(20):
        x = polyad.tensor([1.0, 2.0], requires_grad=True)
        if packed:
            with polyad.autograd.graph.saved_tensors_hooks(lambda tensor: tensor * 1, lambda tensor: tensor):
                y = (x * x).exp().sum()
        else:
            y = (x * x).exp().sum()
        raised = raced(6, y.backward)
        assert sum(error is None for error in raised) == 1
        assert all("graph was freed" in str(error) for error in raised if error is not None)
        expected = 2 * x.detach() * (x.detach() * x.detach()).exp()
        assert polyad.allclose(x.grad, expected)


def test_a_formula_in_which_two_threads_could_meet_is_entered_by_one():
    inside, entered, calls = threading.Barrier(2), [], []

    class Slow(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            entered.append(threading.get_ident())
            try:
                inside.wait(0.3)  # for another thread, which must not come
            except threading.BrokenBarrierError:
                pass
            (x,) = ctx.saved_tensors
            return grad * x

    x = polyad.tensor([3.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda tensor: calls.append(tensor.grad.item()))
    y = Slow.apply(x).sum()
    raised = raced(2, y.backward)
    assert sum(error is None for error in raised) == 1
    assert (len(entered), calls, x.grad.tolist()) == (1, [3.0], [3.0])


def test_a_graph_that_holds_nothing_is_run_by_all():
    x = polyad.tensor([1.0, 2.0], requires_grad=True)
    y = (x + 1 - 3).sum()
    assert raced(6, y.backward) == [None] * 6
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_kept_graph_is_run_by_all():
    x = polyad.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    assert raced(6, lambda: y.backward(retain_graph=True)) == [None] * 6
    assert x.grad.tolist() == [12.0, 24.0]


def test_a_formula_that_fails_leaves_the_graph():
    fails = [True]

    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            if fails.pop() if fails else False:
                raise ZeroDivisionError("the first time")
            return grad * x

    x = polyad.tensor([3.0], requires_grad=True)
    y = Once.apply(x)
    with pytest.raises(ZeroDivisionError, match="the first time"):
        y.backward()
    y.backward()
    assert x.grad.tolist() == [3.0]
