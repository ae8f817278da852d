"""What an engine of `polyad.distributed` must do: every operation, for all dtypes and layouts, against NumPy.

    python -m polyad.distributed.run --nproc-per-node 3 -m polyad_conformance.process_groups mpi

Each check is a function of rank and size that all processes call. The references know the numbers of every process:
they follow from its rank.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import polyad
import polyad.distributed as dist
import polyad.distributed.nn as differentiable

__all__ = ["checks", "run"]

Op = dist.ReduceOp
REDUCED: dict[str, tuple[Any, ...]] = {
    "floats": (polyad.float32, polyad.float64, polyad.float16, polyad.bfloat16),
    "ints": (polyad.uint8, polyad.int8, polyad.int16, polyad.int32, polyad.int64),
    "complex": (polyad.complex64, polyad.complex128),
    "bools": (polyad.bool,),
}
FOLDS: dict[Any, Callable[[Any, Any], Any]] = {
    Op.SUM: np.add, Op.PRODUCT: np.multiply, Op.MIN: np.minimum, Op.MAX: np.maximum,
    Op.BAND: np.bitwise_and, Op.BOR: np.bitwise_or, Op.BXOR: np.bitwise_xor,
}  # fmt: skip
OPS = {
    "floats": (Op.SUM, Op.PRODUCT, Op.MIN, Op.MAX),
    "ints": tuple(FOLDS),
    "complex": (Op.SUM, Op.PRODUCT),
    "bools": (Op.BAND, Op.BOR, Op.BXOR, Op.MIN, Op.MAX),
}


def numbers(rank: int, shape: tuple[int, ...], kind: str = "floats") -> np.ndarray:
    """Small numbers of process *rank*, which every dtype of *kind* holds exactly; so are sums and products of a few."""
    drawn = np.random.default_rng(rank).integers(0, 3, shape)
    return drawn + 1j * drawn[::-1] if kind == "complex" else drawn > 0 if kind == "bools" else drawn


def layouts(values: np.ndarray, dtype: Any) -> list[polyad.Tensor]:
    """Tensors of *values* in several layouts."""
    plain = polyad.tensor(values.tolist(), dtype=dtype)
    wide = polyad.zeros(values.shape[0], 2 * values.shape[1], dtype=dtype)
    wide[:, ::2] = plain
    return [plain, plain.t().contiguous().t(), wide[:, ::2]]


def equal(found: polyad.Tensor, expected: Any, what: str = "") -> None:
    """Raise AssertionError unless *found* has the numbers *expected*."""
    theirs = polyad.tensor(np.asarray(expected).tolist(), dtype=found.dtype)
    assert polyad.equal(found.contiguous(), theirs), f"{what}: {found.tolist()} is not {theirs.tolist()}"


def check_all_reduce(rank: int, size: int) -> None:
    """Every dtype, operation and layout."""
    for kind, dtypes in REDUCED.items():
        for op in OPS[kind]:
            parts = [numbers(each, (3, 4), kind) for each in range(size)]
            expected = parts[0]
            for part in parts[1:]:
                expected = FOLDS[op](expected, part)
            for dtype in dtypes:
                for tensor in layouts(parts[rank], dtype):
                    dist.all_reduce(tensor, op)
                    equal(tensor, expected, f"{op.name} of {dtype}")


def check_mean(rank: int, size: int) -> None:
    """AVG of floats."""
    tensor = polyad.full((5,), float(rank))
    dist.all_reduce(tensor, Op.AVG)
    assert polyad.allclose(tensor, polyad.full((5,), (size - 1) / 2)), tensor


def check_empty_and_0d(rank: int, size: int) -> None:
    """No element, and one without a dimension."""
    for tensor in (polyad.zeros(0, 3), polyad.tensor(1.0)):
        dist.all_reduce(tensor)
        dist.broadcast(tensor, 0)
        rows = [polyad.empty_like(tensor) for _ in range(size)]
        dist.all_gather(rows, tensor)
        assert all(polyad.equal(row, tensor) for row in rows)


def check_broadcast(rank: int, size: int) -> None:
    """From every process, in every dtype that is moved."""
    for src in range(size):
        for dtype in (
            polyad.float32,
            polyad.bfloat16,
            polyad.bool,
            polyad.complex64,
            polyad.uint16,
            polyad.float8_e5m2,
        ):
            tensor = polyad.tensor(numbers(rank, (4, 4)).tolist(), dtype=polyad.float32).to(dtype)
            dist.broadcast(tensor, src)
            wanted = polyad.tensor(numbers(src, (4, 4)).tolist(), dtype=polyad.float32).to(dtype)
            assert polyad.equal(tensor, wanted), (src, dtype, tensor)


def check_reduce(rank: int, size: int) -> None:
    """Only the destination gets the result."""
    for dst in range(size):
        tensor = polyad.full((3,), float(rank + 1))
        dist.reduce(tensor, dst)
        if rank == dst:
            equal(tensor, np.full(3, size * (size + 1) / 2))


def check_gathers(rank: int, size: int) -> None:
    """all_gather, into a tensor, and gather; received into other layouts."""
    expected = [numbers(each, (2, 3)) for each in range(size)]
    mine = polyad.tensor(expected[rank].tolist(), dtype=polyad.float32)
    rows = [polyad.zeros(3, 2).t() for _ in range(size)]
    dist.all_gather(rows, mine)
    for row, wanted in zip(rows, expected):
        equal(row, wanted, "all_gather")
    flat = polyad.zeros(2 * size, 3)
    dist.all_gather_into_tensor(flat, mine)
    equal(flat, np.concatenate(expected), "all_gather_into_tensor")
    for dst in range(size):
        rows = [polyad.zeros(2, 3) for _ in range(size)]
        dist.gather(mine, rows if rank == dst else None, dst)
        if rank == dst:
            equal(polyad.stack(rows), np.stack(expected), "gather")


def check_scatter(rank: int, size: int) -> None:
    """From every process."""
    for src in range(size):
        parts = [polyad.full((2, 2), 10.0 * src + each) for each in range(size)]
        result = polyad.zeros(2, 2)
        dist.scatter(result, parts if rank == src else None, src)
        equal(result, np.full((2, 2), 10.0 * src + rank))


def check_reduce_scatter(rank: int, size: int) -> None:
    """Lists and whole tensors."""
    parts = [polyad.full((2,), float(rank + each)) for each in range(size)]
    expected = np.full(2, sum(each + rank for each in range(size)))
    result = polyad.zeros(2)
    dist.reduce_scatter(result, parts)
    equal(result, expected, "reduce_scatter")
    dist.reduce_scatter_tensor(result, polyad.cat(parts))
    equal(result, expected, "reduce_scatter_tensor")


def check_all_to_all(rank: int, size: int) -> None:
    """Equal parts, parts of other sizes, lists."""
    result = polyad.zeros(size)
    dist.all_to_all_single(result, polyad.arange(size) + 10.0 * rank)
    equal(result, [10.0 * each + rank for each in range(size)], "equal parts")
    sent = [each + 1 for each in range(size)]
    received = [rank + 1] * size
    result = polyad.zeros(sum(received), 2)
    dist.all_to_all_single(result, polyad.full((sum(sent), 2), float(rank)), received, sent)
    equal(result[:, 0], np.repeat(np.arange(size), received), "other sizes")
    outputs = [polyad.zeros(each + 1) for each in range(size)]
    dist.all_to_all(outputs, [polyad.full((rank + 1,), 1.0 * rank) for _ in range(size)])
    for each, output in enumerate(outputs):
        equal(output, np.full(each + 1, each), "lists")


def check_messages(rank: int, size: int) -> None:
    """send and recv around the ring, from any, with tags, in a batch."""
    if size == 1:
        return
    after, before = (rank + 1) % size, (rank - 1) % size
    work = dist.isend(polyad.full((3,), float(rank)), after)
    result = polyad.zeros(3)
    assert dist.recv(result, before) == before
    work.wait()
    equal(result, np.full(3, before))
    tags = [dist.isend(polyad.full((1,), float(tag)), after, tag=tag) for tag in (1, 2)]
    second, first = polyad.zeros(1), polyad.zeros(1)
    dist.recv(second, before, tag=2)
    dist.recv(first, before, tag=1)
    equal(polyad.cat([first, second]), [1, 2], "tags")
    for tag in tags:
        tag.wait()
    if rank == 0:
        sources = {dist.recv(polyad.zeros(1)) for _ in range(size - 1)}
        assert sources == set(range(1, size)), sources
    else:
        dist.send(polyad.zeros(1), 0)
    dist.barrier()  # or one of the next messages is the one from any
    result = polyad.zeros(3)
    batch = [dist.P2POp(dist.isend, polyad.full((3,), float(rank)), after), dist.P2POp(dist.irecv, result, before)]
    for each in dist.batch_isend_irecv(batch):
        each.wait()
    equal(result, np.full(3, before), "batch")


def check_async_order(rank: int, size: int) -> None:
    """Several operations under way at once, waited for in another order."""
    tensors = [polyad.full((1000 * (1 + number),), float(number + rank)) for number in range(6)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for number in (3, 0, 5, 1, 4, 2):
        assert works[number].wait()
        assert works[number].is_completed()
        equal(tensors[number][:2], np.full(2, sum(number + each for each in range(size))), f"number {number}")


def check_coalesced(rank: int, size: int) -> None:
    """Several tensors in one operation."""
    tensors = [polyad.full((2,), float(rank)), polyad.full((3, 2), 2.0 * rank).t()]
    dist.all_reduce_coalesced(tensors)
    total = sum(range(size))
    equal(tensors[0], np.full(2, total))
    equal(tensors[1], np.full((2, 3), 2 * total))


def check_groups(rank: int, size: int) -> None:
    """A group of some processes, one that this process is not in, subgroups."""
    members = [each for each in range(size) if each != 1]
    group = dist.new_group(members)
    if rank in members:
        tensor = polyad.full((2,), float(rank))
        dist.all_reduce(tensor, group=group)
        equal(tensor, np.full(2, sum(members)))
        assert dist.get_rank(group) == members.index(rank)
        assert dist.get_process_group_ranks(group) == members
        last = polyad.full((1,), float(rank))
        dist.broadcast(last, members[-1], group)
        equal(last, [members[-1]])
        dist.destroy_process_group(group)
    else:
        assert dist.get_rank(group) == -1
        assert dist.all_reduce(polyad.ones(1), group=group) is None
    own, all_ = dist.new_subgroups(1)
    assert len(all_) == size
    assert dist.get_process_group_ranks(own) == [rank]


def check_objects(rank: int, size: int) -> None:
    """Python objects of other lengths."""
    value = {"rank": rank, "text": "x" * rank}
    everything: list[Any] = [None] * size
    dist.all_gather_object(everything, value)
    assert everything == [{"rank": each, "text": "x" * each} for each in range(size)]
    gathered: list[Any] | None = [None] * size if rank == 0 else None
    dist.gather_object(value, gathered)
    assert rank or gathered == everything
    given: list[Any] = [1, "two", None] if rank == size - 1 else [None] * 3
    dist.broadcast_object_list(given, size - 1)
    assert given == [1, "two", None]
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, [f"for {each}" for each in range(size)] if rank == 0 else None)
    assert mine == [f"for {rank}"]


def check_gradients(rank: int, size: int) -> None:
    """Operations that have gradients."""
    x = polyad.tensor([1.0 + rank, 2.0], requires_grad=True)
    (differentiable.all_reduce(x * x) * polyad.tensor([1.0, 2.0])).sum().backward()
    equal(x.grad, [2.0 * (1 + rank) * size, 8.0 * size], "all_reduce")
    x.grad = None
    rows = differentiable.all_gather(x)
    sum((row * (each + 1)).sum() for each, row in enumerate(rows)).backward()
    equal(x.grad, np.full(2, (rank + 1.0) * size), "all_gather")


def check_versions(rank: int, size: int) -> None:
    """A tensor that backward needs and an operation has written: backward refuses."""
    x = polyad.ones(2, requires_grad=True)
    saved = x * 2
    result = saved * saved
    dist.all_reduce(saved.detach())
    try:
        result.sum().backward()
    except RuntimeError:
        return
    raise AssertionError("backward used numbers that all_reduce had overwritten")


def check_barriers(rank: int, size: int) -> None:
    """barrier and monitored_barrier."""
    dist.barrier()
    dist.monitored_barrier()


def check_errors(rank: int, size: int) -> None:
    """Calls that no process may make, refused by each before anything is sent."""
    for call in (
        lambda: dist.all_gather([polyad.zeros(1)] * (size + 1), polyad.zeros(1)),
        lambda: dist.all_gather_into_tensor(polyad.zeros(size + 1), polyad.zeros(1)),
        lambda: dist.broadcast(polyad.zeros(1), size),
        lambda: dist.all_reduce("tensor"),
        lambda: dist.all_reduce(polyad.zeros(1), "sum"),
        lambda: dist.all_reduce(polyad.zeros(1), Op.BAND),
        lambda: dist.all_reduce(polyad.zeros(1, device="meta")),
        lambda: dist.init_process_group("mpi"),
        lambda: dist.new_group([0, 0]),
    ):
        try:
            call()
        except (ValueError, TypeError, RuntimeError, NotImplementedError):
            continue
        raise AssertionError("a wrong call was not refused")


def checks() -> dict[str, Callable[[int, int], None]]:
    """All checks, by name."""
    return {name: function for name, function in globals().items() if name.startswith("check_")}


def run(rank: int, size: int) -> dict[str, str]:
    """Do all checks in this process of a group; what went wrong, by the check's name."""
    failed = {}
    for name, check in checks().items():
        try:
            check(rank, size)
        except Exception:
            failed[name] = traceback.format_exc()
        dist.barrier()
    return failed


def main(engine: str) -> int:
    """Do all checks with *engine* in the processes of a launcher; the exit code."""
    dist.init_process_group(engine)
    rank = dist.get_rank()
    failed = run(rank, dist.get_world_size())
    for name, text in failed.items():
        print(f"rank {rank}: {name}\n{text}", file=sys.stderr)
    if rank == 0:
        print(f"{len(checks()) - len(failed)} of {len(checks())} checks passed")
    dist.destroy_process_group()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "mpi"))
