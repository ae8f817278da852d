"""vmap: where batch dimensions are and go, what a mapped function may do, and what it is told that it may not."""

import copy
import threading
import warnings

import pytest

import polyad
from polyad import Tensor, nn
from polyad.dispatch.op import OPS, composite
from polyad.dispatch.structure import Rowwise
from polyad.errors import TransformError
from polyad.func import grad, loop_report, reset_loop_report, vmap
from polyad.ops.declaring.shape_rules import same
from polyad.testing import assert_close
from polyad.transforms.batching import LoopWarning

F = nn.functional


@pytest.fixture(autouse=True)
def _seed():
    polyad.manual_seed(7)


def looped(function, *batches):
    """What *function* gives for each sample, stacked."""
    return polyad.stack([function(*samples) for samples in zip(*batches, strict=True)])


# ------------------------------------------------------------------------------------------------ in_dims and out_dims


def test_in_dims_and_out_dims() -> None:
    x, y = polyad.randn(3, 4, 5), polyad.randn(5, 3)
    expected = looped(lambda a, b: a @ b, x, y.t())
    assert_close(vmap(lambda a, b: a @ b, in_dims=(0, 1))(x, y), expected)
    assert_close(vmap(lambda a, b: a @ b, in_dims=(0, -1), out_dims=1)(x, y), expected.t())
    assert_close(vmap(lambda a: a * 2, in_dims=-1, out_dims=-1)(x), x * 2)
    assert_close(vmap(lambda a, b: a + b, in_dims=(1, None))(x, polyad.ones(5)), x.movedim(1, 0) + 1)


def test_structures() -> None:
    x = polyad.randn(2, 3)
    mapped = vmap(lambda d, k: {"sum": d["a"].sum() * k, "both": [d["a"], d["b"]]}, in_dims=({"a": 1, "b": 0}, None))
    found = mapped({"a": x, "b": polyad.arange(3)}, 2.0)
    assert_close(found["sum"], x.sum(0) * 2)
    assert_close(found["both"][0], x.t())
    assert found["both"][1].tolist() == [0, 1, 2]
    first, second = vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x)
    assert (first.shape, second.shape) == ((3, 2), (2,))
    assert vmap(lambda a, scale=1.0: a * scale)(x, scale=3.0).sum() == (x * 3).sum()


def test_results_that_are_the_same_for_all_samples() -> None:
    x = polyad.randn(3, 2)
    constant = polyad.arange(2)
    first, second = vmap(lambda a: (a, constant), out_dims=(0, None))(x)
    assert second.shape == (2,)
    assert first.shape == (3, 2)
    assert vmap(lambda a: constant)(x).tolist() == [[0, 1]] * 3
    with pytest.raises(ValueError, match="out_dims is None"):
        vmap(lambda a: a, out_dims=None)(x)


def test_what_comes_back_is_not_the_argument() -> None:
    x = polyad.randn(3, requires_grad=True)
    found = vmap(lambda a: a)(x)
    assert found is not x
    found.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: vmap(lambda a: a, in_dims="0")(x), "neither an int nor a tuple"),
        (lambda x: vmap(lambda a: a, in_dims=(0, 0))(x), "have not the structure"),
        (lambda x: vmap(lambda a: a, in_dims=(0.5,))(x), "neither an int nor None"),
        (lambda x: vmap(lambda a: a, in_dims=2)(x), "names dimension 2"),
        (lambda x: vmap(lambda a: a, in_dims=None)(x), "neither an int nor a tuple"),
        (lambda x: vmap(lambda a: a, in_dims=(None,))(x), "over none of the inputs"),
        (lambda x: vmap(lambda: x)(), "without inputs"),
        (lambda x: vmap(lambda a, b: a)(x, 3.0), "not a tensor"),
        (lambda x: vmap(lambda a, b: a)(x, polyad.ones(3)), "differ in size: 2, 3"),
        (lambda x: vmap(lambda a: 3)(x), "returned int"),
        (lambda x: vmap(lambda a: (a, a), out_dims=(0, 0, 0))(x), "out_dims"),
        (lambda x: vmap(lambda a: a, out_dims=0.5)(x), "neither an int nor None"),
        (lambda x: vmap(lambda a: a, chunk_size=0), "chunk_size"),
    ],
)
def test_what_does_not_fit_is_a_value_error(call, match) -> None:
    with pytest.raises(ValueError, match=match):
        call(polyad.ones(2, 2))


def test_other_errors() -> None:
    with pytest.raises(TypeError, match="cannot be called"):
        vmap(3)
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda a: a, randomness="none")
    with pytest.raises(IndexError, match="out_dims"):
        vmap(lambda a: a, out_dims=5)(polyad.ones(2))
    # Shapes are those that the function sees.
    with pytest.raises(RuntimeError, match=r"\(4,\) and \(3,\) do not agree"):
        vmap(lambda a: a + polyad.ones(3))(polyad.ones(2, 4))
    with pytest.raises(IndexError, match="index: 7"):
        vmap(lambda a: a[7])(polyad.ones(2, 4))


