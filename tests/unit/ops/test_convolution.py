"""Convolution and pooling beyond small samples: blocks, threads, equal maxima, settings as users write them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import polyad
from polyad.nn import functional as F


def direct(x, w, stride, padding, dilation):
    """Convolution as a sum over kernel positions of products of slices."""
    x = F.pad(x, (padding[1],) * 2 + (padding[0],) * 2)
    rows = (x.shape[2] - dilation[0] * (w.shape[2] - 1) - 1) // stride[0] + 1
    columns = (x.shape[3] - dilation[1] * (w.shape[3] - 1) - 1) // stride[1] + 1
    total = polyad.zeros(x.shape[0], w.shape[0], rows, columns, dtype=x.dtype)
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            top, left = i * dilation[0], j * dilation[1]
            part = x[
                :,
                :,
                top : top + (rows - 1) * stride[0] + 1 : stride[0],
                left : left + (columns - 1) * stride[1] + 1 : stride[1],
            ]
            total = total + (part.permute(0, 2, 3, 1) @ w[:, :, i, j].t()).permute(0, 3, 1, 2)
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
    ],
)
def test_blocks_and_strips(shape, kernel, stride, padding, dilation):
    polyad.manual_seed(0)
    x = polyad.randn(*shape, dtype=polyad.float64, requires_grad=True)
    w = polyad.randn(*kernel, dtype=polyad.float64, requires_grad=True)
    out, expected = F.conv2d(x, w, None, stride, padding, dilation), direct(x, w, stride, padding, dilation)
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


def test_settings_may_be_written_as_pytorch_users_do():
    x, w = polyad.ones(1, 1, 5, 5), polyad.ones(1, 1, 3, 3)
    assert F.conv2d(x, w, stride=[2]).shape == (1, 1, 2, 2)
    assert F.conv2d(x, w, padding=(1, 0)).shape == (1, 1, 5, 3)
    assert F.conv2d(x, w, padding="valid").shape == (1, 1, 3, 3)
    assert F.conv2d(x, w, padding="same", dilation=2).shape == (1, 1, 5, 5)


def test_a_failed_call_leaves_its_inputs_alone():
    x, w = polyad.ones(1, 2, 5, 5), polyad.ones(1, 3, 3, 3)
    with pytest.raises(RuntimeError, match="2 channels != 3"):
        F.conv2d(x, w)
    assert (x._version, w._version) == (0, 0)
    assert float(x.sum() + w.sum()) == 50 + 27


def test_maximum_gives_its_gradient_to_the_first_of_equals_and_to_nan():
    x = polyad.tensor([[[1.0, 2.0, 3.0, 0.0], [2.0, 2.0, float("nan"), 5.0]]], requires_grad=True)
    F.max_pool2d(x, 2).backward(polyad.tensor([[[10.0, 20.0]]]))
    assert x.grad.tolist() == [[[0.0, 10.0, 0.0, 0.0], [0.0, 0.0, 20.0, 0.0]]]


def test_an_infinite_gradient_stays_where_it_belongs():
    x = polyad.tensor([[[1.0, 2.0]]], requires_grad=True)
    F.max_pool2d(x, (1, 2)).backward(polyad.tensor([[[float("inf")]]]))
    assert x.grad.tolist() == [[[0.0, float("inf")]]]


@pytest.mark.parametrize("padding", [0, 1])
def test_a_batch_of_none_convolves_to_none(padding):
    x = polyad.zeros(0, 3, 5, 5, requires_grad=True)
    w = polyad.ones(4, 3, 1, 1, requires_grad=True)
    y = F.conv2d(x, w, padding=padding)
    y.sum().backward()
    assert y.shape == (0, 4, 5 + 2 * padding, 5 + 2 * padding)
    assert x.grad.shape == x.shape
    assert (w.grad == 0).all()
