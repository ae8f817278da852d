"""Forms of calls that PyTorch takes besides the usual: other dtypes of ``out=``, one number for a vector, lists of
indices, factors below 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import polyad
from polyad import Tensor
from polyad.ops.declaring.attach import IN_PLACE


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda out: polyad.zeros(2, out=out), [0, 0]),
        (lambda out: polyad.ones(2, out=out), [1, 1]),
        (lambda out: polyad.full((2,), 3.5, out=out), [3, 3]),
        (lambda out: polyad.linspace(0, 4, 2, out=out), [0, 4]),
        (lambda out: polyad.logspace(0, 1, 2, out=out), [1, 10]),
        (lambda out: polyad.arange(0, 2.0, out=out), [0, 1]),
        (lambda out: polyad.bernoulli(polyad.ones(2), out=out), [1, 1]),
        (lambda out: polyad.bernoulli(polyad.ones(2), 0.0, out=out), [0, 0]),
        (lambda out: polyad.randint(5, 6, (2,), out=out), [5, 5]),
    ],
)
@pytest.mark.parametrize("dtype", [polyad.int64, polyad.float64, polyad.uint8])
def test_creation_takes_the_dtype_of_out(call: Callable[[Tensor], Tensor], expected: list[int], dtype: Any) -> None:
    out = polyad.full((2,), 7, dtype=dtype)
    assert call(out) is out
    assert out.dtype is dtype
    assert out.long().tolist() == expected


def test_the_identity_in_integers() -> None:
    assert polyad.eye(2, out=polyad.zeros(2, 2, dtype=polyad.int64)).tolist() == [[1, 0], [0, 1]]


def test_a_dtype_that_out_cannot_hold_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"out: dtype=polyad\.float32 was given, and a tensor of another dtype"):
        polyad.zeros(2, out=polyad.zeros(2, dtype=polyad.int64), dtype=polyad.float32)


def test_bounds_that_are_bools() -> None:
    assert polyad.linspace(False, True, 3).tolist() == [0.0, 0.5, 1.0]
    assert polyad.logspace(False, polyad.tensor(True), 2).tolist() == [1.0, 10.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda a: polyad.tensor([9, 8], dtype=a.dtype).index_add(0, polyad.tensor([0]), a[0, :1], alpha=-1),
        lambda a: polyad.addmm(a, a, a, alpha=-1),
        lambda a: polyad.addmv(a[0], a, a[0], beta=-1),
        lambda a: polyad.baddbmm(a[None], a[None], a[None], alpha=-2),
    ],
)
def test_factors_of_unsigned_integers_wrap(call: Callable[[Tensor], Tensor]) -> None:
    small = polyad.tensor([[1, 2], [3, 0]], dtype=polyad.uint8)
    assert call(small).dtype is polyad.uint8
    assert polyad.equal(call(small), polyad.remainder(call(small.long()), 256).to(polyad.uint8))


@pytest.mark.parametrize("alpha", [-256, 256])
def test_other_factors_outside_the_dtype_are_refused(alpha: int) -> None:
    x = polyad.ones(2, 2, dtype=polyad.uint8)
    with pytest.raises(RuntimeError, match=r"range of (uint8|the operands)"):
        polyad.addmm(x, x, x, alpha=alpha)


def test_gradient_without_spacing() -> None:
    x = polyad.arange(5.0) ** 2
    assert polyad.equal(polyad.gradient(x, spacing=None, dim=None)[0], polyad.gradient(x)[0])


class TestIndexCopyOfANumber:
    def test_to_a_vector(self) -> None:
        x = polyad.zeros(3)
        assert x.index_copy_(0, polyad.tensor([1]), polyad.tensor(5.0)).tolist() == [0.0, 5.0, 0.0]
        assert x.index_copy(0, polyad.tensor(2), polyad.tensor(7.0)).tolist() == [0.0, 5.0, 7.0]

    def test_gradient(self) -> None:
        x, source = polyad.zeros(3, requires_grad=True), polyad.tensor(5.0, requires_grad=True)
        (x.index_copy(0, polyad.tensor([1]), source) * polyad.tensor([1.0, 2.0, 3.0])).sum().backward()
        assert x.grad.tolist() == [1.0, 0.0, 3.0]
        assert source.grad.item() == 2.0

    def test_several_places(self) -> None:
        with pytest.raises(IndexError, match="source is one number, but index has 2"):
            polyad.zeros(3).index_copy(0, polyad.tensor([1, 2]), polyad.tensor(5.0))

    def test_a_row(self) -> None:
        with pytest.raises(RuntimeError, match=r"source is \(1,\), not \(1, 2\)"):
            polyad.zeros(3, 2).index_copy(0, polyad.tensor([1]), polyad.tensor(5.0))


@pytest.mark.parametrize(
    "index",
    [
        [slice(None), [2, 3]],
        [slice(None), 2],
        [None, 1],
        [..., 1],
        [[0, 1], [0, 1]],
        [(0, 1), range(2)],
        [[0, 1]],
        [0, [0, 1]],
        [[True, False, True], [0, 1]],
        [polyad.tensor(1), polyad.tensor([1, 2])],
        [[]],
    ],
)
def test_a_list_of_several_indices(index: list[Any]) -> None:
    x, y = polyad.arange(12).reshape(3, 4), polyad.arange(12).reshape(3, 4)
    with pytest.warns(UserWarning, match="a list of several indices"):
        assert polyad.equal(x[index], x[tuple(index)])
    with pytest.warns(UserWarning, match="a list of several indices"):
        x[index] = -1
    y[tuple(index)] = -1
    assert polyad.equal(x, y)


def test_a_list_of_numbers_or_of_many_lists_is_one_index() -> None:
    x = polyad.arange(12).reshape(3, 4)
    assert x[[0, 2]].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert x[[[0]] * 32].shape == (32, 1, 4)


def test_a_complex_constant_around_complex_numbers() -> None:
    x = polyad.tensor([1 + 2j], requires_grad=True)
    padded = polyad.constant_pad_nd(x, (1, 0), 3j)
    assert padded.tolist() == [3j, 1 + 2j]
    padded[1].abs().backward()
    assert x.grad is not None
    with pytest.raises(TypeError, match="value is complex"):
        polyad.constant_pad_nd(polyad.ones(1), (1, 0), 3j)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("softplus", (4,)), ("gelu", (4,)), ("logsigmoid", (4,)), ("softshrink", (4,)), ("hardshrink", (4,)),
     ("avg_pool2d", (1, 4, 4)), ("avg_pool3d", (1, 2, 4, 4))],
)  # fmt: skip
def test_activations_and_means_write_to_out(name: str, shape: tuple[int, ...]) -> None:
    call, x = getattr(polyad.nn.functional, name), polyad.randn(shape)
    args = (2,) if "pool" in name else ()
    out = polyad.empty(0)
    assert call(x, *args, out=out) is out
    assert polyad.equal(out, call(x, *args))


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_that_broadcast(name: str) -> None:
    loss = getattr(polyad.nn.functional, name)
    input, target = polyad.randn(3, 1, requires_grad=True), polyad.randn(4)
    with pytest.warns(UserWarning, match="target .4,. has another shape than input .3, 1."):
        found = loss(input, target)
    found.backward()
    (slope,) = polyad.autograd.grad(loss(input.expand(3, 4), target.expand(3, 4)), input)
    assert polyad.equal(input.grad, slope)
    with pytest.raises(RuntimeError, match=f"{name}: input .3,. and target .2,. do not broadcast"):
        loss(polyad.zeros(3), polyad.zeros(2))


def test_ormqr_of_a_wide_factor() -> None:
    a, tau = polyad.geqrf(polyad.tensor([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]))
    q = polyad.linalg.householder_product(a[:, :2], tau)
    polyad.testing.assert_close(polyad.ormqr(a, tau, polyad.eye(2)), q)


@pytest.mark.parametrize("name", sorted(IN_PLACE - {"detach_", "as_strided_", "index_put_"}))
def test_in_place_functions(name: str) -> None:
    x = polyad.tensor([[0.25, 0.5], [0.75, 1.0]])
    others = {
        "addmv_": lambda: (x, x[0]),
        **dict.fromkeys(("clamp_", "clamp_max_", "clamp_min_", "clip_", "fill_"), lambda: (0.5,)),
        **dict.fromkeys(("gcd_", "lcm_"), lambda: (polyad.tensor(4),)),
        **dict.fromkeys(("ldexp_", "xlogy_"), lambda: (x,)),
        "resize_as_": lambda: (x[0],),
    }.get(name, tuple)()
    numbers = polyad.arange(4)
    given = {"addmv_": x[0], "gcd_": numbers, "lcm_": numbers, "acosh_": x + 1, "arccosh_": x + 1}.get(name, x)
    written, expected = given.clone(), given.clone()
    assert getattr(polyad, name)(written, *others) is written
    getattr(expected, name)(*others)
    assert polyad.equal(written, expected)


def test_in_place_functions_of_places() -> None:
    x = polyad.zeros(2, 2)
    assert polyad.index_put_(x, (polyad.tensor([0]),), polyad.tensor(9.0)).tolist() == [[9.0, 9.0], [0.0, 0.0]]
    assert polyad.as_strided_(x, (2,), (1,)).tolist() == [9.0, 9.0]
    y = polyad.ones(2, requires_grad=True) * 1
    assert not polyad.detach_(y).requires_grad


def test_functions_of_elements() -> None:
    x = polyad.tensor([[1.0, 2.0]])
    assert x.apply_(lambda v: v + 1).tolist() == [[2.0, 3.0]]
    assert x.map_(polyad.tensor([10.0]), lambda a, b: a * b).tolist() == [[20.0, 30.0]]
    assert x.map2_(polyad.tensor([1.0]), x, lambda a, b, c: a + b + c).tolist() == [[41.0, 61.0]]
    assert polyad.arange(3).apply_(lambda v: v + 1).dtype is polyad.int64


def test_older_names() -> None:
    assert len(polyad.unsafe_chunk(polyad.arange(4), 2)) == len(polyad.unsafe_split(polyad.arange(4), 2)) == 2
    assert [len(one) for one in polyad.arange(4).unsafe_split_with_sizes([1, 3])] == [1, 3]
    assert polyad.conv2d is polyad.nn.functional.conv2d


@pytest.mark.parametrize(
    "call",
    [
        lambda: polyad.full((), 3), lambda: polyad.full(size=(), fill_value=3), lambda: polyad.scalar_tensor(3),
        lambda: polyad.randint(3, 4, ()), lambda: polyad.randint(4, size=()), lambda: polyad.ones(1).new_full((), 3),
        lambda: polyad.zeros(()), lambda: polyad.rand(size=()), lambda: polyad.normal(0.0, 1.0, ()),
        lambda: polyad.empty_permuted((), ()), lambda: polyad.testing.make_tensor((), dtype=polyad.int8, device="cpu"),
    ],
)  # fmt: skip
def test_no_dimensions(call: Callable[[], Tensor]) -> None:
    assert call().shape == ()


def test_arguments_after_out_reach_the_function():
    x = polyad.tensor([1e30, 1e30])
    for found in (polyad.norm(x, dtype=polyad.float64), polyad.norm(x, 2, None, False, None, polyad.float64)):
        assert found.dtype is polyad.float64
        assert found.item() == pytest.approx(2**0.5 * 1e30)


def test_nothing_is_split_into_nothing():
    assert polyad.ones(0).split([]) == polyad.ones(0, 2).split([]) == polyad.ones(0).split_with_sizes([]) == ()
    assert polyad.split(polyad.ones(2, 0), [], 1) == ()
    with pytest.raises(RuntimeError, match="add up"):
        polyad.ones(1).split([])


@pytest.mark.parametrize("write", [polyad.Tensor.index_put, polyad.Tensor.index_put_])
def test_index_put_wants_indices(write):
    with pytest.raises(TypeError, match="no indices"):
        write(polyad.zeros(2), (), polyad.tensor(1.0))


def test_the_end_alone_may_be_named():
    assert polyad.arange(end=3).tolist() == [0, 1, 2]
    assert all(value < 3 for value in polyad.ones(20).random_(to=3).tolist())
    with pytest.raises(TypeError, match="end is missing"):
        polyad.arange()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.add(x, alpha=300),
        lambda x: x.sub(x, alpha=300),
        lambda x: polyad.rsub(x, x, alpha=-300),
        lambda x: polyad.addcmul(x, x, x, value=300),
    ],
)
def test_a_factor_has_to_fit_the_dtype(call):
    for dtype in (polyad.int8, polyad.uint8):
        with pytest.raises(RuntimeError, match="not in"):
            call(polyad.ones(2, dtype=dtype))
    assert polyad.ones(1, dtype=polyad.uint8).sub(polyad.ones(1, dtype=polyad.uint8), alpha=-1).tolist() == [2]