def test_no_samples() -> None:
    product, ordered, total = vmap(lambda a: (a @ a, a.sort()[0], a.sum()))(polyad.ones(0, 4))
    assert (product.shape, ordered.shape, total.shape) == ((0,), (0, 4), (0,))


# ------------------------------------------------------------------------------------------------ nesting, chunks


def test_maps_nest() -> None:
    x, y = polyad.randn(3, 4), polyad.randn(5, 4)
    distances = vmap(vmap(lambda a, b: (a - b).norm(), in_dims=(None, 0)), in_dims=(0, None))(x, y)
    assert_close(distances, (x[:, None] - y).norm(dim=-1))
    # What the outer function captured is a constant of the inner one.
    assert_close(vmap(lambda a: vmap(lambda b: a * b)(y[:, :1]).sum())(x[:, 0]), x[:, 0] * y[:, 0].sum())


def test_chunks() -> None:
    x, seen = polyad.randn(7, 3), []

    def f(a):
        seen.append(a)
        return a.sum(), a * 2

    total, double = vmap(f, chunk_size=3, out_dims=(0, 1))(x)
    assert len(seen) == 3
    assert_close(total, x.sum(1))
    assert_close(double, (x * 2).t())


def test_levels_are_of_their_thread() -> None:
    found = []

    def f(a):
        worker = threading.Thread(target=lambda: found.append(vmap(lambda b: b + 1)(polyad.ones(2))))
        worker.start()
        worker.join()
        return a * 2

    assert vmap(f)(polyad.ones(3)).tolist() == [2, 2, 2]
    assert found[0].tolist() == [2, 2]


# ------------------------------------------------------------------------------------------------ random numbers


def test_randomness() -> None:
    x = polyad.zeros(5, 8)
    draw = lambda a: a + polyad.rand(8)  # noqa: E731
    with pytest.raises(RuntimeError, match=r"<lambda> draws random numbers(.|\n)*test_vmap.py(.|\n)*randomness='"):
        vmap(draw)(x)
    different = vmap(draw, randomness="different")(x)
    assert len({tuple(row) for row in different.tolist()}) == 5
    shared = vmap(draw, randomness="same")(x)
    assert (shared == shared[0]).all()
    assert (vmap(draw, randomness="same", chunk_size=2)(x)[4] != shared[4]).any()  # drawn anew
    chunks = vmap(draw, randomness="same", chunk_size=2)(x)
    assert (chunks == chunks[0]).all()


@pytest.mark.parametrize(
    "draw",
    [
        lambda a: F.dropout(a),
        lambda a: polyad.bernoulli(a * 0.5),
        lambda a: polyad.randn_like(a),
        lambda a: a.clone().normal_(),
        lambda a: polyad.poisson(a * 5),
        lambda a: F.rrelu(-a, training=True),
        lambda a: a * polyad.randperm(12),
        lambda a: polyad.randint(0, 1000, (12,)) + a,
        lambda a: polyad.multinomial(a, 6),
    ],
)
def test_every_way_to_draw(draw) -> None:
    x = polyad.ones(4, 12)
    with pytest.raises(RuntimeError, match="draws random numbers"):
        vmap(draw)(x)
    different = vmap(draw, randomness="different")(x)
    assert len({tuple(row) for row in different.tolist()}) > 1
    shared = vmap(draw, randomness="same")(x)
    assert (shared == shared[0]).all()


# ------------------------------------------------------------------------------------------------ writing in place


def written(a):
    b = a.clone()
    b[0].mul_(2)
    b[1:].add_(a[0])
    b.view(2, 2).t().mul_(3)
    b[b < 0] = 0
    return b


def test_writes_through_views() -> None:
    x = polyad.randn(3, 4)
    assert_close(vmap(written)(x), looped(written, x))
    assert_close(vmap(grad(lambda a: written(a).sin().sum()))(x), looped(grad(lambda a: written(a).sin().sum()), x))
    outside = polyad.randn(3, 4, requires_grad=True)
    vmap(written)(outside).sin().sum().backward()
    assert_close(outside.grad, looped(grad(lambda a: written(a).sin().sum()), outside.detach()))


