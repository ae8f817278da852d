"""Generated OpenCL C has an address: `polyad ops NAME --device opencl`."""

from __future__ import annotations

import pytest

from polyad import backends


@pytest.mark.parametrize("name", ["add", "softmax", "gemm", "sum", "sort", "convolution", "cat", "adam_step"])
def test_an_op_has_an_address(opencl, name: str) -> None:
    found = backends.locate_op(name, "opencl")
    assert not [reason for reason in found.reasons if "could not be written out" in reason]
    assert found.path == "decomposition" or any(kernel.file or kernel.text for kernel in found.kernels)


def test_generated_source_is_written_out(opencl) -> None:
    found = backends.locate_op("softmax", "opencl")
    assert found.path == "lowered"
    assert found.op == "softmax"
    assert all("__kernel" in kernel.text for kernel in found.kernels)
