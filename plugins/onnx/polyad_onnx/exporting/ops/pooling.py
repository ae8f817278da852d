"""Poolings."""

from __future__ import annotations

from typing import Any

from ..registry import translates


@translates("max_pool")
def max_pool(
    to: Any,
    input: Any,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> Any:
    """The largest element of each window."""
    return to.op(
        "MaxPool",
        input,
        kernel_shape=list(kernel),
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        ceil_mode=int(ceil_mode),
    )
