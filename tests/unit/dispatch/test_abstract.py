"""Device "meta": what is known without data, what is refused, and that nothing is computed or allocated."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import pytest

import polyad
from polyad import nn
from polyad.dispatch.abstract import counting
from polyad.dispatch.op import OPS
from polyad.errors import DeviceError, NoData, ShapeError

META = polyad.device("meta")
HUGE = 10**15


def empty(*shape: int, **options: Any) -> polyad.Tensor:
    return polyad.empty(*shape, device="meta", **options)


# -------------------------------------------------------------------------------------------------------- creation


@pytest.mark.parametrize(
    "make",
    [
        lambda: polyad.empty(HUGE, device="meta"),
        lambda: polyad.zeros(HUGE, device="meta"),
        lambda: polyad.full((HUGE,), 2.5, device="meta"),
        lambda: polyad.rand(HUGE, device="meta"),
        lambda: polyad.randn(HUGE, device="meta"),
        lambda: polyad.randperm(HUGE, device="meta"),
        lambda: polyad.arange(HUGE, device="meta"),
        lambda: polyad.ones(1, device="meta").expand(HUGE).clone(),
        lambda: (polyad.empty(HUGE, device="meta") + 1).exp().sum().expand(HUGE),
        lambda: polyad.tril_indices(10**7, 10**7, device="meta")[0],
    ],
)
def test_nothing_of_the_size_of_tensors_is_allocated(make: Any) -> None:
    make()  # what is loaded once is loaded now
    tracemalloc.start()
    try:
        made = make()
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert made.device == META
    assert made.is_meta
    assert made.numel() >= 10**13


def test_tensors_are_made_of_data_too() -> None:
    made = polyad.tensor([[1, 2], [3, 4]], device="meta")
    assert (made.shape, made.dtype, made.stride()) == ((2, 2), polyad.int64, (2, 1))
    assert polyad.tensor(1.5, device="meta").shape == ()
    assert polyad.as_tensor([True], device="meta").dtype is polyad.bool
    with polyad.device("meta"):
        assert polyad.linspace(0, 1, 5).is_meta


def test_the_device_has_no_number_and_is_no_installed_backend() -> None:
    assert str(empty(1).device) == "meta"
    assert polyad.zeros(1, device="meta:0").device == META
    assert "meta" not in polyad.backends.list_backends()
    with pytest.raises(ValueError, match="in use"):
        polyad.backends.register("meta", type(polyad.zeros(1)._type.backend)())


def test_a_tensor_goes_there_with_its_strides_and_not_back() -> None:
    there = polyad.zeros(3, 4).t().to("meta")
    assert (there.shape, there.stride(), there.dtype) == ((4, 3), (1, 4), polyad.float32)
    with pytest.raises(NoData, match=r"cpu: .*\n.*float32 \(4, 3\) on meta\n.*to_empty"):
        there.cpu()
    with pytest.raises(NotImplementedError, match=r"copy_: "):
        polyad.zeros(4, 3).copy_(there)
    assert there.copy_(polyad.ones(4, 3)) is there
    with pytest.raises(DeviceError, match="different devices"):
        there + polyad.ones(4, 3)


def test_drawing_without_data_draws_nothing() -> None:
    polyad.manual_seed(3)
    expected = polyad.rand(4)
    polyad.manual_seed(3)
    polyad.rand(5, device="meta"), nn.Linear(3, 4, device="meta"), polyad.randperm(9, device="meta")
    nn.functional.dropout(empty(5), 0.5), polyad.poisson(empty(5)), empty(5).normal_(), empty(4).bernoulli_(0.5)
    assert polyad.rand(4).tolist() == expected.tolist()


# ---------------------------------------------------------------------------------------------------------- memory


def test_views_share_memory_and_writes_count() -> None:
    base = empty(4, 6)
    view = base[1:, ::2]
    assert (view.shape, view.stride(), view.storage_offset()) == ((3, 3), (6, 2), 6)
    assert view._storage is base._storage
    assert view._base is base
    view.add_(1)
    assert base._version == view._version == 1
    assert base.untyped_storage().nbytes() == 96
    assert base.data_ptr() == 0
    assert base.view(polyad.int32).stride() == (6, 1)


def test_a_write_to_a_saved_tensor_is_noticed() -> None:
    x = empty(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(polyad.errors.AutogradError, match="changed in place"):
        z.backward()


def test_results_lie_as_real_results_do() -> None:
    turned = empty(3, 5).t()
    assert (turned + 1).stride() == (1, 5)
    assert turned.softmax(1).stride() == (3, 1)
    assert turned.sort(0).values.stride() == (1, 5)
    assert turned.clone(memory_format=polyad.contiguous_format).stride() == (3, 1)
    assert polyad.linalg.inv(empty(2, 3, 3)).stride() == (9, 1, 3)


# ------------------------------------------------------------------------------------------------------- gradients


def test_backward_gives_gradients_without_data() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).to("meta")
    loss = nn.functional.cross_entropy(model(empty(2, 3, 8, 8)), polyad.zeros(2, dtype=polyad.int64, device="meta"))
    loss.backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert (parameter.grad.shape, parameter.grad.device) == (parameter.shape, META)
    polyad.optim.Adam(model.parameters()).step()


def test_transforms_work_without_data() -> None:
    x = empty(4, 3)
    assert polyad.vmap(lambda row: row.softmax(0))(x).shape == (4, 3)
    assert polyad.func.grad(lambda y: (y * y).sum())(x).shape == (4, 3)
    assert polyad.func.jacrev(lambda y: y.sum(1))(x).shape == (4, 4, 3)
    assert polyad.func.jvp(lambda y: y.exp(), (x,), (x,))[1].shape == (4, 3)


# ---------------------------------------------------------------------------------------------------------- errors


def test_shapes_that_do_not_fit_are_told_as_elsewhere() -> None:
    told = []
    for device in ("cpu", "meta"):
        with pytest.raises(ShapeError) as caught:
            polyad.zeros(2, 3, device=device) @ polyad.zeros(2, 3, device=device)
        told.append(str(caught.value).replace(device, "there"))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("item", lambda x: x.sum().item()),
        ("item", lambda x: bool(x.any())),
        ("item", lambda x: float(x.sum())),
        ("item", lambda x: x[x.sum().long()]),
        ("item", lambda x: 1 in x),
        ("tolist", lambda x: x.tolist()),
        ("equal", lambda x: polyad.equal(x, x)),
        ("allclose", lambda x: polyad.allclose(x, x)),
        ("nonzero", lambda x: x.nonzero()),
        ("masked_select", lambda x: x.masked_select(x > 0)),
        ("index", lambda x: x[x > 0]),
        ("unique", lambda x: x.unique()),
        ("bincount", lambda x: x.long().reshape(-1).bincount()),
        ("one_hot", lambda x: nn.functional.one_hot(x.long())),
        ("repeat_interleave", lambda x: x.repeat_interleave(polyad.ones(2, dtype=polyad.int64, device="meta"), 0)),
    ],
)
def test_what_only_elements_tell_is_refused_by_name(function: str, call: Any) -> None:
    with pytest.raises(NoData) as caught:
        call(empty(2, 3))
    assert isinstance(caught.value, NotImplementedError)
    assert caught.value.message.startswith(f"{function}: ")
    assert "elements" in caught.value.message or "repeats" in caught.value.message
    assert "on meta" in str(caught.value)
    assert caught.value.fix


def test_numpy_and_dlpack_are_refused() -> None:
    with pytest.raises(TypeError, match="on meta"):
        empty(2).numpy()
    with pytest.raises(BufferError, match="meta"):
        empty(2).__dlpack__()
    with pytest.raises(NoData, match="save: "):
        polyad.save({"x": empty(2)}, io.BytesIO())


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda x, at: nn.functional.one_hot(at, 7), (2, 7)),
        (lambda x, at: x.repeat_interleave(at, 0, output_size=9), (9, 3)),
        (lambda x, at: x[at], (2, 3)),
        (lambda x, at: x.index_put((x > 0,), at[0].float()), (2, 3)),
        (lambda x, at: x.masked_scatter(x > 0, x), (2, 3)),
        (lambda x, at: x.histc(5), (5,)),
        (lambda x, at: polyad.nonzero_static(x, size=4), (4, 2)),
        (lambda x, at: polyad.linalg.matrix_exp(x[:, :2]), (2, 2)),
        (lambda x, at: polyad.linalg.solve(x[:, :2], x), (2, 3)),
        (lambda x, at: nn.functional.embedding_bag(at, x, at, padding_idx=0), (2, 3)),
        (lambda x, at: polyad.multinomial(x, 2), (2, 2)),
    ],
)
def test_sizes_that_arguments_tell_need_no_elements(call: Any, shape: tuple[int, ...]) -> None:
    assert call(empty(2, 3), polyad.zeros(2, dtype=polyad.int64, device="meta")).shape == shape


# -------------------------------------------------------------------------------------------------------- printing


def test_a_tensor_prints_without_elements() -> None:
    assert repr(empty(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(empty(3, dtype=polyad.int64)) == "tensor(..., device='meta', size=(3,), dtype=polyad.int64)"
    assert repr(empty(3, requires_grad=True) * 2).endswith("size=(3,), grad_fn=<MulBackward0>)")
    assert f"{empty(2).sum()}" == "tensor(..., device='meta', size=())"


# ------------------------------------------------------------------------------------------------------ the rules


def test_every_op_that_is_no_view_has_a_shape_rule_or_a_body() -> None:
    without = sorted(name for name, op in OPS.items() if op.kind == "primitive" and op.shape is None)
    assert without == []


@pytest.mark.parametrize(
    ("call", "operations"),
    [
        (lambda: empty(4, 5) @ empty(5, 6), 2 * 4 * 5 * 6),
        (lambda: empty(2, 4, 5) @ empty(2, 5, 6), 2 * 2 * 4 * 5 * 6),
        (lambda: nn.functional.linear(empty(4, 5), empty(6, 5), empty(6)), 2 * 4 * 5 * 6 + 4 * 6),
        (lambda: nn.functional.conv2d(empty(1, 3, 8, 8), empty(4, 3, 3, 3)), 2 * 4 * 6 * 6 * 27),
        (lambda: nn.functional.conv2d(empty(1, 4, 8, 8), empty(4, 1, 3, 3), groups=4), 2 * 4 * 6 * 6 * 9),
        (lambda: nn.functional.conv_transpose2d(empty(1, 3, 8, 8), empty(3, 4, 3, 3)), 2 * 3 * 64 * 4 * 9),
        (lambda: nn.functional.avg_pool2d(empty(1, 2, 4, 4), 2), 2 * 2 * 4 * 4),
        (lambda: empty(4, 5) + empty(5), 20),
        (lambda: empty(4, 5).sum(), 20),
        (lambda: empty(4, 5).transpose(0, 1)[1:], 0),
        (lambda: polyad.cat([empty(4), empty(5)]), 0),
    ],
)
def test_arithmetic_is_counted_by_structure(call: Any, operations: int) -> None:
    counted: list[int] = []
    with counting(counted.append):
        call()
    assert sum(counted) == operations
