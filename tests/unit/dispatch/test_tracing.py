"""Which kernel ran, and which would run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import polyad
from polyad import backends, jit
from polyad.backend import Kernel
from polyad.base.dtypes import float32, float64
from polyad.dispatch.modes import Mode
from polyad.errors import ArgumentTypeError, DeviceError, MissingKernel
from polyad_native.compiler import usable
from polyad_numpy.backend import NumpyBackend

CPU = "native" if usable() else "polyad_numpy"
"""Whose the kernels are that have a native form."""


class Sparse(NumpyBackend):
    """The host's memory with two kernels: one for float32 alone, one that is made for its signature or refuses."""

    @property
    def kernels(self) -> dict[str, Any]:
        def specialize(types):
            return np.multiply if types[0].dtype is float64 else None

        return {
            "add": Kernel(np.add, dtypes=frozenset({float32}), contiguous=True),
            "mul": Kernel(np.multiply, specialize=specialize),
        }


@pytest.fixture
def sparse() -> Iterator[str]:
    with backends.register("sparse", Sparse()):
        yield "sparse"
    backends.reset_fallback_report()


def rows(log: polyad.inspection.tracing.TraceLog) -> list[tuple[int, str, str, str]]:
    return [(entry.depth, entry.op, entry.path, entry.origin) for entry in log]


def test_kernels_casts_views_and_effects_are_told_apart() -> None:
    a, b = polyad.ones(2, 3), polyad.ones(2, 3, dtype=polyad.int64)
    with polyad.trace_dispatch() as log:
        c = a + b
        c.T.copy_(a.t())
    assert rows(log) == [
        (0, "add", "cast", ""),
        (1, "cast", "kernel", CPU),
        (1, "add", "kernel", CPU),
        (0, "permute", "view", ""),
        (0, "permute", "view", ""),
        (0, "copy_", "effect", ""),
    ]
    assert log[0].operands == ("float32 (2, 3) on cpu", "int64 (2, 3) on cpu")
    assert all(entry.line.startswith("test_tracing.py:") for entry in log)
    assert c.tolist() == a.tolist()


def test_fallbacks_are_seen(sparse: str) -> None:
    x = polyad.tensor([1.0, 2.0], device=sparse)
    with polyad.trace_dispatch() as log, backends.fallback("allow"):
        x.add(1)
        x.neg()
    assert [row[1:] for row in rows(log)] == [("add", "kernel", __name__.partition(".")[0]), ("neg", "fallback", "cpu")]


def test_what_raises_is_marked() -> None:
    with polyad.trace_dispatch() as log, pytest.raises(RuntimeError):
        polyad.ones(2) + polyad.ones(3)
    assert [(entry.op, entry.failed) for entry in log] == [("full", False), ("full", False), ("add", True)]
    assert f"FAILED in kernel of {CPU}" in str(log)
    assert (polyad.ones(2) + 1).tolist() == [2.0, 2.0]
    assert len(log) == 3


def test_results_and_gradients_are_the_same_while_traced() -> None:
    def work() -> tuple:
        x = polyad.arange(6).reshape(2, 3).float().requires_grad_()
        y = x.T * 2 + 1
        y[0].mul_(3)
        loss = (y * y).sum()
        loss.backward()
        return loss.item(), x.grad.tolist()

    wanted = work()
    with polyad.trace_dispatch() as log:
        assert work() == wanted
    names = [entry.op for entry in log if entry.depth == 0]
    assert {"backward", "item", "mul_", "sum"} <= set(names)
    assert "mul" in [entry.op for entry in log if entry.depth == 1]  # inside of backward


def test_a_written_kernel_is_told_from_a_copied_result() -> None:
    x, leaf = polyad.ones(3), polyad.ones(3, requires_grad=True)
    with polyad.trace_dispatch() as log:
        x.add_(1)
        y = leaf * 1
        y.add_(1)
    assert rows(log)[0] == (0, "add_", "kernel", CPU)
    assert rows(log)[2:] == [
        (0, "add_", "effect", ""),
        (1, "add", "kernel", CPU),
        (1, "write", "effect", ""),
    ]


def test_a_log_prints_and_is_empty_at_first() -> None:
    with polyad.trace_dispatch() as log:
        assert str(log) == "nothing ran"
        polyad.ones(2) + 1
    text = str(log)
    assert f"add(float32 (2,) on cpu; 1)  kernel of {CPU}" in text
    assert repr(log) == "<trace of 2 calls>"


def test_an_outer_capture_sees_the_same_with_and_without_tracing() -> None:
    def work(x):
        x = x + polyad.ones(2, dtype=polyad.int64)
        x.mul_(2)
        return x.sum()

    def traced(x):
        with polyad.trace_dispatch():
            return work(x)

    plain, through = jit.capture(work, polyad.ones(2)), jit.capture(traced, polyad.ones(2))
    assert [node.name for node in plain] == [node.name for node in through]


