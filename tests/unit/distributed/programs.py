"""What the processes of the tests do: each function is called with rank and size in all processes of a group."""

from __future__ import annotations

import copy
import io
import os
import signal
import sys
import time
from datetime import timedelta

import polyad
import polyad.distributed as dist
from polyad import nn
from polyad.distributed.algorithms.ddp_comm_hooks.default_hooks import (
    allreduce_hook,
    bf16_compress_wrapper,
    fp16_compress_hook,
)
from polyad.nn.parallel import DistributedDataParallel
from polyad_conformance import process_groups


def conformance(rank, size):
    assert not process_groups.run(rank, size)


def _model():
    polyad.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 50), nn.Tanh(), nn.Linear(50, 3)
    )


def _train(model, shares, targets, steps=4, **optimizer):
    opt = polyad.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        opt.zero_grad()
        nn.functional.cross_entropy(model(shares), targets).backward()
        opt.step()


def _close(model, reference, rtol=1e-4):
    for (name, mine), theirs in zip(model.named_parameters(), reference.parameters()):
        assert polyad.allclose(mine, theirs, rtol, rtol / 100), (name, (mine - theirs).abs().max())


def _data(size):
    generator = polyad.Generator().manual_seed(1)
    x = polyad.randn(6 * size, 8, generator=generator)
    return x, polyad.randint(0, 3, (6 * size,), generator=generator)


def training(rank, size):
    """Training with parts of a batch is training with the whole, in every setting."""
    x, y = _data(size)
    mine = slice(6 * rank, 6 * rank + 6)
    whole = _model().eval()
    _train(whole, x, y)
    for settings in (
        {},
        {"gradient_as_bucket_view": True},
        {"find_unused_parameters": True},
        {"bucket_cap_mb": 0.001},
        {"static_graph": True},
        {"compressed": fp16_compress_hook},
        {"compressed": bf16_compress_wrapper(allreduce_hook)},
    ):
        hook = settings.pop("compressed", None)
        model = _model().eval()
        if rank:
            with polyad.no_grad():
                for parameter in model.parameters():
                    parameter.add_(1)  # rank 0's parameters are what counts
        parallel = DistributedDataParallel(model, **settings)
        if hook is not None:
            parallel.register_comm_hook(None, hook)
        _train(parallel, x[mine], y[mine])
        _close(model, whole, 1e-4 if hook is None else 2e-2)
    model = _model()
    _train(DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(model)), x[mine], y[mine])
    whole = _model()
    _train(whole, x, y)
    _close(model, whole)
    assert polyad.allclose(model[2].running_var, whole[2].running_var, rtol=1e-4)


def accumulation(rank, size):
    """no_sync: gradients of two halves of a batch are reduced once; and a hook for reducing."""
    x, y = _data(size)
    x, y = x[6 * rank : 6 * rank + 6], y[6 * rank : 6 * rank + 6]
    model, reference = _model().eval(), _model().eval()
    parallel = DistributedDataParallel(model)
    called = []

    def hook(state, bucket):
        called.append(bucket.index())
        assert [view.shape for view in bucket.gradients()] == [one.shape for one in bucket.parameters()]
        work = dist.all_reduce(bucket.buffer().div_(size), async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    parallel.register_comm_hook(None, hook)
    with parallel.no_sync():
        nn.functional.cross_entropy(parallel(x[:3]), y[:3]).div(2).backward()
    assert not called
    nn.functional.cross_entropy(parallel(x[3:]), y[3:]).div(2).backward()
    assert called
    everything, targets = _data(size)
    nn.functional.cross_entropy(reference(everything), targets).backward()
    for mine, theirs in zip(model.parameters(), reference.parameters()):
        assert polyad.allclose(mine.grad, theirs.grad, rtol=1e-4, atol=1e-6)


def unused(rank, size):
    """Parameters that backward does not reach: an error that names them, or zero."""

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.never = nn.Linear(2, 1), nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, x, which):
            return (self.first if which else self.second)(x)

    x = polyad.ones(1, 2)
    parallel = DistributedDataParallel(Two())
    parallel(x, True).sum().backward()
    try:
        parallel(x, True)
    except RuntimeError as error:
        assert "second.weight" in str(error)
    else:
        raise AssertionError("gradients that were never reduced were not noticed")
    model = Two()
    parallel = DistributedDataParallel(model, find_unused_parameters=True)
    for _ in range(2):
        parallel.zero_grad()
        parallel(x, rank == 0).sum().backward()
        assert polyad.allclose(model.first.bias.grad, polyad.tensor(1 / size))
        assert polyad.allclose(model.second.bias.grad, polyad.tensor((size - 1) / size))
        assert model.never.bias.grad is None


def other_models(rank, size):
    """A model that is not that of the other processes is named."""
    try:
        DistributedDataParallel(nn.Linear(2, 3 + (rank == size - 1)))
    except RuntimeError as error:
        assert f"rank {size - 1}" in str(error)
        assert "float32 (4, 2)" in str(error)
    else:
        raise AssertionError("two models were taken for one")


