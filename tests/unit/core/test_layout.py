"""Shape and stride arithmetic against NumPy, which is an independent implementation of the same rules."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

layout = importlib.import_module("polyad.layout")  # the attribute of polyad is the class of layouts, as in PyTorch

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(shapes)
def test_contiguous(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.int8)
    strides = layout.contiguous_strides(shape)
    assert layout.is_contiguous(shape, strides)
    if array.size:
        assert all(have == want for size, have, want in zip(shape, strides, array.strides) if size > 1)


@given(mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=3))
def test_broadcast(case) -> None:
    assert layout.broadcast_shapes(*case.input_shapes) == case.result_shape


@given(st.lists(shapes, min_size=2, max_size=3))
def test_broadcast_fails_where_numpy_does(case) -> None:
    try:
        expected = np.broadcast_shapes(*case)
    except ValueError:
        with pytest.raises(RuntimeError, match="do not agree in dimension"):
            layout.broadcast_shapes(*case)
    else:
        assert layout.broadcast_shapes(*case) == expected


@settings(max_examples=300)
@given(st.data())
def test_view_strides_show_the_same_elements(data) -> None:
    """Whatever view_strides returns reads the elements in row-major order; where it gives up, so does NumPy."""
    shape = data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4).map(tuple))
    order = data.draw(st.permutations(range(len(shape))))
    step = data.draw(st.sampled_from([1, 2]))
    base = np.arange(np.prod(shape) * step, dtype=np.int64)[::step].reshape([shape[d] for d in np.argsort(order)])
    array = base.transpose(order)
    shape = array.shape
    factors = [f for size in shape for f in {1: [], 2: [2], 3: [3], 4: [2, 2], 6: [2, 3]}[size]]
    factors = data.draw(st.permutations(factors))
    new_shape: list[int] = []
    for factor in factors:
        if new_shape and data.draw(st.booleans()):
            new_shape[-1] *= factor
        else:
            new_shape.append(factor)
    strides = layout.view_strides(shape, tuple(s // 8 for s in array.strides), tuple(new_shape))
    try:
        # numpy.reshape(copy=False) raises where no view exists.
        expected = np.reshape(array, new_shape, copy=False)
    except ValueError:
        assert strides is None
    else:
        assert strides is not None
        seen = np.lib.stride_tricks.as_strided(array, new_shape, [s * 8 for s in strides])
        assert np.array_equal(seen, expected)


@pytest.mark.parametrize(
    ("shape", "numel", "words"),
    [
        ((-1, -1), 4, "more than one -1"),
        ((3, -1), 4, "no multiple of 3"),
        ((2, 3), 4, "holds 6 elements"),
        ((-2, 2), 4, "negative"),
    ],
)
def test_infer_shape_says_what_does_not_fit(shape, numel: int, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        layout.infer_shape(shape, numel, "reshape")


@pytest.mark.parametrize(("dim", "ndim"), [(2, 2), (-3, 2), (1, 0), (-2, 0)])
def test_dims_out_of_range(dim: int, ndim: int) -> None:
    with pytest.raises(IndexError, match=f"dim {dim} is out of range"):
        layout.normalize_dim(dim, ndim, "sum")


@pytest.mark.parametrize("dim", [1.0, "0", True, None])
def test_dims_that_are_no_ints(dim) -> None:
    with pytest.raises(TypeError, match="not an int"):
        layout.normalize_dim(dim, 2, "sum")


def test_a_dim_twice() -> None:
    with pytest.raises(RuntimeError, match="twice"):
        layout.normalize_dims((0, -2), 2, "sum")


def test_sizes_are_checked() -> None:
    with pytest.raises(RuntimeError, match="dimension 1 is negative"):
        layout.check_sizes((2, -1), "zeros")
    with pytest.raises(RuntimeError, match="more than"):
        layout.check_sizes((2**40, 2**40), "zeros")


def test_size_is_a_tuple_that_knows_its_elements() -> None:
    size = layout.Size((2, 3, 4))
    assert size.numel() == 24
    assert isinstance(size[1:], layout.Size)
    assert size + (5,) == (2, 3, 4, 5)  # noqa: RUF005  (the operator is what is tested)
    assert repr(size) == "polyad.Size([2, 3, 4])"
