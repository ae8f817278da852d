"""Views and in-place writes: what shares memory shares history."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polyad
from polyad.errors import AutogradError


def leaf(*shape, seed=0):
    values = np.random.default_rng(seed).uniform(-1, 1, shape)
    return polyad.tensor(values, requires_grad=True)


def numeric_gradient(function, values, h=1e-6):
    """Central differences of a scalar function of a NumPy array."""
    gradient = np.zeros_like(values)
    for place in np.ndindex(values.shape):
        ahead, behind = values.copy(), values.copy()
        ahead[place] += h
        behind[place] -= h
        gradient[place] = (function(ahead) - function(behind)) / (2 * h)
    return gradient


def check(program, *shape):
    """The first and second gradients of ``program(w)``, a scalar, against finite differences."""
    w = leaf(*shape)
    (first,) = polyad.autograd.grad(program(w), w, create_graph=True)
    values = w.detach().numpy().copy()

    def value(changed):
        return program(polyad.tensor(changed, requires_grad=True)).item()

    # Central differences of polynomials of low degree: h**2 and the rounding of the value over h, both below 1e-8.
    np.testing.assert_allclose(first.detach().numpy(), numeric_gradient(value, values), atol=1e-7)
    weights = polyad.arange(1.0, first.numel() + 1, dtype=polyad.float64).reshape(first.shape)
    along = (first * weights).sum()
    if not along.requires_grad:
        return
    (second,) = polyad.autograd.grad(along, w, allow_unused=True, materialize_grads=True)

    def slope(changed):
        x = polyad.tensor(changed, requires_grad=True)
        (gradient,) = polyad.autograd.grad(program(x), x)
        return float((gradient * weights).sum())

    np.testing.assert_allclose(second.numpy(), numeric_gradient(slope, values), atol=1e-6)


def test_write_into_a_view_reaches_the_base():
    def program(w):
        y = w * 2
        y[1].mul_(3)
        return (y * y).sum()

    check(program, 3, 4)


def test_write_into_the_base_reaches_its_views():
    def program(w):
        y = w * 2
        row, column = y[1], y[:, 1]
        y.mul_(w)
        return (row * column.sum()).sum() + column.pow(2).sum()

    check(program, 3, 4)


def test_views_of_views():
    def program(w):
        y = w * 2
        part = y[1:]
        inner = part.t()[1:3]
        inner.select(0, 1).mul_(w[0, 0])
        part.mul_(2)
        return (y * y).sum() + (inner * inner).sum()

    check(program, 3, 4)


def test_base_whose_memory_is_not_row_major():
    def program(w):
        y = w.t() * 2  # dense, but in the order of w's memory
        assert not y.is_contiguous()
        y[1].mul_(w[:, 0])
        y.diagonal().copy_(w[:, 1])
        return (y * y).sum()

    check(program, 3, 4)


def test_window_across_dimensions_of_a_transposed_base():
    def program(w):
        y = w.t() * 2
        flat = y.t().view(-1)  # one dimension of the view crosses two of the base
        flat[2:9].mul_(w[0, 1])
        return (y * y).sum()

    check(program, 3, 4)


def test_base_with_gaps():
    def program(w):
        memory = polyad.zeros(3, 8, dtype=polyad.float64)
        y = memory[:, ::2].detach()  # begins its own history, in memory with gaps
        y[1:].copy_(w[1:])
        return (y * y * w).sum()

    check(program, 3, 4)


def test_overlapping_windows_of_a_written_base():
    def program(w):
        y = w * 2
        windows = y.unfold(1, 3, 1)
        y.mul_(w)
        return (windows * windows).sum()

    check(program, 2, 5)


def test_expanded_view_of_a_written_base():
    def program(w):
        y = w * 2
        wide = y.unsqueeze(0).expand(3, -1, -1)
        y.mul_(w)
        return (wide * wide).sum()

    check(program, 2, 3)


def test_write_into_one_of_several_views():
    def program(w):
        y = w * 2
        first, second = y.chunk(2, 1)
        a, b, c = y.unbind()
        first.mul_(w[:, :2])
        b.mul_(3)
        return (first * second).sum() + (a * c).sum() + (y * y).sum()

    check(program, 3, 4)


def test_constants_written_cut_the_history_there_only():
    def program(w):
        y = w * 2
        y[0].zero_()
        y[:, 1].fill_(5)
        return (y * y * w).sum()

    check(program, 3, 4)


def test_twice_the_same_place():
    def program(w):
        y = w * 2
        v = y[0]
        v.fill_(1)
        v.mul_(w[1])
        v[1:].copy_(w[2, 1:])
        return (y * y).sum()

    check(program, 3, 4)


def test_history_begins_with_a_write():
    def program(w):
        y = polyad.zeros(3, 4, dtype=polyad.float64)
        early = y[0]
        y[:, 1] = w[:, 0]
        y[polyad.tensor([0, 2])] = w[:2] * 2
        assert early.requires_grad
        return (y * y).sum() + (early * w[1]).sum()

    check(program, 3, 4)


def test_indexed_writes():
    def program(w):
        y = w * 2
        y[y > 0.3] = 0.25
        y[polyad.tensor([2, 0]), polyad.tensor([1, 3])] = w[0, :2]
        y[:, [0, 1]] *= w[:, 2:]
        return (y * y).sum()

    check(program, 3, 4)


def test_a_written_operand_that_the_op_needs():
    # mul_ needs what self was before the write for the other operand's gradient.
    x = polyad.full((3,), 3.0)
    w = polyad.ones(3, requires_grad=True)
    x.mul_(w)
    x.sum().backward()
    assert w.grad.tolist() == [3.0, 3.0, 3.0]


def test_saved_values_that_were_overwritten_are_noticed():
    w = leaf(3)
    y = w * 2
    z = y * y
    y[0].fill_(1)
    with pytest.raises(
        AutogradError,
        match=r"MulBackward0 needs was changed in place\n(.*\n)*.*changed +by fill_ \(test_autograd_views",
    ):
        z.sum().backward()


def test_detached_alias_shares_memory_and_version_not_history():
    w = leaf(3)
    y = w.exp()
    d = y.detach()
    d[0] = 7.0
    assert y[0].item() == 7.0
    assert not d.requires_grad
    with pytest.raises(AutogradError, match="changed in place"):
        y.sum().backward()


def test_view_of_a_detached_alias_has_its_own_base():
    w = leaf(3)
    y = w * 2
    d = y.detach()
    v = d[1:]
    v.mul_(w[1:].detach())
    assert v._base is d
    assert not y._base


@pytest.mark.parametrize("take", [lambda w: w, lambda w: w[0], lambda w: w.t(), lambda w: w.view(-1)[2:]])
def test_leaf_and_its_views_refuse(take):
    w = leaf(3, 4)
    before = w.detach().numpy().copy()
    target = take(w)
    for write in (
        lambda: target.mul_(2),
        lambda: target.zero_(),
        lambda: target.copy_(polyad.zeros(1, dtype=polyad.float64)),
        lambda: target.__setitem__(..., 1.0),
        lambda: target.masked_fill_(target > 0, 1.0),
    ):
        with pytest.raises(RuntimeError, match="leaf that requires a gradient cannot be changed in place"):
            write()
    np.testing.assert_array_equal(w.detach().numpy(), before)
    with polyad.no_grad():
        target.zero_()
    assert target.sum().item() == 0
    assert w.requires_grad


def test_view_taken_under_no_grad_refuses_a_recorded_write():
    w = leaf(3)
    y = w * 2
    with polyad.no_grad():
        hidden = y[0]
    before = y.detach().numpy().copy()
    with pytest.raises(AutogradError, match=r"taken under no_grad.*\n.*self .*\n.*base"):
        hidden.zero_()
    z = polyad.zeros(3, dtype=polyad.float64)
    with polyad.no_grad():
        hidden = z[:2]
    with pytest.raises(AutogradError, match="taken under no_grad"):
        hidden.mul_(w[:2])
    np.testing.assert_array_equal(y.detach().numpy(), before)
    with polyad.no_grad():
        hidden.fill_(1)
    assert z.tolist() == [1, 1, 0]


def test_expanded_targets_refuse():
    x = polyad.zeros(1, 3)
    with pytest.raises(RuntimeError, match=r"add_: several elements .*\n.*self +float32 \(2, 3\)"):
        x.expand(2, 3).add_(1)
    x.expand(2, 3)[0].add_(1)  # one row of it is no overlap
    assert x.tolist() == [[1, 1, 1]]


def test_recorded_write_into_an_overlapping_base_refuses():
    w = leaf(2)
    base = polyad.zeros(1, dtype=polyad.float64).expand(3).detach()
    with pytest.raises(RuntimeError, match="several elements in one place"):
        base[0:1].mul_(w[:1])


@pytest.mark.parametrize(
    "view",
    [lambda y: y.unfold(0, 3, 1), lambda y: y.unfold(0, 3, 2), lambda y: y.as_strided((3, 3), (2, 1))],
    ids=["unfold by 1", "unfold by 2", "as_strided"],
)
@pytest.mark.parametrize(
    "change", [lambda v: v.tanh_(), lambda v: v.copy_(v.detach().clone().requires_grad_())], ids=["tanh_", "copy_"]
)
def test_recorded_write_to_windows_that_overlap_refuses(view, change):
    y = leaf(7) * 2
    with pytest.raises(RuntimeError, match=r"the view has several elements in one place .*\n.*self .*\n.*base "):
        change(view(y))


def test_recorded_write_to_windows_that_interleave():
    def program(w):
        y = w * 2
        y.as_strided((3, 2), (2, 3)).mul_(w[:2])  # places 0, 3, 2, 5, 4, 7
        return (y * y).sum()

    check(program, 9)


def test_constants_overwrite_windows_that_overlap():
    w = leaf(5)
    y = w * 2
    y.unfold(0, 3, 1)[:2].fill_(1.0)
    y.sum().backward()
    assert w.grad.tolist() == [0, 0, 0, 0, 2]


def test_copy_gets_a_node_of_its_own():
    w = leaf(3)
    x = polyad.zeros(3, dtype=polyad.float64)
    x.copy_(w)
    assert not x.is_leaf
    assert x.grad_fn.name() == "CopyBackwards"
    x.add_(1)  # x is no leaf, though w is
    x.sum().backward()
    assert w.grad.tolist() == [1, 1, 1]


def test_retained_gradient_moves_with_the_tensor():
    w = leaf(3)
    y = w * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1, 1]


def test_inplace_layout():
    w = leaf(2, 3)
    y = w * 2
    y.t_().unsqueeze_(0).squeeze_(0)
    assert y.shape == (3, 2)
    weights = polyad.arange(6.0, dtype=polyad.float64).reshape(3, 2)
    (y * weights).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * weights.numpy().T)
    with pytest.raises(RuntimeError, match="leaf"):
        w.t_()


def test_inplace_layout_spoils_what_was_saved():
    w = leaf(2, 3)
    y = w * 2
    z = y * y
    y.t_()
    with pytest.raises(AutogradError, match="changed in place"):
        z.sum().backward()


def test_dead_views_are_forgotten():
    base = polyad.zeros(1000)
    for position in range(1000):
        base[position]
    assert len(base._storage.views) < 100
    assert not base._storage.live_views()


def test_views_that_threads_take_at_once_are_all_remembered():
    base = polyad.zeros(64)

    def take(start):
        return [[base[start + n % 8], base[n % 64]][0] for n in range(400)]  # every second one dies at once

    with ThreadPoolExecutor(8) as pool:
        taken = [view for views in pool.map(take, range(0, 64, 8)) for view in views]
    remembered = {id(view) for view in base._storage.live_views()}
    assert {id(view) for view in taken} == remembered


def test_views_die_with_their_last_reference():
    y = leaf(3) * 2
    view = y[1:]
    gone = weakref.ref(view)
    gc.disable()
    try:
        del view
        assert gone() is None
        y.mul_(2)
    finally:
        gc.enable()


def test_view_keeps_memory_alive():
    view = polyad.ones(3)[1:]
    gc.collect()
    assert view.tolist() == [1, 1]


def test_as_strided_gradient_outside_of_the_input():
    def program(w):
        y = w * 2
        part = y[1:]
        seen = part.as_strided((2, 4), (4, 1), 0)  # begins before the part that it was taken from
        return (seen * seen).sum()

    w = leaf(3, 4)
    (got,) = polyad.autograd.grad(program(w), w)
    expected = 8 * w.detach().numpy()
    expected[[0, 2]] = 0  # only what lies in the input has a way back, as in PyTorch
    np.testing.assert_allclose(got.numpy(), expected)


def test_writes_across_dtypes():
    w = leaf(3)
    x = polyad.zeros(3, dtype=polyad.float32)
    x[1:] = w[1:] * 2
    x.sum().backward()
    assert w.grad.dtype is polyad.float64
    assert w.grad.tolist() == [0, 2, 2]
    n = polyad.zeros(3, dtype=polyad.int64)
    with pytest.raises(RuntimeError, match=r"add_: the result is float32, which self \(int64\) cannot hold"):
        n.add_(0.5)
    assert n.tolist() == [0, 0, 0]


def test_backward_does_not_notice_writes_through_data():
    x = polyad.ones(2, requires_grad=True)
    y = x.exp()
    version = y._version
    y.data.mul_(2.0)
    assert y._version == version
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.detach().numpy())


def test_a_tensor_saved_with_its_data_stays_one_memory(tmp_path):
    x = polyad.ones(2)
    polyad.save({"x": x, "data": x.data}, tmp_path / "x.pt")
    loaded = polyad.load(tmp_path / "x.pt")
    loaded["data"].zero_()
    assert loaded["x"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "overwrite",
    [lambda y: y.zero_(), lambda y: y.fill_(3.0), lambda y: y.copy_(polyad.ones(3)), lambda y: y.uniform_()],
)
def test_what_constants_overwrite_still_requires_a_gradient_of_zeros(overwrite):
    x = polyad.ones(3, requires_grad=True)
    y = x * 2
    overwrite(y)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_out_may_require_a_gradient_under_no_grad():
    x = polyad.ones(2, requires_grad=True)
    with polyad.no_grad():
        assert polyad.add(x, 1, out=x) is x
        with pytest.raises(RuntimeError, match="resized"):
            polyad.add(polyad.ones(3), 1, out=x)
    assert x.tolist() == [2.0, 2.0]
    assert x.requires_grad
    with pytest.raises(RuntimeError, match="no gradient"):
        polyad.add(x, 1, out=x)


def test_what_holds_integers_takes_no_history_from_what_is_written_to_it():
    source = polyad.tensor([1.5, 2.5], requires_grad=True)
    target = polyad.zeros(2, 2, dtype=polyad.int64)
    target[:, 1] = source
    target[0].copy_(source)
    assert target.tolist() == [[1, 2], [0, 2]]
    assert not target.requires_grad
