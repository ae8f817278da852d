"""The options of backward and grad, leaves that change between forward and backward, threads, long graphs."""

import gc
import threading
import weakref

import pytest

import polyad
from polyad.autograd import backward, grad


def leaf(*values: float) -> polyad.Tensor:
    return polyad.tensor(values, requires_grad=True)


def test_batched_gradients_are_the_rows_of_the_jacobian() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * x.sum()
    (found,) = grad(y, x, polyad.eye(3), is_grads_batched=True, retain_graph=True)
    rows = [grad(y, x, row, retain_graph=True)[0].tolist() for row in polyad.eye(3)]
    assert found.tolist() == rows
    (again,) = grad(y, x, polyad.eye(3), is_grads_batched=True, create_graph=True)
    assert (
        grad(again.sum(), x)[0].tolist()
        == grad(sum(grad(y, x, row, create_graph=True)[0].sum() for row in polyad.eye(3)), x)[0].tolist()
    )


def test_batched_gradients_of_nothing_and_of_the_unused() -> None:
    x, w = leaf(1.0, 2.0), leaf(1.0)
    assert grad(x * 2, x, polyad.ones(0, 2), is_grads_batched=True)[0].shape == (0, 2)
    assert grad(x * 2, [x, w], polyad.eye(2), is_grads_batched=True, allow_unused=True)[1] is None
    found = grad(x * 2, [x, w], polyad.eye(2), is_grads_batched=True, materialize_grads=True)
    assert found[1].tolist() == [[0.0], [0.0]]
    for wrong in (polyad.ones(3, 5), None, polyad.tensor(1.0)):
        with pytest.raises(RuntimeError):
            grad(x * 2, x, wrong, is_grads_batched=True)


def test_contradicting_and_empty_arguments() -> None:
    x = leaf(1.0)
    with pytest.raises(ValueError, match="opposite things"):
        grad(x.sum(), x, materialize_grads=True, allow_unused=False)
    for call in (lambda: x.sum().backward(inputs=[]), lambda: grad(x.sum(), [])):
        with pytest.raises(RuntimeError, match="inputs is empty"):
            call()
    with pytest.raises(ValueError, match="two names"):
        backward(x * 1, polyad.ones(1), grad_variables=polyad.ones(1))
    backward([x * 1], grad_variables=[polyad.ones(1)])
    assert x.grad.tolist() == [1.0]


def test_inputs_that_are_no_leaves_retain_their_gradient() -> None:
    x, w = leaf(1.0, 1.0), leaf(3.0, 4.0)
    y = x * 2
    (y * w).sum().backward(inputs=[y, w])
    assert x.grad is None
    assert y.grad.tolist() == [3.0, 4.0]
    assert w.grad.tolist() == [2.0, 2.0]
    assert y.retains_grad


def test_inputs_accumulate_in_place() -> None:
    x = leaf(1.0)
    (x * 2).sum().backward(inputs=x)
    first = x.grad
    (x * 2).sum().backward(inputs=x)
    assert x.grad is first
    assert first.tolist() == [4.0]


@pytest.mark.parametrize("stop", [lambda x: x.requires_grad_(False), lambda x: x.detach_()])
def test_a_leaf_that_requires_no_gradient_any_more_gets_none(stop) -> None:
    x, w = leaf(1.0), leaf(2.0)
    y = (x * w).sum()
    stop(x)
    y.backward()
    assert x.grad is None
    assert w.grad.tolist() == [1.0]


def test_a_leaf_that_requires_it_again_gets_one() -> None:
    x = leaf(1.0)
    y = (x * 2).sum()
    x.requires_grad_(False)
    x.requires_grad_(True)
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_threads_add_to_one_leaf() -> None:
    x = leaf(*[0.0] * 1000)
    count, workers = 100, 4
    barrier = threading.Barrier(workers)

    def work() -> None:
        barrier.wait()
        for _ in range(count):
            (x * 1).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # The first gradient of several threads may race to be the first; what is there is added to one at a time.
    assert set(x.grad.tolist()) == {float(count * workers)}


def test_threads_run_one_kept_graph() -> None:
    x = leaf(1.0, 2.0)
    y = (x.exp() * x).sum()
    expected = grad(y, x, retain_graph=True)[0].tolist()
    found = []

    def work() -> None:
        for _ in range(50):
            found.append(grad(y, x, retain_graph=True)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 200


def test_a_long_graph_is_dropped_without_being_run() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * x
    gone = weakref.ref(y.grad_fn)
    del y
    assert gone() is None


def test_a_cycle_through_a_graph_is_collected() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(y.mul)  # a bound method of the tensor whose node holds it
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None
