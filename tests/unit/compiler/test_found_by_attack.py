"""Programs that once gave other results compiled: each is run op by op and compiled, and compared bit for bit."""

import gc
import linecache

import numpy as np
import pytest

import polyad as torch

SIZE = 40_000
"""Elements from which chains become one kernel."""


def runs(make, count=4):
    """What *count* calls of a new function give."""
    function = make()
    return [[np.array(one) for one in function(call)] for call in range(count)]


def same(make, **options):
    for one, other in zip(runs(make), runs(lambda: torch.compile(make(), **options)), strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.tobytes() == b.tobytes()


def test_a_chain_reads_a_gradient_before_it_is_added_to():
    def make():
        w, v = torch.ones(SIZE, requires_grad=True), torch.ones(SIZE, requires_grad=True)

        def step(call):
            w.grad = v.grad = None
            (w + v).sum().backward()
            before = w.grad * 2 + 1
            (w * v).sum().backward()
            return before.tolist()[:3], w.grad.tolist()[:3]

        return step

    same(make)


def test_a_chain_reads_a_gradient_of_an_earlier_call():
    def make():
        p = torch.ones(SIZE, requires_grad=True)

        def step(call):
            before = torch.zeros(1) if p.grad is None else p.grad * 2 + 1
            (p * 3).sum().backward()
            return before.tolist()[:3], p.grad.tolist()[:3]

        return step

    same(make)


@pytest.mark.parametrize("shared", [torch.from_numpy, torch.as_tensor, torch.from_dlpack])
def test_memory_of_numpy_is_read_when_the_program_reads_it(shared):
    def make():
        buffer, w = np.zeros(4, np.float32), torch.ones(4, requires_grad=True)

        def step(call):
            for k in range(2):
                buffer[:] = call * 10 + k
                (shared(buffer) * w).sum().backward()
            gradient, w.grad = w.grad.tolist(), None
            return (gradient,)

        return step

    same(make)


@pytest.mark.parametrize("lend", [lambda t: t.numpy(), np.asarray, np.from_dlpack])
def test_memory_that_is_lent_is_read_before_others_write(lend):
    def make():
        x = torch.arange(4.0)

        def step(call):
            y = x * 2 + 1
            z = lend(y)
            u = y * 3 + 1
            z[:] = 0
            return u.tolist(), y.tolist()

        return step

    same(make)


def test_hooks_that_come_later_run_in_grad():
    w = torch.arange(4.0, requires_grad=True)
    step = torch.compile(lambda: torch.autograd.grad((w * w).sum(), w)[0])
    assert [step().tolist() for _ in range(3)] == [[0, 2, 4, 6]] * 3
    w.register_hook(lambda gradient: gradient * 3)
    assert [step().tolist() for _ in range(3)] == [[0, 6, 12, 18]] * 3


@pytest.mark.parametrize(
    "chain",
    [
        lambda x: x**-0.5 * 2,
        lambda x: x**3 * 2 + x,
        lambda x: x.cos() + x.sin(),
        lambda x: torch.atan2(x.sign(), x.sign()) * 2,
        lambda x: (x.pow(3) * 0.044715 + x).tanh() * x,
        lambda x: (x.exp2() + 1) * x.expm1() - x.tan(),
    ],
)
def test_functions_have_the_bits_that_they_have_alone(chain):
    def make():
        x = torch.linspace(-5, 5, SIZE).clone()
        x[0], x[2] = -float("inf"), -0.0

        def step(call):
            return (chain(x).tolist(),)

        return torch.no_grad()(step)

    same(make)


def test_texts_of_forgotten_functions_are_forgotten():
    def count():
        gc.collect()
        return sum(name.startswith("polyad-") for name in map(str, linecache.cache))

    def one():
        function = torch.compile(torch.no_grad()(lambda x: (x * 2 + 1) * 3))
        for _ in range(3):
            function(torch.ones(4))

    one()
    before = count()
    for _ in range(10):
        one()
    assert count() <= before + 2
