"""Chains of ops that compute element by element are one kernel, with the same bits."""

from __future__ import annotations

import random

import pytest

import polyad as torch
from polyad.backend.c_compiler import command
from polyad.nn import functional as F

SIZE = 1 << 11

ONE = {
    "neg": lambda x: -x,
    "abs": torch.abs,
    "exp": torch.exp,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": F.gelu,
    "gelu of tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "relu": F.relu,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "number": lambda x: x * 1.7 + 3,
    "detach": lambda x: x.detach() - 1,
    "shape": lambda x: x.reshape(2, -1).reshape(-1),
    "written": lambda x: (x * 2).add_(1),
}
TWO = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "maximum": torch.maximum,
    "scaled": lambda x, y: torch.add(x, y, alpha=0.3),
    "choice": lambda x, y: torch.where(x > y, x, y),
    "row": lambda x, y: (x.reshape(2, -1) * y.reshape(2, -1)[0]).reshape(-1),
}


def fused(function):
    """How many ops of the last run shared a kernel with others."""
    return sum(
        tape.fused
        for program in function._region.programs.values()
        for recording in program.recordings
        for tape in recording.tapes.values()
        if not isinstance(tape, str)
    )


pytestmark = pytest.mark.filterwarnings("error:compile:UserWarning")


def bits(tensors):
    """The bits of all elements; a NaN has one sign here, since a compiler may give it another."""
    return [torch.where(tensor.isnan(), float("nan"), tensor.detach()).numpy().tobytes() for tensor in tensors]


def special(dtype):
    x = torch.randn(SIZE, dtype=dtype) * 3
    x[:6] = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-40], dtype=dtype)
    return x


needs_compiler = pytest.mark.skipif(command() is None, reason="needs a C compiler")


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seed", range(8))
def test_chains_have_the_same_bits(seed, dtype):
    draw = random.Random(seed)
    steps = [(draw.choice([*ONE, *TWO]), draw.randrange(5), draw.randrange(5)) for _ in range(10)]

    def chain(x, y):
        values = [x, y]
        for name, one, other in steps:
            a, b = values[-1 - one % len(values)], values[-1 - other % len(values)]
            values.append(ONE[name](a) if name in ONE else TWO[name](a, b))
        return values[-3:]

    compiled = torch.compile(torch.no_grad()(chain))
    x, y = special(dtype), special(dtype).flip(0)
    expected = bits(torch.no_grad()(chain)(x, y))
    for _ in range(3):
        assert bits(compiled(x, y)) == expected


@needs_compiler
def test_what_is_fused_and_what_is_not():
    def chain(x, y):
        a = x * y + 1
        b = a.detach() * 2
        total = b.sum()
        c = b - total
        return c * a

    compiled = torch.compile(torch.no_grad()(chain))
    x, y = torch.randn(SIZE), torch.randn(SIZE)
    for _ in range(3):
        found = compiled(x, y)
    assert torch.equal(found, chain(x, y))
    assert fused(compiled) == 5  # three before the sum, two behind it
    small = torch.compile(torch.no_grad()(lambda x: x * 2 + 1))
    for _ in range(3):
        small(x[:8])
    assert fused(small) == 0  # there eager calls run NumPy, whose bits may be others


@needs_compiler
def test_writes_come_between():
    buffer = torch.zeros(SIZE)

    def step(x):
        a = x * buffer + 1
        b = a * 2
        buffer.add_(1)
        return b * buffer - a

    def eager(x, before):
        a = x * before + 1
        return a * 2 * (before + 1) - a

    compiled = torch.compile(step)
    for number in range(4):
        x = torch.randn(SIZE)
        assert torch.equal(compiled(x), eager(x, torch.full((SIZE,), float(number))))


@needs_compiler
def test_a_training_step_with_a_loss_of_its_own():
    def make():
        torch.manual_seed(0)
        w = torch.randn(SIZE, requires_grad=True)

        def step(x):
            w.grad = None
            y = torch.tanh(w * x) * torch.sigmoid(x) + w * 0.1
            loss = (y * y - x).square().mean()
            loss.backward()
            with torch.no_grad():
                w.sub_(w.grad * 0.1)
            return loss

        return w, step

    (w, eager), (v, step) = make(), make()
    compiled = torch.compile(step)
    for _ in range(4):
        x = torch.randn(SIZE)
        assert bits([eager(x), w, w.grad]) == bits([compiled(x), v, v.grad])
    assert fused(compiled) > 8
