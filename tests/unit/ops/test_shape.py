"""Views and copies: what shares memory, and with which layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import polyad

x = polyad.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "take",
    [
        lambda x: x.view(4, 6),
        lambda x: x.view(-1),
        lambda x: x.reshape(6, 4),
        lambda x: x.flatten(1),
        lambda x: x.unflatten(2, (2, 2)),
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.transpose(0, 2),
        lambda x: x.permute(2, 0, 1),
        lambda x: x.movedim(0, -1),
        lambda x: x.swapaxes(0, 1),
        lambda x: x.unsqueeze(1).squeeze(1),
        lambda x: x.squeeze(),
        lambda x: x.expand(2, 2, 3, 4),
        lambda x: x.select(1, 2),
        lambda x: x.narrow(2, 1, 2),
        lambda x: x.unbind(1)[1],
        lambda x: x.split(2, 2)[1],
        lambda x: x.chunk(2)[1],
        lambda x: x.tensor_split((1,), 1)[1],
        lambda x: x.diagonal(0, 1, 2),
        lambda x: x.unfold(2, 2, 1),
        lambda x: x.as_strided((3,), (5,), 1),
        lambda x: x[1, ..., None],
        lambda x: x.detach(),
        lambda x: x.view(polyad.int32),
        lambda x: x.view_as(x),
    ],
)
def test_views_share_memory(take):
    base = x.clone()
    seen = take(base)
    assert seen._storage is base._storage
    base.fill_(0)
    assert not seen.sum().item()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.transpose(0, 1).reshape(-1),
        lambda x: x.T.flatten(),
        lambda x: x.T.contiguous(),
        lambda x: x.flip(0),
        lambda x: x.roll(1),
        lambda x: x.repeat(1, 1, 1),
        lambda x: x.tile((1,)),
        lambda x: x.tril(),
        lambda x: polyad.cat([x]),
        lambda x: polyad.stack([x]),
        lambda x: polyad.diag(x[0]),
        lambda x: x[[0]],
        lambda x: x.clone(),
    ],
)
def test_copies_do_not(make):
    base = x.clone()
    made = make(base)
    before = made.sum().item()
    base.fill_(7)
    assert made.sum().item() == before


def test_what_changes_nothing_is_the_tensor_itself():
    for same in (
        x.contiguous(),
        x.to(polyad.float32),
        x.float(),
        x.cpu(),
        x.type_as(x),
        x.flatten(1, 1),
    ):
        assert same is x


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_view_is_numpys_reshape_without_copy(shape, random):
    """A view exists exactly where NumPy can reshape without copying."""
    values = np.arange(int(np.prod(shape))).reshape(shape)
    order = list(range(len(shape)))
    random.shuffle(order)
    wanted, rest = [], values.size
    while rest > 1:
        factor = random.choice([n for n in range(2, rest + 1) if rest % n == 0])
        wanted.append(factor)
        rest //= factor
    seen, permuted = values.transpose(order), polyad.tensor(values).permute(order)
    try:
        expected = seen.reshape(wanted, copy=False)
    except ValueError:
        with pytest.raises(RuntimeError, match="without copying"):
            permuted.view(wanted)
    else:
        np.testing.assert_array_equal(permuted.view(wanted).numpy(), expected)
    np.testing.assert_array_equal(permuted.reshape(wanted).numpy(), seen.reshape(wanted))


def test_view_of_another_dtype():
    one = polyad.tensor([[1.0, 2.0]])
    bits = one.view(polyad.int32)
    assert bits.tolist() == [[0x3F800000, 0x40000000]]
    bits[0, 0] = 0
    assert one.tolist() == [[0.0, 2.0]]
    assert one._version == 1
    halves = one.view(polyad.int16)
    assert halves.shape == (1, 4)
    assert halves.view(polyad.float32).tolist() == one.tolist()
    assert one[:, 1:].view(polyad.int16).tolist() == [[0, 0x4000]]
    assert one.bfloat16().view(polyad.int16).tolist() == [[0, 0x4000]]
    with pytest.raises(RuntimeError, match="the last dimension must be there and have stride 1"):
        polyad.zeros(2, 4).t().view(polyad.int16)
    with pytest.raises(RuntimeError, match="multiples of 2"):
        polyad.zeros(2, 3, dtype=polyad.int16).view(polyad.int32)


def test_transposes_as_properties():
    z = polyad.tensor([[1 + 2j, 3 - 1j]])
    assert z.H.tolist() == [[1 - 2j], [3 + 1j]]
    assert z.mH.shape == z.mT.shape == z.T.shape == (2, 1)
    with pytest.raises(RuntimeError, match="mT: fewer than two dimensions"):
        _ = polyad.zeros(3).mT
    with pytest.raises(RuntimeError, match="H: it has 3 dimensions"):
        _ = x.H


def test_several_views_share_one_node():
    w = polyad.ones(4, 3, requires_grad=True)
    rows = w.unbind()
    assert rows[0].grad_fn is rows[3].grad_fn
    assert [row.output_nr for row in rows] == [0, 1, 2, 3]
    (rows[1] * 2 + rows[3]).sum().backward()
    assert w.grad.tolist() == [[0, 0, 0], [2, 2, 2], [0, 0, 0], [1, 1, 1]]


def test_layout_in_place():
    y = x.clone()
    assert y.transpose_(0, 1) is y
    assert y.shape == (3, 2, 4)
    assert y.stride() == (4, 12, 1)
    assert y.squeeze_().shape == (3, 2, 4)


def test_zero_size_views():
    empty = polyad.zeros(0, 3)
    assert empty.t().shape == (3, 0)
    assert empty[:, 1:].unsqueeze(0).shape == (1, 0, 2)
    assert polyad.zeros(3)[3:].shape == (0,)
    assert polyad.zeros(2, 3)[2:, 1].shape == (0,)
    assert [part.shape for part in empty.split(2)] == [(0, 3)]
    assert polyad.zeros(3).unfold(0, 3, 1).shape == (1, 3)


def test_meshgrid_and_names_of_indexing():
    with pytest.raises(ValueError, match="meshgrid: indexing is 'yx'"):
        polyad.meshgrid(polyad.zeros(2), indexing="yx")


def test_new_tensors_follow_their_model():
    model = polyad.zeros(2, dtype=polyad.float64)
    for made in (
        model.new_zeros(3),
        model.new_ones(3),
        model.new_full((3,), 2),
        model.new_empty(3),
        model.new_tensor([1, 2, 3]),
    ):
        assert made.dtype is polyad.float64
        assert made.shape == (3,)


def test_empty_strided():
    made = polyad.empty_strided((2, 3), (1, 4))
    assert made.stride() == (1, 4)
    made.fill_(1)
    assert made.sum().item() == 6


def test_as_tensor_shares_where_it_can():
    array = np.zeros(3, np.float32)
    shared = polyad.as_tensor(array)
    array[0] = 5
    assert shared.tolist() == [5, 0, 0]
    assert polyad.as_tensor(shared) is shared
    assert polyad.asarray(array, copy=True).tolist() == [5, 0, 0]
    with pytest.raises(ValueError, match="copy is False"):
        polyad.asarray([1], copy=False)
    with pytest.raises(ValueError, match="needs a copy"):
        polyad.asarray(array, dtype=polyad.float64, copy=False)


def test_frombuffer():
    data = bytearray(np.arange(4, dtype=np.int32).tobytes())
    seen = polyad.frombuffer(data, dtype=polyad.int32, offset=4, count=2)
    seen[0] = 9
    assert np.frombuffer(data, np.int32).tolist() == [0, 9, 2, 3]
    for arguments, message in (
        ({"count": 5}, "do not hold 5 elements"),
        ({"offset": 3}, "whole number of elements"),
        ({"offset": 16}, "do not hold"),
    ):
        with pytest.raises(ValueError, match=message):
            polyad.frombuffer(data, dtype=polyad.int32, **arguments)
    with pytest.raises(ValueError, match="do not hold"):
        polyad.frombuffer(bytearray(), dtype=polyad.int32)
    with pytest.warns(UserWarning, match="read-only"):
        of_bytes = polyad.frombuffer(b"\x01\x02", dtype=polyad.uint8)
    assert of_bytes.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        of_bytes[0] = 3
    with pytest.raises(TypeError, match="int has no buffer"):
        polyad.frombuffer(4, dtype=polyad.int32)


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.flip(0),
        lambda x: polyad.flip(x, (0, 2)),
        lambda x: polyad.roll(x, 1, 0),
        lambda x: polyad.roll(x, 0, 2),
    ],
)
@pytest.mark.parametrize("shape", [(1, 4, 1), (0, 4, 1), (1, 0, 0)])
def test_flip_and_roll_copy_where_they_move_nothing(copy, shape):
    x = polyad.ones(shape, requires_grad=True)
    y = copy(x)
    with polyad.no_grad():
        y.zero_()
    assert y is not x
    assert x.is_leaf
    assert (x == 1).all()


@pytest.mark.parametrize("form", ["t_", "squeeze_", "unsqueeze_", "swapaxes_"])
def test_a_new_layout_keeps_history_under_no_grad(form):
    x = polyad.arange(3.0).reshape(1, 3).requires_grad_()
    y = x * 2
    with polyad.no_grad():
        getattr(y, form)(*{"unsqueeze_": (0,), "swapaxes_": (0, 1)}.get(form, ()))
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0.0, 8.0, 16.0]])


def test_frombuffer_of_bytes_reads_and_cannot_be_written():
    with pytest.warns(UserWarning, match="read-only"):
        seen = polyad.frombuffer(b"\x01\x00\x02\x00", dtype=polyad.int16)
    assert seen.tolist() == [1, 2]
    assert (seen + 1).tolist() == [2, 3]
    with pytest.raises(ValueError, match="read-only"):
        seen.add_(1)


def test_from_file(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(16)))
    private = polyad.from_file(str(path), size=4, dtype=polyad.int32)
    assert private[0].item() == 0x03020100
    private.zero_()
    assert path.read_bytes() == bytes(range(16))
    polyad.from_file(path, shared=True, size=2, dtype=polyad.int32).fill_(1)
    assert path.read_bytes() == b"\x01\x00\x00\x00" * 2 + bytes(range(8, 16))
    assert polyad.from_file(tmp_path / "new", True, 5).tolist() == [0.0] * 5
    assert (tmp_path / "new").stat().st_size == 20
    assert polyad.from_file(path).shape == (0,)
    for arguments in ({"size": 5}, {"filename": tmp_path / "none", "size": 1}):
        with pytest.raises(RuntimeError, match="from_file"):
            polyad.from_file(**{"filename": path, "dtype": polyad.int32, **arguments})


def test_joining_nothing_but_skipped_tensors():
    assert polyad.cat([polyad.zeros(0), polyad.zeros(0)], dim=1).shape == (0,)
