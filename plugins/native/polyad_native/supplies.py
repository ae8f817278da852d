"""Which op has a native kernel, and from how many elements on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from polyad.backend.interface import KernelSupply, Signature

from .choosing import Call, chosen

PRIORITY = 1
"""Above NumPy's kernels, below what others bring for the same ops."""
PRODUCTS = 1 << 10
CONVOLUTIONS = 1 << 10


def supplies() -> Iterator[KernelSupply]:
    """A kernel for each op."""
    from . import attention, convolutions, products
    from .generated import generated

    for op, make in {
        "gemm": products.gemm, "mm": products.mm, "bmm": products.bmm, "linear": products.linear,
    }.items():  # fmt: skip
        yield KernelSupply("cpu", op, chosen(op, make, PRODUCTS, out=False), PRIORITY)
    for op, make in {
        "convolution": convolutions.convolution,
        "convolution_transposed": convolutions.convolution_transposed,
        "convolution_weight_grad": convolutions.convolution_weight_grad,
    }.items():
        yield KernelSupply("cpu", op, chosen(op, make, CONVOLUTIONS, out=False), PRIORITY)
    for op, make in {"attention": attention.attention, "attention_backward": attention.attention_backward}.items():
        yield KernelSupply("cpu", op, chosen(op, make, CONVOLUTIONS, out=False), PRIORITY)
    for op, make, least in generated():
        yield KernelSupply("cpu", op, chosen(op, make, least), PRIORITY)