def test_an_argument_is_written_as_anywhere() -> None:
    x = polyad.ones(3, 2)
    vmap(lambda a: a.mul_(2).sum())(x)
    assert x.tolist() == [[2, 2]] * 3
    leaf = polyad.ones(3, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        vmap(lambda a: a.mul_(2))(leaf)


@pytest.mark.parametrize(
    "write",
    [
        lambda a: polyad.zeros(4).add_(a),
        lambda a: polyad.zeros(4).copy_(a),
        lambda a: polyad.zeros(4).index_put_((polyad.tensor([0]),), a[:1]),
        lambda a: polyad.add(a, 1, out=polyad.empty(4)),
        lambda a: polyad.zeros(2).fill_(a[0]),
    ],
)
def test_what_is_the_same_for_all_samples_cannot_hold_what_differs(write) -> None:
    with pytest.raises(RuntimeError, match=r"same for all samples(.|\n)*test_vmap.py(.|\n)*new_zeros"):
        vmap(write)(polyad.ones(3, 4))


def test_new_tensors_after_the_pattern_of_a_batched_one() -> None:
    def f(a):
        made = a.new_zeros(2)
        made[0] = a.sum()
        like = polyad.zeros_like(a)
        like[a.argmax()] = 1
        return made, like

    x = polyad.randn(3, 4)
    made, like = vmap(f)(x)
    assert_close(made[:, 0], x.sum(1))
    assert like.argmax(1).tolist() == x.argmax(1).tolist()


def test_versions_are_counted() -> None:
    def f(a):
        b = a * 2
        c = b.sin()
        b.mul_(2)
        return c

    with pytest.raises(RuntimeError, match="changed in place"):
        vmap(grad(lambda a: f(a).sum()))(polyad.ones(3, 2))


# ------------------------------------------------------------------------------------------------ deciding by data


@pytest.mark.parametrize(
    "read",
    [
        lambda a: a if a.sum() > 0 else -a,
        lambda a: a * a.sum().item(),
        lambda a: a * float(a[0]),
        lambda a: polyad.tensor(a.tolist()),
        lambda a: polyad.tensor(a.numpy()),
        lambda a: a.nonzero(),
        lambda a: a[a > 0],
        lambda a: polyad.masked_select(a, a > 0),
        lambda a: polyad.unique(a),
    ],
)
def test_deciding_by_data_is_refused(read) -> None:
    with pytest.raises(TransformError, match=r"<lambda>(.|\n)*function  <lambda>\n *line +test_vmap.py:(.|\n)*fix"):
        vmap(read)(polyad.randn(3, 4))


def test_memory_is_not_exchanged() -> None:
    x = polyad.ones(3, 2)
    for change in (lambda a: a.clone().set_(a), lambda a: a.clone().resize_(1), lambda a: setattr(a * 1, "data", a)):
        with pytest.raises(TransformError, match=r"cannot be done to a tensor of a transformed function"):
            vmap(change)(x)
    with pytest.raises(TransformError, match="reads data"):
        vmap(lambda a: (f"{a[0]:.1f}", a)[1])(x)


def test_copies_and_detached_tensors() -> None:
    x = polyad.randn(3, 2, requires_grad=True)
    for copied in (copy.copy, copy.deepcopy, polyad.clone):
        assert_close(vmap(lambda a, copied=copied: copied(a.detach()) * 2)(x), x * 2)
    for detached in (lambda a: a.detach(), lambda a: (a * 1).detach_(), lambda a: a.data):
        assert not vmap(detached)(x).requires_grad
        assert vmap(grad(lambda a, detached=detached: (a * detached(a)).sum()))(x).tolist() == x.tolist()


def test_constants_may_be_read() -> None:
    limit = polyad.tensor(2.0)
    assert vmap(lambda a: a if limit > 1 else -a)(polyad.ones(3)).tolist() == [1, 1, 1]
    # Those that the function makes, too, also where another transform wraps them.
    assert vmap(grad(lambda a: a * (2 if polyad.ones(2).sum() > 1 else 3)))(polyad.ones(3)).tolist() == [2, 2, 2]


def test_checks_look_at_all_samples() -> None:
    bad = polyad.eye(2).repeat(3, 1, 1)
    bad[1, 0, 0] = -1
    with pytest.raises(RuntimeError, match="batch element 1"):
        vmap(polyad.linalg.cholesky)(bad)
    assert vmap(polyad.linalg.inv)(bad).shape == (3, 2, 2)
    with pytest.raises(IndexError, match=r"\[2, 0\] = 9"):
        vmap(lambda a, i: a.index_select(0, i))(polyad.ones(3, 4), polyad.tensor([[0], [1], [9]]))


# ------------------------------------------------------------------------------------------------ what leaks out


def test_tensors_that_outlive_the_call() -> None:
    leaked = []

    def f(a):
        leaked.append(a * 2)
        return a

    vmap(f)(polyad.ones(3, 2))
    (lost,) = leaked
    for use in (
        lambda: lost + 1, lambda: lost[0], lambda: lost.sum(), lambda: lost.tolist(), lambda: lost.mul_(2),
        lambda: lost @ lost, lambda: vmap(lambda a: a + lost)(polyad.ones(3, 2)), lambda: lost.numpy(),
        lambda: polyad.stack([lost]), lambda: lost.view(1, 2), lambda: bool(lost.any()),
    ):  # fmt: skip
        with pytest.raises(TransformError, match=r"used after that has returned(.|\n)*function  f"):
            use()
    assert "3 samples" in repr(lost)
    assert lost.shape == (2,)


def test_a_batched_tensor_prints() -> None:
    shown = []
    vmap(lambda a: (shown.append(f"{a} {a!r}"), a)[1])(polyad.ones(2))
    assert "2 samples" in shown[0]


# ------------------------------------------------------------------------------------------------ views, indices, loops


def test_views_of_samples_that_lie_anywhere() -> None:
    x = polyad.randn(4, 3, 6)
    for function in (
        lambda a: a.t()[1:4:2],
        lambda a: a.as_strided((2, 2), (1, 2)),
        lambda a: a.unfold(0, 2, 1),
        lambda a: a.diagonal(),
        lambda a: a[None, ..., -1],
        lambda a: a.expand(2, *a.shape),
        lambda a: a.reshape(-1)[::2],
        lambda a: a.unsqueeze(1).squeeze(),
        lambda a: polyad.stack(a.unbind(0)) + sum(a),
        lambda a: a.contiguous().view(polyad.int32),
    ):
        for dim in range(3):
            samples = x.movedim(dim, 0)
            assert_close(vmap(function, in_dims=dim)(x), polyad.stack([function(one) for one in samples]))


def test_one_position_for_each_sample() -> None:
    x, at = polyad.randn(3, 4, 5), polyad.tensor([0, 3, -1])
    assert_close(vmap(lambda a, i: a[i])(x, at), looped(lambda a, i: a[i], x, at))
    assert_close(vmap(lambda a, i: a[1:, i])(x, at), looped(lambda a, i: a[1:, i], x, at))
    shared = x[0]
    assert_close(vmap(lambda i: shared[i])(at), shared[at])


def test_every_op_has_a_rule() -> None:
    from polyad.transforms.batching.rules import find

    kinds = {name: find(op)[1] for name, op in OPS.items() if op.kind != "view"}
    assert [name for name, kind in kinds.items() if kind == "loop" and OPS[name].operands] == []


@composite(shape=same, method=False)
def _scaled_down(input: Tensor) -> Tensor:
    return input / input.abs().max()


@composite(shape=same, method=False)
def _halved_until_small(input: Tensor) -> Tensor:
    while input.abs().max().item() > 1:
        input = input / 2
    return input.clone()


def test_an_op_of_another_package_is_carried_out_by_its_body() -> None:
    x = polyad.randn(3, 4)
    assert_close(vmap(lambda a: _scaled_down(a))(x), x / x.abs().amax(1, keepdim=True))


@composite(structure=Rowwise("axis"), shape=same, method=False)
def _centred(input: Tensor, axis: int | None) -> Tensor:
    assert axis is None or input.__class__ is Tensor, "not by its body"
    return input - (input.mean() if axis is None else input.mean(axis, keepdim=True))


def test_an_op_that_says_along_which_dimension_it_works_is_carried_out_once() -> None:
    x = polyad.randn(3, 4, 5)
    assert_close(vmap(lambda a: _centred(a, 0))(x), x - x.mean(1, keepdim=True))
    assert_close(vmap(lambda a: _centred(a, -1))(x), x - x.mean(2, keepdim=True))
    assert_close(vmap(lambda a: _centred(a, None))(x), x - x.mean((1, 2), keepdim=True))


def test_loops_are_counted_and_warned_of() -> None:
    x = polyad.tensor([[1.0, 3.0], [8.0, 0.5]])
    reset_loop_report()
    mapped = vmap(lambda a: _halved_until_small(a) + 0)
    with pytest.warns(LoopWarning, match=r"halved_until_small.*sample by sample"):
        found = mapped(x)
    assert_close(found, polyad.tensor([[0.25, 0.75], [1.0, 0.0625]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", LoopWarning)  # one warning a line
        mapped(x)
        assert mapped(x[:0]).shape == (0, 2)
    (record,) = loop_report()
    assert (record.op, record.calls, record.samples) == ("halved_until_small", 3, 4)
    assert record.line.startswith("test_vmap.py:")
    reset_loop_report()
    assert loop_report() == ()


def test_what_is_no_tensor_comes_back_where_out_dims_is_none() -> None:
    x = polyad.arange(3.0)
    doubled, name = vmap(lambda a: (a * 2, "name"), out_dims=(0, None))(x)
    assert (doubled.tolist(), name) == ([0.0, 2.0, 4.0], "name")
    assert vmap(lambda a: None, out_dims=None, chunk_size=2)(x) is None
    assert vmap(lambda a: {"n": 3}, out_dims=None)(x) == {"n": 3}
