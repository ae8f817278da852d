"""Leaves and views that change between forward and backward."""

import pytest

import polyad


def leaf(*values):
    return polyad.tensor(values, requires_grad=True)


def test_a_leaf_that_requires_no_gradient_any_more_gets_none():
    x, y = leaf(1.0, 2.0), leaf(3.0)
    loss = (x * y).sum()
    x.requires_grad_(False)
    loss.backward()
    assert x.grad is None
    assert y.grad.tolist() == [3.0]


def test_a_leaf_that_requires_one_again_gets_it():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    x.requires_grad_(False).requires_grad_(True)
    loss.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_detached_leaf_gets_no_gradient():
    x = leaf(1.0)
    loss = (x * 2).sum()
    x.detach_()
    loss.backward()
    assert x.grad is None


def test_a_leaf_with_a_history_of_its_own_cannot_take_a_gradient():
    x, y = leaf(1.0), leaf(3.0)
    loss = (x * 2).sum()
    x.requires_grad_(False).mul_(y)
    with pytest.raises(RuntimeError, match="a leaf was changed in place"):
        loss.backward()


def test_views_cannot_be_detached_in_place():
    x = polyad.ones(2, 3)
    with pytest.raises(RuntimeError, match="a view cannot be detached"):
        x[0].detach_()
    assert not x.detach().detach_().requires_grad


def test_views_of_leaves_cannot_change_their_shape_in_place():
    x = polyad.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        x[0].unsqueeze_(0)


def test_a_graph_without_saved_tensors_can_be_run_again():
    x = leaf(1.0, 2.0)
    added = (x + x).sum()
    added.backward()
    added.backward()
    assert x.grad.tolist() == [4.0, 4.0]
    squared = (x * x).sum()
    squared.backward()
    with pytest.raises(RuntimeError, match="the graph was freed"):
        squared.backward()


def test_a_hook_on_a_written_view_sees_the_gradient_of_the_view_alone():
    x = polyad.ones(2, 3, requires_grad=True)
    base = x * 1
    view = base[0]
    view.mul_(2)
    seen = []
    view.register_hook(lambda gradient: seen.append(gradient.tolist()))
    (base.sum() + (view * 3).sum()).backward()
    assert seen == [[3.0, 3.0, 3.0]]
    assert x.grad.tolist() == [[8.0, 8.0, 8.0], [1.0, 1.0, 1.0]]


def test_a_view_keeps_retaining_its_gradient_when_it_is_written():
    base = polyad.ones(2, 3, requires_grad=True) * 1
    view = base[0]
    view.retain_grad()
    view.mul_(2)
    base[1] = 0
    (base.sum() + (view * 3).sum()).backward()
    assert view.grad.tolist() == [3.0, 3.0, 3.0]


def test_what_copy_overwrites_has_a_gradient_of_zeros():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    target = x * 1
    target.copy_(y)
    target.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    assert y.grad.tolist() == [1.0, 1.0]


def test_what_cat_skips_has_an_empty_gradient():
    nothing = polyad.zeros(0, requires_grad=True)
    polyad.cat([polyad.ones(2, 2), nothing]).sum().backward()
    assert nothing.grad.shape == (0,)


def test_a_leaf_that_shows_other_memory_takes_gradients_of_its_new_shape():
    x = leaf(0.0, 1.0, 2.0, 3.0)
    (x * x).sum().backward()
    with polyad.no_grad():
        x.set_(x[1:])
    assert x.grad.tolist() == [0.0, 2.0, 4.0, 6.0]
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_gradient_can_be_deleted():
    x = leaf(1.0)
    x.sum().backward()
    del x.grad
    assert x.grad is None
    del x.grad


# ------------------------------------------------------------------------------------------- the order of the gradient


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("leaf", "strides"),
    [
        (lambda: polyad.ones(3, 2).t(), (1, 2)),
        (lambda: polyad.ones(4, 3, 2).permute(2, 0, 1), (1, 6, 2)),
        (lambda: polyad.ones(2, 3, 4, 5).contiguous(memory_format=polyad.channels_last), (60, 1, 15, 3)),
        (lambda: polyad.ones(3, 4)[:, ::2], (2, 1)),
        (lambda: polyad.ones(3, 1).expand(3, 2), (2, 1)),
        (lambda: polyad.ones(2, 3), (3, 1)),
    ],
)
def test_a_gradient_lies_in_memory_as_its_leaf(leaf, strides: tuple[int, ...], create_graph: bool) -> None:
    incoming = (
        lambda x: polyad.ones(x.shape),
        lambda x: polyad.ones(x.shape[::-1]).permute(*reversed(range(x.ndim))),
        lambda x: polyad.ones(1).expand(x.shape),
    )
    for make in incoming:
        x = leaf().detach().requires_grad_()
        x.backward(make(x), create_graph=create_graph)
        assert x.grad is not None
        assert x.grad.stride() == strides
        x.backward(make(x), create_graph=create_graph)
        assert x.grad.tolist() == (2 * polyad.ones(x.shape)).tolist()
        if not create_graph:
            assert x.grad.stride() == strides


def test_a_gradient_that_is_retained_is_a_row_major_copy() -> None:
    x = polyad.ones(2, 3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert y.grad is not None
    assert y.grad.stride() == (3, 1)
    y.grad.add_(1)
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_data_of_a_leaf_stays_differentiable() -> None:
    for x in (
        polyad.ones(2, requires_grad=True),
        polyad.nn.Parameter(polyad.ones(2)),
        polyad.ones(2).requires_grad_() * 2,
    ):
        with pytest.raises(RuntimeError, match="floating point or complex"):
            x.data = polyad.ones(2, dtype=polyad.int64)
        x.data = polyad.ones(3, dtype=polyad.float64)
    x = polyad.ones(2)
    x.data = polyad.ones(2, dtype=polyad.int64)
    assert x.dtype is polyad.int64


class _SameForBoth(polyad.autograd.Function):
    """a + b, whose formula gives both operands one tensor that nobody else has."""

    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, grad):
        both = grad * 1.0
        return both, both


@pytest.mark.parametrize("rounds", [1, 2])
def test_what_begins_a_gradient_may_still_wait_elsewhere(rounds: int) -> None:
    old = polyad.ones(2, requires_grad=True)
    between = old * 3.0  # its node is older than the leaf, whose turn comes first
    leaf = polyad.ones(2, requires_grad=True)
    for _ in range(rounds):
        (leaf * 5.0 + _SameForBoth.apply(leaf, between) + leaf * 7.0).sum().backward(retain_graph=True)
    assert leaf.grad.tolist() == [13.0 * rounds] * 2
    assert old.grad.tolist() == [3.0 * rounds] * 2


def test_gradients_of_leaves_share_no_memory() -> None:
    a, b = (polyad.ones(2, requires_grad=True) for _ in range(2))
    given = polyad.ones(2)
    (a + b).backward(given)
    a.grad += 1
    assert (b.grad.tolist(), given.tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_no_tensor_is_its_own_gradient():
    x = polyad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="its own gradient"):
        x.grad = x