def dropped(rank, size):
    """An operation that nobody waits for keeps its memory until it has ended."""
    if rank == 0:
        for number in range(4):
            dist.isend(polyad.full((200_000,), float(number)), 1)
        junk = [polyad.full((200_000,), -7.0) for _ in range(20)]
        dist.barrier()
        assert len(junk) == 20
        dist.send(polyad.full((200_000,), 77.0), 1)
    elif rank == 1:
        dist.barrier()
        for number in range(4):
            received = polyad.zeros(200_000)
            dist.recv(received, 0)
            assert received.unique().tolist() == [float(number)]
        dist.irecv(polyad.zeros(200_000), 0)
        other = polyad.full((200_000,), 5.0)
        dist.barrier()
        assert other.unique().tolist() == [5.0]
        return
    else:
        dist.barrier()
    dist.barrier()


def copies(rank, size):
    """A copy of a parallel module, and one from a file, train as the original does."""
    parallel = DistributedDataParallel(nn.Linear(2, 1))
    file = io.BytesIO()
    polyad.save(parallel.state_dict(), file)
    copied = copy.deepcopy(parallel)
    copied(polyad.full((1, 2), float(rank))).sum().backward()
    assert polyad.allclose(copied.module.weight.grad, polyad.full((1, 2), (size - 1) / 2))
    assert parallel.module.weight.grad is None
    assert copied.process_group is parallel.process_group


def buffers_and_dtypes(rank, size):
    """All processes evaluate with the same statistics after a step; a module may be converted later."""
    parallel = DistributedDataParallel(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
    parallel(polyad.randn(4, 3) + rank).sum().backward()
    parallel.eval()
    with polyad.no_grad():
        result = parallel(polyad.ones(2, 3))
    rows = [polyad.empty_like(result) for _ in range(size)]
    dist.all_gather(rows, result)
    assert all(polyad.equal(row, result) for row in rows)
    parallel.double().zero_grad()
    exact = 1 + 2.0**-40
    parallel.module[0](polyad.ones(1, 3).double())
    parallel(polyad.full((1, 3), exact, dtype=polyad.float64)).sum().backward()
    assert parallel.module[0].weight.grad.dtype is polyad.float64
    assert all(place.dtype is polyad.float64 for bucket in parallel.reducer._buckets for place in bucket.gradients())


def other_calls(rank, size):
    """With DETAIL, calls that differ between processes are named, with both sides."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    try:
        dist.all_reduce(polyad.ones(3 + (rank == size - 1)))
    except dist.DistBackendError as error:
        assert "all_reduce of float32 (4,)" in str(error)
        assert "all_reduce of float32 (3,)" in str(error)
    else:
        raise AssertionError("two shapes were reduced together")
    finally:
        dist.set_debug_level(dist.DebugLevel.OFF)
    dist.barrier()


def destroyed(rank, size):
    """A group that was destroyed says so."""
    group = dist.new_group()
    dist.destroy_process_group(group)
    try:
        dist.all_reduce(polyad.ones(1), group=group)
    except ValueError as error:
        assert "destroyed" in str(error)
    else:
        raise AssertionError("a destroyed group worked")
    dist.barrier()


def left(rank, size):
    """A process that ends without a farewell is named soon, though its exit code is 0."""
    dist.barrier()
    if rank == size - 1:
        sys.exit(0)
    begin = time.monotonic()
    try:
        dist.all_reduce(polyad.ones(3))
    except dist.DistBackendError as error:
        assert f"rank {size - 1} is lost" in str(error)
        assert time.monotonic() - begin < 30
        print(f"rank {rank} saw it")
        sys.stdout.flush()
    os._exit(0)


def alone(rank, size):
    """A group that not all of its members make does not hang."""
    if rank == 0:
        try:
            dist.new_group([0, 1])
        except dist.DistBackendError as error:
            assert "new_group of ranks [0, 1]" in str(error)
            print("rank 0 saw it")
            sys.stdout.flush()
    else:
        time.sleep(4)
    os._exit(0)


def forked(rank, size):
    """A forked process knows its rank, and cannot take part."""
    child = os.fork()
    if not child:
        try:
            dist.barrier()
        except dist.DistBackendError as error:
            os._exit(7 if dist.get_rank() == rank and "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    dist.barrier()


def lost(rank, size):
    """A process that is killed is named by the others, soon."""
    dist.barrier()
    if rank == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.all_reduce(polyad.ones(3))
    except dist.DistBackendError as error:
        assert f"rank {size - 1} is lost" in str(error), error
        assert "all_reduce of float32 (3,)" in str(error)
        print(f"rank {rank} saw it")
        sys.stdout.flush()
        os._exit(0)
    raise AssertionError("the operation ended without a process")


def late(rank, size):
    """A process that does not come is named after the timeout, with what it does."""
    dist.barrier()
    if rank == 0:
        try:
            dist.all_reduce(polyad.ones(3))
        except dist.DistBackendError as error:
            assert "did not end" in str(error)
            assert "rank 1" in str(error)
            assert "barrier, operation 1" in str(error)
            print("rank 0 saw it")
            sys.stdout.flush()
    else:
        polyad.distributed.get_rank()
        time.sleep(3)
    os._exit(0)


if __name__ == "__main__":
    seconds = 1.5 if {"late", "alone"} & set(sys.argv) else 60
    dist.init_process_group("mpi", timeout=timedelta(seconds=seconds))
    for name in sys.argv[1:]:
        globals()[name](dist.get_rank(), dist.get_world_size())
        print(f"{name} passed")
    dist.destroy_process_group()
