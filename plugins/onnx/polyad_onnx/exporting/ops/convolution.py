"""Convolutions."""

from __future__ import annotations

from typing import Any

from ..registry import translates


@translates("convolution", when=lambda input, *others: input.dtype.is_floating_point)
def convolution(
    to: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Any:
    """Each window of the input weighted."""
    return to.op(
        "Conv",
        input,
        weight,
        bias,
        kernel_shape=list(weight.shape[2:]),
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        group=groups,
    )


@translates("convolution_transposed", when=lambda input, *others: input.dtype.is_floating_point)
def convolution_transposed(
    to: Any,
    input: Any,
    weight: Any,
    bias: Any,
    size: tuple[Any, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Any:
    """Each element of the input spread over a window."""
    kernel = list(weight.shape[2:])
    # What the sizes of the result leave beyond the windows is the same whatever the input's size.
    given, size = (to.graph.values[number].shape[2:] for number in (to.node.args[0].number, to.node.results[0]))
    least = [
        (count - 1) * step - 2 * pad + apart * (width - 1) + 1
        for count, step, pad, apart, width in zip(given, stride, padding, dilation, kernel, strict=True)
    ]
    rest = [whole - part for whole, part in zip(size, least, strict=True)]
    return to.op(
        "ConvTranspose",
        input,
        weight,
        bias,
        kernel_shape=kernel,
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        group=groups,
        output_padding=rest if any(rest) else None,
    )
