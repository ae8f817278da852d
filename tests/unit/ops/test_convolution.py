"""Convolution beyond small samples: blocks, threads, memory, settings as users write them."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tracemalloc

import pytest

import polyad
from polyad.nn import functional as F


def direct(x, w, stride, padding, dilation):
    """Convolution as a sum over kernel positions of products of slices."""
    dims = x.ndim - 2
    x = F.pad(x, [side for amount in reversed(padding) for side in (amount, amount)])
    size = [
        (have - spacing * (extent - 1) - 1) // step + 1
        for have, extent, step, spacing in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    total = polyad.zeros(x.shape[0], w.shape[0], *size, dtype=x.dtype)
    for position in itertools.product(*map(range, w.shape[2:])):
        starts = [at * spacing for at, spacing in zip(position, dilation, strict=True)]
        part = x[
            (
                ...,
                *(
                    slice(start, start + (count - 1) * step + 1, step)
                    for start, count, step in zip(starts, size, stride, strict=True)
                ),
            )
        ]
        total = total + (part.movedim(1, dims + 1) @ w[(slice(None), slice(None), *position)].t()).movedim(dims + 1, 1)
    return total


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding", "dilation"),
    [
        ((40, 3, 9, 9), (5, 3, 3, 3), (1, 1), (1, 1), (1, 1)),  # many images a block, threads
        ((2, 8, 90, 120), (4, 8, 7, 5), (1, 1), (3, 2), (1, 1)),  # several strips of rows an image
        ((2, 8, 91, 120), (16, 8, 5, 5), (2, 3), (2, 1), (2, 1)),  # and phases
        ((33, 16, 14, 14), (64, 16, 3, 3), (1, 1), (1, 1), (1, 1)),  # the gradient is deeper than the input
        ((2, 3, 11, 13), (4, 3, 3, 3), (2, 2), (1, 2), (2, 2)),  # strides and dilations that share a plane
        ((2, 3, 11, 13), (4, 3, 2, 3), (1, 2), (0, 1), (2, 4)),
        ((2, 3, 11, 13), (4, 3, 3, 1), (3, 2), (0, 0), (3, 1)),
        ((3, 8, 6000), (4, 8, 9), (1,), (4,), (2,)),  # parts of a sequence
        ((2, 8, 5, 40, 60), (4, 8, 3, 5, 3), (1, 1, 1), (1, 2, 1), (1, 1, 1)),  # parts of each plane of a volume
        ((2, 8, 6, 41, 60), (4, 8, 2, 5, 5), (2, 1, 2), (1, 0, 2), (1, 2, 1)),  # and phases
        ((30, 3, 4, 5, 6), (5, 3, 2, 3, 2), (1, 1, 1), (0, 1, 1), (1, 1, 1)),  # many volumes a block
    ],
)
def test_blocks_and_strips(shape, kernel, stride, padding, dilation):
    polyad.manual_seed(0)
    x = polyad.randn(*shape, dtype=polyad.float64, requires_grad=True)
    w = polyad.randn(*kernel, dtype=polyad.float64, requires_grad=True)
    convolve = (F.conv1d, F.conv2d, F.conv3d)[len(stride) - 1]
    out, expected = convolve(x, w, None, stride, padding, dilation), direct(x, w, stride, padding, dilation)
    g = polyad.randn(*out.shape, dtype=polyad.float64)
    # Sums of at most 40 * 120 * 120 * 200 terms of size 1: rounding stays below 1e-10 of their size, about 1e3.
    for got, wanted in zip(
        (out, *polyad.autograd.grad(out, (x, w), g)),
        (expected, *polyad.autograd.grad(expected, (x, w), g)),
        strict=True,
    ):
        assert float((got - wanted).abs().max()) < 1e-8


def test_results_do_not_depend_on_the_number_of_threads():
    program = (
        "import polyad, hashlib, numpy\n"
        "from polyad.nn import functional as F\n"
        "_ = polyad.manual_seed(0)\n"
        "x = polyad.randn(37, 8, 14, 14, requires_grad=True); w = polyad.randn(16, 8, 3, 3, requires_grad=True)\n"
        "F.max_pool2d(F.conv2d(x, w, padding=1), 2).pow(2).sum().backward()\n"
        "print(hashlib.sha256(repr((x.grad.tolist(), w.grad.tolist())).encode()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"POLYAD_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "3")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
def test_transposed_is_what_the_gradient_of_the_input_is(groups, stride):
    polyad.manual_seed(0)
    x = polyad.randn(40, 4, 9, 10, dtype=polyad.float64, requires_grad=True)
    w = polyad.randn(6, 4 // groups, 3, 2, dtype=polyad.float64)
    y = F.conv2d(x, w, stride=stride, padding=1, groups=groups)
    g = polyad.randn(*y.shape, dtype=polyad.float64)
    (expected,) = polyad.autograd.grad(y, x, g)
    more = [(have + 2 - extent) % stride for have, extent in zip(x.shape[2:], w.shape[2:], strict=True)]
    got = F.conv_transpose2d(g, w, None, stride, 1, more, groups)
    # Sums of at most 54 products of size 1.
    assert float((got - expected).abs().max()) < 1e-13 * 54


def test_half_precision_adds_up_in_float32():
    # 4096 ones: added up in float16, the sum would stay at 2048.
    for dtype in (polyad.float16, polyad.bfloat16):
        x, w = polyad.ones(1, 4096, 1, 1, dtype=dtype), polyad.ones(2, 4096, 1, 1, dtype=dtype)
        assert F.conv2d(x, w).flatten().tolist() == [4096, 4096]
        assert F.conv2d(x, w, padding=1)[0, :, 1, 1].tolist() == [4096, 4096]


def test_forward_and_backward_need_less_than_four_times_the_inputs_memory():
    x = polyad.randn(64, 32, 28, 28, requires_grad=True)
    w = polyad.randn(64, 32, 3, 3, requires_grad=True)
    tracemalloc.start()
    try:
        F.conv2d(x, w, padding=1).sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The result alone is twice the input, the gradient of the input once.
    assert peak < 4 * x.numel() * x.element_size()


def test_settings_may_be_written_as_pytorch_users_do():
    x, w = polyad.ones(1, 1, 5, 5), polyad.ones(1, 1, 3, 3)
    assert F.conv2d(x, w, stride=[2]).shape == (1, 1, 2, 2)
    assert F.conv2d(x, w, padding=(1, 0)).shape == (1, 1, 5, 3)
    assert F.conv2d(x, w, padding="valid").shape == (1, 1, 3, 3)
    assert F.conv2d(x, w, padding="same", dilation=2).shape == (1, 1, 5, 5)
    assert F.conv3d(x[None], w[None], padding="same").shape == (1, 1, 1, 5, 5)
    assert F.conv_transpose2d(x, w, None, 2, 1, 1).shape == (1, 1, 10, 10)


def test_a_failed_call_leaves_its_inputs_alone():
    x, w = polyad.ones(1, 2, 5, 5), polyad.ones(1, 3, 3, 3)
    with pytest.raises(RuntimeError, match="2 channels != 3"):
        F.conv2d(x, w)
    assert (x._version, w._version) == (0, 0)
    assert float(x.sum() + w.sum()) == 50 + 27


@pytest.mark.parametrize("padding", [0, 1])
def test_a_batch_of_none_convolves_to_none(padding):
    x = polyad.zeros(0, 3, 5, 5, requires_grad=True)
    w = polyad.ones(4, 3, 1, 1, requires_grad=True)
    y = F.conv2d(x, w, padding=padding)
    y.sum().backward()
    assert y.shape == (0, 4, 5 + 2 * padding, 5 + 2 * padding)
    assert x.grad.shape == x.shape
    assert (w.grad == 0).all()
