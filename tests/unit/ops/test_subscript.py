"""``x[...]`` and ``x[...] = v``: what may stand between the brackets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import polyad
from polyad.dispatch.op import op_of
from polyad.errors import DTypeError, ShapeError
from polyad.ops.indexing import index_put as advanced_indexing

VALUES = np.arange(24.0).reshape(2, 3, 4)


def tensor():
    return polyad.tensor(VALUES)


@given(st.data())
def test_basic_subscripts_are_numpys(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    values = np.arange(float(np.prod(shape))).reshape(shape)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    parts = index if isinstance(index, tuple) else (index,)
    x = polyad.tensor(values)
    if any(isinstance(part, slice) and (part.step or 1) < 0 for part in parts):
        with pytest.raises(ValueError, match="is not positive"):
            x[index]
        return
    got = x[index]
    np.testing.assert_array_equal(got.numpy(), values[index])
    if got.numel():
        got.fill_(-1)
        values[index] = -1
        np.testing.assert_array_equal(x.numpy(), values)


@given(st.data())
def test_index_tensors_are_numpys(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    values = np.arange(float(np.prod(shape))).reshape(shape)
    count = data.draw(st.integers(1, len(shape)))
    arrays = data.draw(
        hnp.integer_array_indices(shape[:count], result_shape=hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    )
    index = tuple(polyad.tensor(array) for array in arrays)
    np.testing.assert_array_equal(polyad.tensor(values)[index].numpy(), values[arrays])


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        ((0, slice(None), [0, 1, 2]), (3, 3)),  # an int is taken first, then one index tensor is left: no transposition
        (([0, 1], slice(None), [0, 1]), (2, 3)),
        ((slice(None), [0, 1], [0, 1]), (2, 2)),
        ((slice(None), [[0], [1]], [0, 1]), (2, 2, 2)),
        ((None, [0], slice(None), None, [1]), (1, 1, 3, 1)),
        (True, (1, 2, 3, 4)),
        (False, (0, 2, 3, 4)),
        ((True, 0), (1, 3, 4)),
        ((Ellipsis, [0, 1]), (2, 3, 2)),
        ([], (0, 3, 4)),
        (range(2), (2, 3, 4)),
        (np.int64(1), (3, 4)),
        (np.array([1, 0]), (2, 3, 4)),
        ((np.bool_(True),), (1, 2, 3, 4)),
    ],
)
def test_shapes_as_in_pytorch(index, shape):
    assert tensor()[index].shape == shape


def test_zero_dim_integer_tensor_is_an_int():
    x = tensor()
    row = x[polyad.tensor(1)]
    assert row._base is x
    np.testing.assert_array_equal(row.numpy(), VALUES[1])


def test_masks():
    x = tensor()
    mask = polyad.tensor(VALUES[:, :, 0] > 4)
    np.testing.assert_array_equal(x[mask].numpy(), VALUES[VALUES[:, :, 0] > 4])
    as_bytes = mask.to(polyad.uint8)
    np.testing.assert_array_equal(x[as_bytes].numpy(), VALUES[VALUES[:, :, 0] > 4])
    np.testing.assert_array_equal(x[0, [True, False, True]].numpy(), VALUES[0, [0, 2]])


@pytest.mark.parametrize(
    ("index", "kind", "message"),
    [
        (2, IndexError, r"index: 2 is not in \[-2, 2\) of dimension 0\n.*input +float64 \(2, 3, 4\)"),
        ((0, -4), IndexError, r"index: -4 is not in \[-3, 3\) of dimension 1"),
        ((0, 0, 0, 0), IndexError, r"index: 4 indices for 3 dimensions"),
        (1.0, IndexError, r"index: 1\.0 is float, which is no index"),
        ("a", TypeError, "which is no index"),
        ([0, "text"], IndexError, "cannot be read as an index tensor"),
        ([0.5], IndexError, r"index: indices\[0\] is float32; index tensors are integers"),
        (slice(None, None, -1), ValueError, "the step of the slice .* is not positive"),
        (slice(None, None, 0), ValueError, "is not positive"),
        (slice(0.5, None), TypeError, "has a bound that is not an int"),
        ([0, 2], IndexError, r"index: indices\[0\]\[1\] = 2 is not in \[-2, 2\) of dimension 0"),
        ((0, [[0], [-4]]), IndexError, r"index: indices\[0\]\[1, 0\] = -4 is not in \[-3, 3\)"),
        ([True, False, True], IndexError, r"the mask \(3,\) does not match the dimensions \(2,\)"),
        (([0, 1], [0, 1, 2]), IndexError, r"the index tensors \(2,\), \(3,\) do not broadcast"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_refused(index, kind, message, write):
    x = tensor()
    call = (lambda: x.__setitem__(index, 0)) if write else (lambda: x[index])
    with pytest.raises(kind, match=message.replace("index: indices", r"index(_put)?: indices") if write else message):
        call()
    np.testing.assert_array_equal(x.numpy(), VALUES)


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, 5),
        ((slice(None), 1), 2.5),
        ((0, 1), [9.0, 8.0, 7.0, 6.0]),
        (Ellipsis, np.arange(4.0)),
        ((slice(None), [0, 2]), 1.0),
        ((slice(None), [0, 2]), np.arange(4.0)),
        (([1, 0], [2, 0]), np.arange(8.0).reshape(2, 4)),
        (VALUES > 7, 0.0),
        ((0, VALUES[0] > 7), 3.0),
        ((slice(None), slice(None, None, 2), 3), np.array([[1.0], [2.0]])),
    ],
)
def test_writes_are_numpys(index, value):
    x, expected = tensor(), VALUES.copy()
    x[index] = polyad.tensor(value) if isinstance(value, np.ndarray) else value
    expected[index] = value
    np.testing.assert_array_equal(x.numpy(), expected)


def test_writes_convert_as_slices_do():
    x = polyad.zeros(3, dtype=polyad.int64)
    x[0] = 1.7
    x[1:] = polyad.tensor([2.5, 3.5])
    x[[0]] = 5
    assert x.tolist() == [5, 2, 3]
    with pytest.raises(RuntimeError, match=r"the values are float32, which self \(int64\) cannot hold"):
        x[[0, 1]] = polyad.tensor([2.5, 3.5])
    assert x.tolist() == [5, 2, 3]


def test_refused_values_leave_the_target():
    x = tensor()
    for index in (0, [0, 1]):
        with pytest.raises(RuntimeError):
            x[index] = polyad.zeros(5, dtype=polyad.float64)
    with pytest.raises((TypeError, ValueError)):
        x[0] = "text"
    np.testing.assert_array_equal(x.numpy(), VALUES)


def test_overlapping_write():
    x = polyad.arange(6.0)
    with pytest.raises(RuntimeError, match="another part of the memory"):
        x[1:] = x[:-1]
    with pytest.raises(RuntimeError, match="another part of the memory"):
        x[[1, 2, 3]] = x[:3]
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    x[:3] = x[3:]
    x[::2] = x[:3]
    assert x.tolist() == [3, 4, 4, 3, 5, 5]
    x[x > 4] = x[0]
    assert x.tolist() == [3, 4, 4, 3, 3, 3]
    x[:] = x[1]
    assert x.tolist() == [4] * 6


def test_advanced_write_goes_into_the_same_memory():
    x = polyad.zeros(4)
    alias = x[1:]
    address = x.data_ptr()
    x[polyad.tensor([1, 2])] = 7
    assert alias.tolist() == [7, 7, 0]
    assert x.data_ptr() == address
    assert x._version == 1


@pytest.mark.parametrize("index", [([0, 1], [2, 0]), (slice(None), [2, 0]), ([1], slice(None), [0])])
def test_decompositions_name_wrong_indices(index):
    """A backend without kernels for index and index_put gets the same error from their decompositions."""
    x = tensor()
    indices = [None if isinstance(part, slice) else polyad.tensor(part) + 9 for part in index]
    with pytest.raises(IndexError, match=r"indices\[\d\]\[0\] = \d+ is not in \[-\d, \d\) of dimension \d"):
        op_of(advanced_indexing._index).body(x, indices)


def test_iteration_and_unpacking():
    a, b = tensor()
    np.testing.assert_array_equal(b.numpy(), VALUES[1])
    assert [len(row) for row in a] == [4, 4, 4]


@pytest.mark.parametrize("index", [0, slice(None), [0, 1], [True, False, True]])
def test_numbers_that_the_dtype_cannot_hold(index):
    x = polyad.zeros(3, dtype=polyad.uint8)
    for value, message in (
        (300, r"300 is not in \[0, 255\]"),
        (-256, "-256 is not in"),
        (-1.0, "-1.0 is not in"),
        (float("nan"), "nan is not in"),
        (1j, "complex number"),
    ):
        with pytest.raises(RuntimeError, match=message):
            x[index] = value
    assert x.tolist() == [0, 0, 0]
    x[index] = 254.9
    assert x.max().item() == 254
    x[index] = -1  # PyTorch lets negative integers wrap in an unsigned dtype
    assert x.max().item() == 255


def test_index_add_of_bools_is_their_disjunction():
    x = polyad.tensor([[False, True], [False, False]])
    added = x.index_add(0, polyad.tensor([0, 0]), polyad.tensor([[False, False], [True, False]]))
    assert added.tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize(
    "fill",
    [
        lambda x: x.masked_fill(x > 2, 300),
        lambda x: x.clone().masked_fill_(x > 2, 300),
        lambda x: x.index_fill(0, polyad.tensor([0]), 300),
        lambda x: x.scatter(0, polyad.tensor([0]), 300),
    ],
)
def test_numbers_that_the_dtype_cannot_hold_are_refused_and_not_wrapped(fill):
    with pytest.raises(RuntimeError, match="range of uint8"):
        fill(polyad.tensor([2, 3], dtype=polyad.uint8))


def test_a_uint8_mask_warns():
    with pytest.warns(UserWarning, match="read as a mask"):
        got = polyad.arange(3)[polyad.tensor([0, 1, 1], dtype=polyad.uint8)]
    assert got.tolist() == [1, 2]


def test_false_writes_nothing_and_true_everything():
    x = polyad.zeros(2)
    x[False] = polyad.ones(5, 7)
    assert x.tolist() == [0, 0]
    x[True] = 3
    assert x.tolist() == [3, 3]
    x[polyad.tensor(False)] = 1
    assert x.tolist() == [3, 3]


def test_a_second_ellipsis_stands_for_nothing_and_is_refused_before_a_dimension():
    x = tensor()
    assert x[..., ...].shape == (2, 3, 4)
    assert x[:, ..., :, ..., 0].shape == (2, 3)  # neither of them stands for a dimension
    with pytest.raises(IndexError, match="more than one ellipsis"):
        x[..., ..., 0]


def test_values_may_have_ones_in_front():
    values = polyad.arange(3.0).reshape(1, 1, 3).requires_grad_()
    x = polyad.zeros(5, requires_grad=True)
    for index in (slice(0, 3), [0, 2, 4], polyad.tensor([True, False, True, True, False])):
        y = x * 1
        y[index] = values
        (slope,) = polyad.autograd.grad(y.sum(), values)
        assert slope.shape == (1, 1, 3)
        assert slope.sum().item() == 3


def test_one_value_is_converted_where_a_mask_holds():
    x = polyad.zeros(3, dtype=polyad.int64)
    x[polyad.tensor([True, False, True])] = polyad.tensor([2.7])
    assert x.tolist() == [2, 0, 2]
    with pytest.raises(RuntimeError, match="cannot hold"):
        x[polyad.tensor([0])] = polyad.tensor([2.7])


def test_parts_of_an_expanded_tensor_can_be_written():
    x = polyad.zeros(2, 1).expand(2, 3)
    x[:, 0] = polyad.tensor([1.0, 2.0])
    x[:, 1] += 1
    assert x.tolist() == [[2, 2, 2], [3, 3, 3]]
    with pytest.raises(RuntimeError, match="one place in memory"):
        x[0] = polyad.ones(3)


def test_adding_at_repeated_positions_reads_once():
    x = polyad.zeros(3)
    x[[0, 0, 1]] += 1
    assert x.tolist() == [1, 1, 0]
    x.index_put_((polyad.tensor([0, 0, 1]),), polyad.tensor(1.0), accumulate=True)
    assert x.tolist() == [3, 2, 0]


def test_elements_cannot_be_deleted():
    x = polyad.zeros(3)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]


def test_reversed_is_a_copy_from_the_end():
    x = polyad.tensor([[1, 2], [3, 4]])
    assert reversed(x).tolist() == [[3, 4], [1, 2]]
    reversed(x).zero_()
    assert x.tolist() == [[1, 2], [3, 4]]


def test_what_no_tensor_holds():
    for kind in (RuntimeError, TypeError):
        with pytest.raises(kind, match="neither a number nor a tensor"):
            assert "a" in polyad.zeros(3)


def test_what_a_dtype_cannot_hold_is_not_put_out_of_place_either():
    index = (polyad.tensor([0]),)
    for target, values in (
        (polyad.zeros(2), polyad.tensor([1j])),
        (polyad.zeros(2, dtype=polyad.int64), polyad.ones(1)),
    ):
        with pytest.raises(DTypeError, match="cannot hold"):
            target.index_put(index, values)
    with pytest.raises(ShapeError, match="cannot be broadcast"):
        polyad.zeros(2)[[True, False]] = polyad.ones(2, 2)


def test_a_row_that_is_written_in_place_and_put_back() -> None:
    x = polyad.zeros(3, 4)
    version = x._version
    x[1] += 2.0
    x[-1] += x[1]
    assert x.tolist() == [[0.0] * 4, [2.0] * 4, [2.0] * 4]
    assert x._version == version + 4
    vector = polyad.arange(3.0)
    vector[2] += 5
    vector[1] = vector[2]
    assert vector.tolist() == [0.0, 7.0, 7.0]
    view = polyad.arange(12.0).reshape(3, 4)[:, 1:]
    view[1] *= 10
    view[0] = view[1]
    assert view.tolist() == [[50.0, 60.0, 70.0], [50.0, 60.0, 70.0], [9.0, 10.0, 11.0]]


def test_a_row_that_is_put_back_is_written_as_any_other() -> None:
    whole = polyad.zeros(2, 1).expand(2, 3)
    with pytest.raises(RuntimeError, match="expanded"):
        whole[0] += whole[0]
    with pytest.raises(RuntimeError, match="expanded"):
        whole[0] = whole[1]
    with pytest.raises(IndexError):
        polyad.tensor(1.0)[0] = polyad.tensor(1.0)
    leaf = polyad.ones(2, 2, requires_grad=True)
    product = leaf * leaf
    result = leaf * 1
    result[0] += 1
    assert result[0]._node is not None
    (result.sum() + product.sum()).backward()
    assert leaf.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    held = polyad.ones(2, 2)
    product = (held * leaf).sum()
    held[0] = held[0]
    with pytest.raises(RuntimeError, match="in place"):
        product.backward()


@pytest.mark.parametrize("value", [7, polyad.tensor(7.0), polyad.tensor([7.0])])
def test_one_value_goes_to_all_places_of_an_expanded_tensor_that_are_named(value):
    x = polyad.arange(3.0).reshape(3, 1).expand(3, 4)
    x[polyad.tensor([2, 0]), polyad.tensor([1, 3])] = value
    assert x.tolist() == [[7.0] * 4, [1.0] * 4, [7.0] * 4]
    row = polyad.arange(3.0).expand(2, 3)
    row[row == 1] = value
    assert row.tolist() == [[0.0, 7.0, 2.0]] * 2
    leaf = polyad.zeros(3, requires_grad=True)
    y = (leaf * 1).unsqueeze(1).expand(3, 2)
    y[polyad.tensor([1])] = value
    y.sum().backward()
    assert leaf.grad.tolist() == [2.0, 0.0, 2.0]


@pytest.mark.parametrize("value", [1.0, polyad.ones(2)])
def test_a_write_to_a_row_is_noticed_by_backward(value):
    x = polyad.zeros(3, 2)
    weight = polyad.ones(3, 2, requires_grad=True)
    result = (weight * x).sum()
    x[1] = value
    with pytest.raises(RuntimeError, match=r"fill_|copy_"):
        result.backward()


def test_a_row_of_the_same_memory_or_of_an_expanded_tensor_is_written_as_copy_does():
    x = polyad.arange(4.0)
    with pytest.raises(RuntimeError, match="copy_"):
        x[1:] = x[:-1]
    with pytest.raises(RuntimeError, match="copy_"):
        polyad.zeros(1, 2).expand(3, 2)[:, :] = polyad.ones(3, 2)
    with pytest.raises(RuntimeError, match="out of the range"):
        x[0] = 1e300
    x[-1:] = x[:1]
    assert x.tolist() == [0.0, 1.0, 2.0, 0.0]
