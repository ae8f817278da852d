"""Tensors that are not computed yet: nobody takes them for computed ones, whatever way they are looked at."""

from __future__ import annotations

import io
import pathlib
import re

import numpy as np
import pytest

import polyad as torch
from polyad.dispatch.op import op_of
from polyad.dispatch.plan import find_plan
from polyad.history.node import PendingNode
from polyad.ops.pointwise.arithmetic import _add
from polyad.tensor.pending import PendingArray, is_pending_type, settle

KNOWS = {
    "interop/dlpack.py": "settles",
    "interop/foreign.py": "of a tensor that it has just made",
    "interop/numpy.py": "read behind an effect, and of a tensor that it has just made",
    "interop/pickling.py": "of a tensor that it has just made",
    "interop/printing.py": "settles",
    "inspection/summary.py": "tells parameters apart, by whatever object",
    "library/definition.py": "compares what an op of a user's has returned, behind dispatch",
    "multiprocessing.py": "asks is_shared first, which no pending tensor is",
    "ops/control_flow.py": "behind an effect, which is carried out",
    "ops/creation/factories.py": "settles",
    "ops/indexing/index_put.py": "behind an effect",
    "ops/indexing/subscript.py": "not while modes are active",
    "ops/memory/copying.py": "the body of an effect",
    "ops/memory/sharing.py": "a pending tensor is in no shared memory",
    "ops/memory/storage.py": "the body of an effect",
    "ops/memory/storage_types.py": "settles, or has a storage of its own",
    "ops/pointwise/arithmetic.py": "asks _make_storage, which settles",
    "ops/pointwise/complex_numbers.py": "settles",
    "ops/shaping/strided.py": "asks _make_storage, which settles",
    "optim/update.py": "the body of an effect",
    "serialization/views.py": "settles",
    "utils/checkpoint/frames.py": "of an alias of its own",
    "backend/memory.py": "counts memory that there is",
}
"""Who reads ``_storage`` outside of dispatch and history, and why a pending tensor, which has none yet, is no trap."""

INSIDE = ("dispatch", "autograd", "history", "jit", "compiler", "tensor", "graph", "transforms", "lowering", "aten")


def test_nobody_new_reads_storages_of_tensors_that_may_be_pending():
    root = pathlib.Path(torch.__file__).parent
    readers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0] not in INSIDE and re.search(r"\._storage\b", path.read_text())
    }
    assert readers == KNOWS.keys(), "call polyad.tensor.pending.settle first, and say so here"


LENDING = ("saved", "dlpack", "buffer")
"""Looks that give memory to others, who may write: a function that does so is not compared at all."""


def inside(look, pending=True):
    """What *look* gives for a pending tensor of a run that is compared, after checking that it is one."""
    found = []

    @torch.compile
    def step(w, x):
        y = w * x
        if step._region.programs and found and pending:
            assert type(y._array) is PendingArray
            assert is_pending_type(y._type)
            assert type(y._node) is PendingNode
        found.append(look(y))
        return y

    w, x = torch.ones(2, 3, requires_grad=True), torch.arange(6.0).reshape(2, 3)
    for _ in range(2):
        step(w, x)
    return found


LOOKS = {
    "shape": lambda y: (y.shape, y.ndim, len(y), y.stride(), y.numel(), y.dtype, y.device, y.requires_grad, y.is_leaf),
    "offset": lambda y: (y.storage_offset(), y.is_contiguous(), y[1].storage_offset()),
    "type": lambda y: (type(y), isinstance(y, torch.Tensor), torch.is_tensor(y)),
    "array": lambda y: np.asarray(y._array).tolist(),
    "arithmetic of arrays": lambda y: (np.add(y._array, 1) - y._array * 2).tolist(),
    "comparisons of arrays": lambda y: [(y._array != 0).tolist(), (y._array == 0).tolist(), [*map(np.sum, y._array)]],
    "pointer": lambda y: y.data_ptr() == y.data_ptr() != 0,
    "memory": lambda y: y.untyped_storage().nbytes(),
    "version": lambda y: (y._version, y._is_view(), y._base is None),
    "history": lambda y: (y.grad_fn.name(), len(y.grad_fn.next_functions), y.output_nr, y.retains_grad),
    "repr": repr,
    "saved": lambda y: torch.load(_saved(y.detach())).tolist(),
    "dlpack": lambda y: torch.from_dlpack(y.detach()).tolist(),
    "buffer": lambda y: np.array(y.detach().numpy()).tolist(),
    "data": lambda y: y.data.add_(1).tolist(),
    "hash": lambda y: hash(y) == hash(y),
}


def _saved(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name):
    eager, pending = inside(LOOKS[name], name not in LENDING)
    assert eager == pending


def test_what_asks_nothing_of_elements_computes_nothing():
    @torch.compile
    def step(x):
        y = x * 2
        LOOKS["shape"](y)
        LOOKS["type"](y)
        seen.append(type(y._array))
        return y

    seen = []
    for _ in range(3):
        step(torch.ones(2, 3))
    assert seen[-1] is PendingArray


def test_no_plan_takes_a_pending_tensor():
    plans = []

    @torch.compile
    def step(x):
        y = x * 2
        if type(y._array) is PendingArray:
            plans.append(find_plan(op_of(_add), (y, y)))
        return y

    for _ in range(3):
        step(torch.ones(2))
    assert plans
    assert all(plan.kernel is None and plan.indirect is not None for plan in plans)


def test_settling_what_is_computed_does_nothing():
    x = torch.ones(2)
    array = x._array
    settle(x)
    assert x._array is array
