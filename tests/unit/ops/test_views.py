"""Views of another dtype, memory formats, storages: what shares memory, and what a write through an alias does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import polyad
from polyad.base.memory_formats import dense_strides_like
from polyad.base.shapes_and_strides import contiguous_strides, is_dense
from polyad.errors import AutogradError

C128 = polyad.complex128


def numeric_gradient(function, values, h=1e-6):
    gradient = np.zeros_like(values)
    for place in np.ndindex(values.shape):
        ahead, behind = values.copy(), values.copy()
        ahead[place] += h
        behind[place] -= h
        gradient[place] = (function(ahead) - function(behind)) / (2 * h)
    return gradient


def check(program, shape=(3, 2)):
    """The gradient and its gradient of ``program(w)``, a real scalar of a real w, against finite differences."""
    values = np.random.default_rng(0).uniform(-1, 1, shape)
    w = polyad.tensor(values, requires_grad=True)
    (first,) = polyad.autograd.grad(program(w), w, create_graph=True)

    def value(changed):
        return program(polyad.tensor(changed, requires_grad=True)).item()

    # Polynomials of low degree: h**2 times a third derivative and the value's rounding over h are below 1e-8.
    np.testing.assert_allclose(first.detach().numpy(), numeric_gradient(value, values), atol=1e-7)
    weights = polyad.arange(1.0, first.numel() + 1, dtype=polyad.float64).reshape(first.shape)
    along = (first * weights).sum()
    if along.requires_grad:
        (second,) = polyad.autograd.grad(along, w)

        def slope(changed):
            x = polyad.tensor(changed, requires_grad=True)
            return float((polyad.autograd.grad(program(x), x)[0] * weights).sum())

        np.testing.assert_allclose(second.numpy(), numeric_gradient(slope, values), atol=1e-6)


def norm(z):
    return (z.real * z.real + 3 * z.imag * z.imag * z.imag).sum()


# ------------------------------------------------------------------------------------------------- real and imaginary


def test_parts_share_the_memory_of_their_number():
    z = polyad.tensor([[1 + 2j, 3 + 4j]])
    assert z.real._base is z
    assert z.imag._base is z
    assert z.real.stride() == (4, 2)
    assert z.imag.storage_offset() == 1
    assert z.real.data_ptr() == z.data_ptr()
    z.real.fill_(7)
    z.imag[0, 1] = -1
    assert z.tolist() == [[7 + 2j, 7 - 1j]]
    pairs = polyad.view_as_real(z)
    pairs[0, 0] = polyad.tensor([5.0, 6.0])
    assert z[0, 0].item() == 5 + 6j
    assert polyad.view_as_complex(pairs).data_ptr() == z.data_ptr()
    assert z._version == pairs._version == 3
    real = polyad.tensor([1.0])
    assert real.real is real
    assert polyad.real(real) is real


def test_parts_can_be_assigned():
    z = polyad.zeros(2, dtype=polyad.complex64)
    z.real = polyad.tensor([1.0, 2.0])
    z.imag = 3
    assert z.tolist() == [1 + 3j, 2 + 3j]
    x = polyad.zeros(2)
    x.real = 4
    assert x.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="imag: a real tensor"):
        x.imag = 1
    with pytest.raises(RuntimeError, match="leaf that requires a gradient"):
        polyad.zeros(2, requires_grad=True).real = 1


def test_write_through_a_part_reaches_the_history_of_the_number():
    def program(w):
        z = polyad.complex(w, w * w)
        z.real.mul_(w[0, 0])
        z.imag[1] = w[0] * w[1]
        return norm(z)

    check(program)


def test_write_into_the_number_reaches_its_parts():
    def program(w):
        z = polyad.complex(w, w * w)
        real, imag, pairs = z.real, z.imag, polyad.view_as_real(z)
        z.mul_(polyad.complex(w, w))
        return (real * imag).sum() + (pairs[1:] ** 3).sum()

    check(program)


def test_complex_view_of_a_real_base():
    def program(w):
        x = (w * 2).view(3, 2)
        z = polyad.view_as_complex(x)
        z.mul_(1j)
        x[:, 0].mul_(w[:, 1])
        z[1:] = polyad.complex(w[1:, 0], w[1:, 1]) ** 2
        return norm(z) + (x * w).sum()

    check(program)


def test_views_of_views_of_both_kinds():
    def program(w):
        z = polyad.complex(w, w + 1)
        column = z.t()[1]
        part = column.imag[1:]
        part.mul_(w[0, 1])
        again = polyad.view_as_complex(polyad.view_as_real(z)[1:])
        again.mul_(2)
        return norm(z) + (part**2).sum() + norm(column)

    check(program)


def test_parts_of_a_leaf_are_not_written():
    z = polyad.zeros(2, dtype=C128, requires_grad=True)
    with pytest.raises(AutogradError, match="a view of a leaf"):
        z.real.fill_(1)
    with polyad.no_grad():
        z.real.fill_(1)
    assert z.tolist() == [1, 1]


def test_a_part_written_after_it_was_saved_is_noticed():
    z = polyad.ones(2, dtype=C128, requires_grad=True) * 2
    y = (z * z).real.sum()
    z.imag.add_(1)
    with pytest.raises(AutogradError, match="changed in place"):
        y.backward()


def test_views_of_another_dtype_have_no_history():
    w = polyad.ones(2, 2, requires_grad=True) * 2
    for seen in (w.view(polyad.int32), w.view(polyad.float32), w.view(polyad.float64), w.view(polyad.complex64)):
        assert not seen.requires_grad
        assert seen._base is None
        assert seen.data_ptr() == w.data_ptr()
    w.view(polyad.int32).zero_()
    assert w.tolist() == [[0, 0], [0, 0]]
    assert w._version == 1


@pytest.mark.parametrize("dtype", [polyad.bfloat16, polyad.bool, polyad.complex128, polyad.int8, polyad.float64])
def test_every_memory_can_be_read_as_bytes_and_back(dtype):
    x = polyad.arange(8).reshape(2, 4).to(dtype)
    octets = x.view(polyad.uint8)
    assert octets.shape == (2, 4 * dtype.itemsize)
    assert octets.view(dtype).tolist() == x.tolist()
    assert x[1:].view(polyad.uint8).storage_offset() == 4 * dtype.itemsize


def test_gradients_of_parts_with_graphs_of_their_own():
    z = polyad.tensor([1 + 2j], dtype=C128, requires_grad=True)
    (g,) = polyad.autograd.grad((z.real * z.imag).sum(), z)
    assert g.tolist() == [2 + 1j]
    pairs = polyad.tensor([[1.0, 2.0]], dtype=polyad.float64, requires_grad=True)
    (g,) = polyad.autograd.grad((polyad.view_as_complex(pairs).abs() ** 2).sum(), pairs)
    np.testing.assert_allclose(g.numpy(), [[2.0, 4.0]], rtol=1e-15)


def test_parts_are_captured_and_replayed():
    def program(z, x):
        made = z * 2
        made.real.copy_(x)
        return made

    graph = polyad.jit.capture(program, polyad.ones(2, dtype=polyad.complex64), polyad.zeros(2))
    assert [node.name for node in graph] == ["mul", "real", "copy_"]
    assert graph(polyad.tensor([1j, 2j]), polyad.tensor([3.0, 4.0])).tolist() == [3 + 2j, 4 + 4j]


def test_conjugation_is_done_at_once():
    z = polyad.tensor([1 + 2j])
    w = z.conj()
    assert not w.is_conj()
    assert not w.imag.is_neg()
    assert w.resolve_conj() is not w
    assert w.resolve_conj().tolist() == w.tolist()
    assert z.resolve_conj() is z
    assert w.resolve_neg() is w
    assert w.data_ptr() != z.data_ptr()
    assert z.conj_physical_() is z
    assert z.tolist() == [1 - 2j]


# -------------------------------------------------------------------------------------------------------- no gradient


@pytest.mark.parametrize(
    "make",
    [lambda x: x.repeat(2), lambda x: x.tile(2), lambda x: polyad.ones(6, 3) @ x, lambda x: x.repeat_interleave(2)],
    ids=["repeat", "tile", "matmul", "repeat_interleave"],
)
def test_a_result_made_without_gradients_may_be_written_with_them(make):
    """It may be a view of what the function made, but nobody else has that."""
    w = polyad.arange(6.0, requires_grad=True)
    with polyad.no_grad():
        y = make(polyad.ones(3))
    (y.mul_(w) * w).sum().backward()
    assert w.grad is not None


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.t().reshape(6),
        lambda x: x.t().reshape_as(polyad.ones(6)),
        lambda x: x.t().flatten(),
        lambda x: x.t().contiguous(),
        lambda x: x.expand(2, 2, 3).reshape(12),
        lambda x: x.repeat(2, 1),
        lambda x: x.tile(2),
        lambda x: polyad.kron(x, x),
    ],
    ids=["reshape", "reshape_as", "flatten", "contiguous", "expand", "repeat", "tile", "kron"],
)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_copy_is_no_view(make, tracked):
    """As in PyTorch, whose ``_base`` and ``_is_view()`` libraries ask."""
    start = polyad.arange(6.0).reshape(2, 3)
    assert start._is_view()
    x = start.clone().requires_grad_(tracked)
    assert not x._is_view()
    y = make(x)
    assert y._base is None
    assert not y._is_view()
    assert y.storage_offset() == 0
    part = y[..., :2]
    assert part._base is y
    y.mul_(2)
    assert polyad.equal(part, y[..., :2])
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    if tracked:
        (slope,) = polyad.autograd.grad(y.sum(), x)
        (expected,) = polyad.autograd.grad(2 * make(x).sum(), x)
        assert polyad.equal(slope, expected)


def test_a_view_taken_without_gradients_is_not_written_with_them():
    w = polyad.ones(3, requires_grad=True)
    y = polyad.ones(3) * 2
    with polyad.no_grad():
        part = y[1:]
    with pytest.raises(AutogradError, match="taken under no_grad"):
        part.mul_(w[1:])
    del y
    assert part.mul_(w[1:]).requires_grad


# ----------------------------------------------------------------------------------------------------- memory formats


def test_channels_last():
    x = polyad.arange(120.0).reshape(2, 3, 4, 5)
    y = x.contiguous(memory_format=polyad.channels_last)
    assert y.stride() == (60, 1, 15, 3)
    assert y.is_contiguous(memory_format=polyad.channels_last)
    assert not y.is_contiguous()
    assert y.tolist() == x.tolist()
    assert y.contiguous(memory_format=polyad.channels_last) is y
    assert y.clone().stride() == y.stride() == polyad.empty_like(y).stride() == y.double().stride()
    assert y.clone(memory_format=polyad.contiguous_format).stride() == x.stride()
    assert polyad.zeros_like(x, memory_format=polyad.channels_last).stride() == y.stride()
    assert x.to(polyad.float64, memory_format=polyad.channels_last).stride() == y.stride()
    assert polyad.empty(2, 3, 4, 5, 6, memory_format=polyad.channels_last_3d).stride() == (360, 1, 90, 18, 3)
    one = polyad.zeros(2, 1, 4, 5)
    assert one.is_contiguous()
    assert one.is_contiguous(memory_format=polyad.channels_last)
    assert repr(polyad.channels_last) == "polyad.channels_last"
    assert x.layout is polyad.strided
    with pytest.raises(RuntimeError, match="channels_last is for 4 dimensions, not 2"):
        polyad.zeros(2, 3).contiguous(memory_format=polyad.channels_last)
    with pytest.raises(NotImplementedError, match="layout 'sparse' for the shape"):
        polyad.zeros(2, layout="sparse")


@settings(max_examples=60)
@given(st.permutations(range(4)), st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_a_copy_of_a_dense_tensor_lies_as_it_does(order, shape):
    x = polyad.zeros(shape).permute(order)
    assert x.clone().stride() == x.stride()
    assert polyad.ones_like(x).stride() == x.stride()
    if is_dense(tuple(x.shape), x.stride()) and 0 not in x.shape and 1 not in x.shape:
        assert dense_strides_like(tuple(x.shape), x.stride()) == x.stride()


def test_a_copy_of_an_expanded_tensor_is_row_major():
    x = polyad.zeros(4, 1, 3).expand(4, 5, 3)
    assert x.clone().stride() == (15, 3, 1)
    assert x.to(polyad.float64).stride() == contiguous_strides((4, 5, 3))


def test_views_without_elements():
    x = polyad.arange(12).view(3, 4)
    assert x[3:].storage_offset() == 12
    assert x[3:].stride() == (4, 1)
    assert x[2:2, 1].storage_offset() == 9
    assert x[3:].data_ptr() == 0
    assert polyad.zeros(0, 3).stride() == (3, 1)
    assert (polyad.zeros(2, 0, 3) + 1).stride() == (3, 3, 1)


def test_one_number_fills_an_expanded_tensor():
    x = polyad.zeros(1, 3)
    wide = x.expand(2, 3)
    wide.fill_(2)
    wide[0] = 3
    assert x.tolist() == [[3, 3, 3]]
    with pytest.raises(RuntimeError, match="several elements of an expanded tensor"):
        wide.add_(1)


# ------------------------------------------------------------------------------------------------------------- storage


def test_storage_is_what_aliases_share():
    x = polyad.zeros(2, 3)
    storage = x.untyped_storage()
    assert storage == x[1].untyped_storage() == x.detach().untyped_storage() == x.view(polyad.int16).untyped_storage()
    assert storage == x.data.untyped_storage()
    assert storage != x.clone().untyped_storage()
    assert storage.nbytes() == len(storage) == storage.size() == 24
    assert storage.data_ptr() == x.data_ptr()
    with pytest.raises(NotImplementedError, match=r"Tensor\.resize_"):
        storage.resize_(4)


def test_set():
    x, y = polyad.zeros(3), polyad.arange(6.0)
    assert x.set_(y) is x
    assert x.data_ptr() == y.data_ptr()
    x.set_(y, 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.storage_offset() == 1
    x.set_(y.untyped_storage(), 2, (2,))
    assert x.tolist() == [2, 3]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="memory of int64"):
        x.set_(polyad.arange(3))
    with pytest.raises(RuntimeError, match="memory of int64"):
        x.set_(polyad.arange(3).storage())
    with pytest.raises(RuntimeError, match="requires a gradient"):
        polyad.zeros(2, requires_grad=True).set_(y)
    with pytest.raises(RuntimeError, match="reach element"):
        x.set_(y, 5, (2, 2))


def test_resize():
    x = polyad.arange(6)
    y = x.view(2, 3)
    y.resize_(2, 2)
    assert y.tolist() == [[0, 1], [2, 3]]
    assert y.untyped_storage() == x.untyped_storage()
    assert y.resize_(2, 5) is y
    assert y.view(-1)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    y.fill_(9)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert x.resize_as_(polyad.zeros(2, 2)).shape == (2, 2)
    with pytest.raises(RuntimeError, match="requires a gradient cannot be resized"):
        polyad.zeros(2, requires_grad=True).resize_(3)
    with pytest.raises(RuntimeError, match="negative"):
        polyad.zeros(2).resize_(-1)


def test_as_strided_in_place_moves_the_tensor_itself():
    x = polyad.arange(6)
    assert x.as_strided_((2, 2), (1, 2), 1) is x
    assert x.tolist() == [[1, 3], [2, 4]]
    assert x.storage_offset() == 1


def test_subclasses_keep_memory_and_history():
    class Measured(polyad.Tensor):
        pass

    w = polyad.ones(2, requires_grad=True)
    y = w.as_subclass(Measured)
    assert isinstance(y, Measured)
    assert y.data_ptr() == w.data_ptr()
    (y * 3).sum().backward()
    assert w.grad.tolist() == [3, 3]
    with pytest.raises(TypeError, match="no subclass of Tensor"):
        w.as_subclass(int)


def test_fill_diagonal():
    x = polyad.zeros(7, 3).fill_diagonal_(1, wrap=True)
    expected = np.zeros((7, 3))
    np.fill_diagonal(expected, 1, wrap=True)
    assert x.tolist() == expected.tolist()
    cube = polyad.zeros(3, 3, 3).fill_diagonal_(2)
    assert cube.sum().item() == 6
    assert cube[1, 1, 1].item() == 2
    w = polyad.ones(2, 2, requires_grad=True)
    (w * 1).fill_diagonal_(0).sum().backward()
    assert w.grad.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(RuntimeError, match="no main diagonal"):
        polyad.zeros(2, 3, 4).fill_diagonal_(1)


def test_scattered_copies_keep_the_order_of_memory():
    x = polyad.zeros(3, 2).t()
    assert x.select_scatter(polyad.ones(3), 0, 1).stride() == x.stride()
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_broadcast_shapes():
    assert polyad.broadcast_shapes((2, 1), 3) == (2, 3)
    assert isinstance(polyad.broadcast_shapes(), polyad.Size)
    with pytest.raises(RuntimeError, match="do not agree"):
        polyad.broadcast_shapes((2,), (3,))
    with pytest.raises(ValueError, match="negative"):
        polyad.broadcast_shapes((-1,))


def test_transposes_of_numbers():
    x = polyad.tensor(1.0)
    for seen in (x.T, x.mT, x.H, x.mH, x.adjoint()):
        assert seen.shape == ()
        assert seen.data_ptr() == x.data_ptr()
    assert polyad.zeros(2, 3)[..., ...].shape == (2, 3)


@pytest.mark.parametrize(("size", "strides"), [((5, 5), (0, 1)), ((2, 2), (1, 2)), ((3,), (1,))])
def test_as_strided_of_an_expanded_tensor_shares_its_gradient(size, strides):
    w = polyad.arange(5.0, dtype=polyad.float64).requires_grad_()

    def window(w):
        return w.expand(4, 5).as_strided(size, strides, 0) ** 3

    assert polyad.autograd.gradcheck(window, [w], check_forward_ad=True)
    assert polyad.autograd.gradgradcheck(window, [w])


def test_a_new_dimension_of_one_element_lies_as_that_of_unsqueeze():
    x = polyad.zeros(5)
    assert x.expand(1, 1, 5).stride() == x[None, None].stride() == (5, 5, 1)
    assert x.expand(1, 2, 5).stride() == (0, 0, 1)
    assert polyad.zeros(()).expand(1, 1).stride() == (0, 0)


def test_copies_of_several_views_are_written_to_out():
    out = polyad.zeros(2), polyad.zeros(1)
    polyad.split_copy(polyad.arange(3.0), 2, out=out)
    assert [one.tolist() for one in out] == [[0, 1], [2]]
