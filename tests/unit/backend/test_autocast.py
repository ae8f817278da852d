"""Under autocast on an accelerator the ops that run get the dtypes that the policy says, and not only the results."""

from __future__ import annotations

from typing import Any

import pytest

import polyad
from polyad.nn import functional as F

half, single = "float16", "float32"

# Each is called with a function that makes float32 tensors of a shape, and one for float16; then the op that must have
# run, and the dtype of what it was given.
CALLS: dict[str, tuple[Any, str, str]] = {
    "matmul": (lambda t, h: t(2, 3) @ t(3, 2), "gemm", half),
    "matmul of halves": (lambda t, h: h(2, 3) @ h(3, 2), "gemm", half),
    "linear": (lambda t, h: F.linear(t(2, 3), t(4, 3), t(4)), "linear", half),
    "bmm": (lambda t, h: polyad.bmm(t(2, 2, 3), t(2, 3, 2)), "bmm", half),
    "conv2d": (lambda t, h: F.conv2d(t(1, 2, 5, 5), t(3, 2, 2, 2)), "convolution", half),
    "exp": (lambda t, h: polyad.exp(h(3)), "exp", single),
    "log": (lambda t, h: polyad.log(h(3)), "log", single),
    "pow": (lambda t, h: h(3) ** 2, "pow", single),
    "sum": (lambda t, h: polyad.sum(h(3)), "sum", single),
    "cumsum": (lambda t, h: polyad.cumsum(h(3), 0), "cumsum", single),
    "softmax": (lambda t, h: polyad.softmax(h(3), 0), "softmax", single),
    "mse_loss": (lambda t, h: F.mse_loss(h(3), h(3)), "sub", single),
    "cat": (lambda t, h: polyad.cat([h(3), t(3)]), "cat", single),
    "cat of halves": (lambda t, h: polyad.cat([h(3), h(3)]), "cat", half),
    "add": (lambda t, h: h(3) + h(3), "add", half),
    "relu": (lambda t, h: polyad.relu(h(3)), "relu", half),
    "relu in float32": (lambda t, h: polyad.relu(t(3)), "relu", single),
    "max": (lambda t, h: h(3).max(), "max", half),
}


@pytest.mark.parametrize("name", CALLS)
def test_dtypes_of_what_ran(name, fake) -> None:
    call, op, wanted = CALLS[name]

    def make(dtype):
        return lambda *shape: polyad.ones(*shape, dtype=dtype, device="fake")

    tensors = make(polyad.float32), make(polyad.float16)
    with polyad.autocast("fake", dtype=polyad.float16), polyad.trace_dispatch() as log:
        call(*tensors)
    ran = [entry for entry in log if entry.op.strip("_").startswith(op)]
    assert ran, f"{op} is not among {[entry.op for entry in log]}"
    given = {word for operand in ran[-1].operands for word in operand.split() if word.startswith("float")}
    assert given == {wanted}, log


def test_every_policy_is_called() -> None:
    assert {wanted for _, _, wanted in CALLS.values()} == {half, single}
