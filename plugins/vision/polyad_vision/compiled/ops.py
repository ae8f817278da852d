"""torchvision's ops, by the schemas of its compiled library, with gradients; `register` registers them.

torchvision's Python part registers gradients of its own over these, in terms of the same backward ops. Quantized boxes
are not computed: calling ``qnms`` or ``qroi_align`` raises NotImplementedError.
"""

from __future__ import annotations

from typing import Any

import polyad
from polyad import library

from . import boxes, deformable, regions

_BINS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_CONVOLUTION = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask"
)
_QUANTIZED = "float input_scale, int input_zero_point, float rois_scale, int rois_zero_point"

OPS: dict[str, Any] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": boxes.nms,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": None,
    f"roi_align(Tensor input, Tensor rois, {_BINS}, int sampling_ratio, bool aligned) -> Tensor": regions.roi_align,
    f"qroi_align(Tensor input, Tensor rois, {_QUANTIZED}, {_BINS}, int sampling_ratio, bool aligned) -> Tensor": None,
    f"roi_pool(Tensor input, Tensor rois, {_BINS}) -> (Tensor, Tensor)": regions.roi_pool,
    f"ps_roi_align(Tensor input, Tensor rois, {_BINS}, int sampling_ratio) -> (Tensor, Tensor)": regions.ps_roi_align,
    f"ps_roi_pool(Tensor input, Tensor rois, {_BINS}) -> (Tensor, Tensor)": regions.ps_roi_pool,
    f"deform_conv2d({_CONVOLUTION}) -> Tensor": deformable.deform_conv2d,
    f"_roi_align_backward(Tensor grad, Tensor rois, {_BINS}, {_SIZE}, int sampling_ratio, bool aligned) -> Tensor": (
        regions.roi_align_backward
    ),
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_BINS}, {_SIZE}) -> Tensor": (
        regions.roi_pool_backward
    ),
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, int sampling_ratio, {_SIZE})"
    " -> Tensor": regions.ps_roi_align_backward,
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, {_SIZE}) -> Tensor": (
        regions.ps_roi_pool_backward
    ),
    f"_deform_conv2d_backward(Tensor grad, {_CONVOLUTION}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)": (
        deformable.deform_conv2d_backward
    ),
    "_cuda_version() -> int": lambda: -1,
}
"""The kernels by schema; None for what is not computed."""


def register() -> library.Library:
    """Register the ops, for as long as the library is kept."""
    made = library.Library("torchvision", "FRAGMENT")
    for schema, kernel in OPS.items():
        name = made.define(schema)
        if kernel is not None:
            made.impl(name, kernel, "CompositeExplicitAutograd")
    for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool"):
        _register_pooling_gradient(made, name)
    library.register_autograd(
        "torchvision::deform_conv2d", _convolution_backward, setup_context=_save_convolution, lib=made
    )
    return made


def _register_pooling_gradient(made: library.Library, name: str) -> None:
    """Give a pooling op the gradient that its backward op computes."""

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[1], *(output[1:] if isinstance(output, tuple) else ()))
        ctx.size, ctx.bins, ctx.sampling = tuple(inputs[0].shape), inputs[2:5], inputs[5:]

    def backward(ctx: Any, grad: Any, *unused: Any) -> tuple[Any, ...]:
        op = getattr(polyad.ops.torchvision, f"_{name}_backward")
        # The ratio is behind the size for roi_align, and before it for ps_roi_align.
        before, behind = ((), ctx.sampling) if name == "roi_align" else (ctx.sampling, ())
        gradient = op(grad, *ctx.saved_tensors, *ctx.bins, *before, *ctx.size, *behind)
        return (gradient, *[None] * (4 + len(ctx.sampling)))

    library.register_autograd(f"torchvision::{name}", backward, setup_context=setup_context, lib=made)


def _save_convolution(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs[:5])
    ctx.rest = inputs[5:]


def _convolution_backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
    gradients = polyad.ops.torchvision._deform_conv2d_backward(grad, *ctx.saved_tensors, *ctx.rest)
    return (*gradients, *[None] * len(ctx.rest))