def test_modes_nest_with_themselves_and_are_left_out_of_order() -> None:
    class Count(Mode):
        seen = 0

        def dispatch(self, op, args):
            self.seen += 1
            return op.call(*args)

    outer, inner = Count(), Count()
    x = polyad.ones(1)
    with outer, inner, outer:
        x * x
    assert (outer.seen, inner.seen) == (2, 1)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    x * x
    inner.__exit__(None, None, None)
    assert (outer.seen, inner.seen) == (2, 2)


EFFECTS = {
    "tensor": lambda x: polyad.tensor([1.0]),
    "empty": lambda x: polyad.empty(2),
    "copy_": lambda x: x.copy_(polyad.ones(2)),
    "fill_": lambda x: x.fill_(1),
    "to_device": lambda x: x.to("sparse"),
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "detach": lambda x: x.detach(),
    "requires_grad_": lambda x: x.requires_grad_(),
    "set_grad": lambda x: setattr(x, "grad", None),
    "set_data": lambda x: setattr(x, "data", polyad.ones(3)),
    "select": lambda x: x.unbind(0),
    "slice": lambda x: x.split(1),
    "add_": lambda x: x.add_(1),
    "backward": lambda x: (x.requires_grad_() * 1).sum().backward(),
    "grad": lambda x: polyad.autograd.grad(x.requires_grad_().sum(), x),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_visible_work_outside_of_ops_is_seen(name: str, sparse: str) -> None:
    seen = []

    class See(Mode):
        def dispatch(self, op, args):
            seen.append(op.name)
            return op.call(*args)

    x = polyad.ones(2)
    with See():
        EFFECTS[name](x)
    assert name in seen


# ------------------------------------------------------------------------------------------------------------ explain


def test_explaining_a_kernel() -> None:
    found = polyad.explain("add", polyad.ones(2), 1)
    assert (found.op, found.path, found.origin, found.device) == ("add", "kernel", CPU, "cpu")
    assert str(found).splitlines()[0] == f"add on cpu: kernel of {CPU}"


def test_explaining_runs_nothing() -> None:
    x = polyad.ones(2)
    for op, args in (("add_", (1,)), ("copy_", (polyad.zeros(2),)), ("fill_", (0,)), ("mul_", (3,))):
        polyad.explain(op, x, *args)
    assert x.tolist() == [1.0, 1.0]
    assert x._version == 0
    with polyad.trace_dispatch() as log:
        polyad.explain("add", x, x)
    assert len(log) == 0


def test_explaining_why_not(sparse: str) -> None:
    wide, narrow = polyad.ones(2, device=sparse, dtype=float64), polyad.ones(2, device=sparse)
    refused = polyad.explain("add", wide, wide)
    assert refused.path == "fallback"
    assert "does not take float64; it takes float32" in str(refused)
    assert "would raise MissingKernel" in str(refused)
    with pytest.raises(MissingKernel):
        wide + wide
    with backends.fallback("warn"):
        assert "the host stands in, by the policy 'warn'" in str(polyad.explain("add", wide, wide))
    assert "taken (copies operands that are not row-major)" in str(polyad.explain("add", narrow, narrow))
    assert "has no form for this signature" in str(polyad.explain("mul", narrow, narrow))
    assert "taken (made for this signature)" in str(polyad.explain("mul", wide, wide))
    assert polyad.explain("neg", narrow).path == "fallback"


def test_explaining_casts_views_decompositions_and_effects(sparse: str) -> None:
    x = polyad.ones(2, 3)
    cast = polyad.explain("add", x, polyad.ones(2, 3, dtype=polyad.int64))
    assert cast.path == "cast"
    assert "other to float32" in str(cast)
    assert "input to" not in str(cast)
    assert polyad.explain(polyad.transpose, x, 0, 1).path == "view"
    assert polyad.explain("softmax", x.to(sparse), 1).path == "decomposition"
    assert polyad.explain("tensor", [1.0]).path == "effect"


def test_explaining_a_function_explains_its_first_op() -> None:
    found = polyad.explain(polyad.matmul, polyad.ones(2, 3), polyad.ones(3, 4))
    assert (found.op, found.path) == ("gemm", "kernel")


def test_explaining_what_is_wrong_raises_what_the_call_would(sparse: str) -> None:
    with pytest.raises(DeviceError, match="different devices"):
        polyad.explain("add", polyad.ones(2), polyad.ones(2, device=sparse))
    with pytest.raises(ArgumentTypeError, match="there is no op 'adq'") as caught:
        polyad.explain("adq")
    assert "add" in caught.value.fix
    with pytest.raises(ArgumentTypeError, match="3 is no op"):
        polyad.explain(3)
