"""Recurrent layers in C against NumPy's kernels of the same ops, on sizes that no conformance sample has."""

import itertools

import numpy as np
import pytest

import polyad
from polyad.base.dtypes import float32, float64
from polyad_native import compiler, recurrent
from polyad_numpy.kernels.nn.recurrent import sequences

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

LENGTHS = ((1,) * 3, (5,) * 4, (40, 40, 33, 17, 16, 1))
WIDTHS = ((1, 0), (19, 0), (33, 7))
CASES = list(itertools.product(LENGTHS, (False, True), WIDTHS, (float32, float64)))


def random_arrays(dtype, *shapes):
    random = np.random.default_rng(7)
    return [None if shape is None else random.standard_normal(shape).astype(dtype.name) for shape in shapes]


def types(dtype):
    return (polyad.empty(1, dtype=dtype)._type,) * 11


def agree(found, wanted, dtype):
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        near = 200 * np.finfo(dtype.name).eps
        np.testing.assert_allclose(one, other, rtol=near, atol=near * max(1, np.abs(other).max(initial=0)))


@pytest.mark.parametrize(("sizes", "reverse", "widths", "dtype"), CASES)
def test_lstm(sizes, reverse, widths, dtype) -> None:
    size, width = widths
    rows, out, count = sum(sizes), width or size, sizes[0]
    projection = (width, size) if width else None
    given = random_arrays(dtype, (rows, 4 * size), (4 * size, out), projection, (count, out), (count, size))
    given[1] /= size  # so that steps do not amplify what is rounded
    wanted = sequences.lstm_sequence(*given, sizes, reverse)
    agree(recurrent.lstm_sequence(types(dtype))(*given, sizes, reverse), wanted, dtype)
    states, _, _, activated, cells = wanted
    for grads in itertools.product((False, True), repeat=3):
        shapes = [shape if here else None for here, shape in zip(grads, ((rows, out), (count, out), (count, size)))]
        operands = (*random_arrays(dtype, *shapes), *given, states, activated, cells, sizes, reverse)
        wanted = sequences.lstm_sequence_backward(*operands)
        agree(recurrent.lstm_sequence_backward(types(dtype))(*operands), wanted, dtype)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("sizes", "reverse", "widths", "dtype"), CASES)
def test_gru(sizes, reverse, widths, dtype, biased) -> None:
    size = widths[0]
    rows, count = sum(sizes), sizes[0]
    bias = (3 * size,) if biased else None
    given = random_arrays(dtype, (rows, 3 * size), (3 * size, size), bias, (count, size))
    given[1] /= size
    wanted = sequences.gru_sequence(*given, sizes, reverse)
    agree(recurrent.gru_sequence(types(dtype))(*given, sizes, reverse), wanted, dtype)
    states, _, activated = wanted
    grads = random_arrays(dtype, (rows, size), (count, size))
    for first, second in ((grads[0], None), (None, grads[1]), tuple(grads)):
        operands = (first, second, *given, states, activated, sizes, reverse)
        wanted = sequences.gru_sequence_backward(*operands)
        agree(recurrent.gru_sequence_backward(types(dtype))(*operands), wanted, dtype)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("sizes", "reverse", "widths", "dtype"), CASES)
def test_rnn(sizes, reverse, widths, dtype, relu) -> None:
    size = widths[0]
    rows, count = sum(sizes), sizes[0]
    given = random_arrays(dtype, (rows, size), (size, size), (count, size))
    given[1] /= size
    wanted = sequences.rnn_sequence(*given, sizes, reverse, relu)
    agree(recurrent.rnn_sequence(types(dtype))(*given, sizes, reverse, relu), wanted, dtype)
    operands = (*random_arrays(dtype, (rows, size), (count, size)), *given, wanted[0], sizes, reverse, relu)
    wanted = sequences.rnn_sequence_backward(*operands)
    agree(recurrent.rnn_sequence_backward(types(dtype))(*operands), wanted, dtype)


def test_nan_stays_in_its_sequence() -> None:
    gates, weight, hidden, cell = random_arrays(float32, (60, 32), (32, 8), (20, 8), (20, 8))
    gates[25, 3] = np.nan  # of sequence 5, in its second step
    out, *_ = recurrent.lstm_sequence(types(float32))(gates, weight, None, hidden, cell, (20, 20, 20), False)
    assert np.unique(np.argwhere(np.isnan(out))[:, 0]).tolist() == [25, 45]
