"""A device whose arrays have no strides: views, writes through them, and that kernels get whole arrays only."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from polyad_dense.backend import Buffer, DenseOnly

import polyad
from polyad import backends


@pytest.fixture
def dense() -> Iterator[DenseOnly]:
    backend = DenseOnly()
    from polyad_dense.plugin import polyad_backend_info

    backend.info = polyad_backend_info()
    with backends.register("dense", backend), backends.fallback("allow"):
        backends.reset_fallback_report()
        yield backend
    backends.reset_fallback_report()


def grid() -> polyad.Tensor:
    return polyad.arange(6.0, device="dense").reshape(2, 3)


def test_views_share_memory_and_kernels_see_arrays(dense) -> None:
    x = grid()
    assert x.T.stride() == (1, 3)
    assert x.T.data_ptr() == x.data_ptr()
    assert x[1].data_ptr() == x.data_ptr() + 12
    assert (-x.T).tolist() == [[0.0, -3.0], [-1.0, -4.0], [-2.0, -5.0]]
    assert (-x[:, 1:]).tolist() == [[-1.0, -2.0], [-4.0, -5.0]]
    assert (x.T == x.T).all().item()
    assert "neg" not in {record.op for record in backends.fallback_report()}
    assert isinstance(x._array.memory.array, Buffer)
    with pytest.raises(AssertionError, match="only read can"):
        __import__("numpy").asarray(x._array.memory.array)


def test_writes_through_views_reach_everybody(dense) -> None:
    x = grid()
    column, row, flat = x[:, 1], x[1], x.view(-1)
    column.fill_(9)
    row.add_(1)
    flat[::5] = polyad.tensor([7.0, 8.0], device="dense")
    assert x.tolist() == [[7.0, 9.0, 2.0], [4.0, 10.0, 8.0]]
    assert column.tolist() == [9.0, 10.0]
    x.T.copy_(polyad.ones(1, 2, device="dense", dtype=polyad.int32))
    assert flat.tolist() == [1.0] * 6
    x.view(polyad.int32)[0, 0] = 0
    assert row.tolist() == [1.0] * 3
    assert x[0].tolist() == [0.0, 1.0, 1.0]


def test_what_was_read_or_copied_before_a_write_stays(dense) -> None:
    x = grid()
    before, host = x.clone(), x.cpu()
    y = x.T.contiguous()
    x.zero_()
    assert before.tolist() == host.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert y.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    a = polyad.zeros(3, device="dense")
    a.copy_(before[0])
    before.fill_(5)
    assert a.tolist() == [0.0, 1.0, 2.0]


def test_overlapping_copies_and_empty_windows(dense) -> None:
    x = polyad.arange(5, device="dense")
    dense.copy(x[1:]._array, x[:-1]._array)
    assert x.tolist() == [0, 0, 1, 2, 3]
    x[5:].fill_(1)
    x.view(5, 1)[:, :0].copy_(polyad.zeros(0, device="dense"))
    assert x.tolist() == [0, 0, 1, 2, 3]


def test_gradients_through_views(dense) -> None:
    x = grid().requires_grad_()
    y = x * 1
    y[:, 0] = 2
    (y.T * y.T).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [0.0, 8.0, 10.0]]


def test_threads_that_write_into_one_memory(dense) -> None:
    x = polyad.zeros(4, 50, device="dense")

    def add(number: int) -> None:
        with backends.fallback("allow"):
            for _ in range(20):
                x[number].add_(1)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.tolist() == [[20.0] * 50] * 4


def test_a_device_may_do_windows_by_itself(dense, monkeypatch) -> None:
    done = []
    gathered, scattered = DenseOnly.gathered, DenseOnly.scattered

    def gather(self, array, dtype, window, device):
        done.append(("gathered", window.shape, window.strides, window.offset))
        return gathered(self, array, dtype, window, device)

    def scatter(self, array, dtype, window, device, values):
        done.append(("scattered", window.shape, window.strides, window.offset))
        assert values.shape == window.shape
        return scattered(self, array, dtype, window, device, values)

    monkeypatch.setattr(DenseOnly, "gathered", gather)
    monkeypatch.setattr(DenseOnly, "scattered", scatter)
    x = grid()
    assert (-x).shape == (2, 3)
    assert done == []
    assert (-x[:, 1]).shape == (2,)
    x[:, 1].fill_(3)
    assert done == [("gathered", (2,), (3,), 1), ("scattered", (2,), (3,), 1)]
