"""Tier 2: a backend's own kernel of a composite against the composite's decomposition."""

from __future__ import annotations

from typing import Any

import polyad
from polyad.base.dtypes import DType
from polyad.dispatch.op import OPS
from polyad.errors import PolyadError

from ..calls import Paths, Target, draw, function_of, kwargs_of, outputs_of
from ..layouts import LAYOUTS, contiguous, place, to_host
from ..sample import Sample
from ..tolerance import allowed_error, assert_equal, is_inexact, largest, wide
from .gradients import at, differentiable, floating, weights


def composites_in(
    sample: Sample, dtype: DType, target: Target, layouts: Any = (contiguous,), gradient: bool = True
) -> list[Any]:
    """The composites that the sample's call (and its gradient) reaches and that ran as one kernel: (op, args)."""
    args = draw(sample, dtype, target.seed)
    tensors, _, _ = place(args, layouts, target.device)
    kwargs, _ = kwargs_of(sample, dtype, target.device, args)
    found: list[Any] = []

    def look(paths: Paths) -> None:
        found.extend(paths.composites)

    with target.watching() as paths, polyad.no_grad():
        function_of(sample)(*tensors, **kwargs)
    look(paths)
    inputs = [at(tensors, path) for path in differentiable(sample, dtype, args)] if gradient and sample.gradient else []
    if inputs and all(one.stride() == polyad.empty(one.shape).stride() for one in inputs):
        inputs = [one.requires_grad_() for one in inputs]
        with target.watching() as paths:
            results = floating(function_of(sample)(*tensors, **kwargs))
            incoming = weights(sample, dtype, target.seed, results, target.device)
            polyad.autograd.grad([one for _, one in results], inputs, grad_outputs=incoming, allow_unused=True)
        look(paths)
    return found


def check_overrides(sample: Sample, dtype: DType, target: Target) -> None:
    """Each composite that ran as one kernel gives what its decomposition gives, in every layout."""
    for layout, layouts in {"contiguous": (contiguous,), **LAYOUTS}.items():
        if layout != "contiguous" and (not sample.layouts or (layout == "expanded" and not sample.expand)):
            continue
        found = composites_in(sample, dtype, target, layouts)
        if not found:
            return  # whether a kernel takes a call is decided by dtypes, not by layouts
        for op, given in found:
            with polyad.no_grad():
                fused, parts = outputs_of(op.call(*given)), outputs_of(op.body(*given))
            for position, (one, other) in enumerate(zip(fused, parts, strict=True)):
                what = f"{op.name} ({sample.label} {dtype.name} {layout}): the fused kernel's result {position}"
                assert one.dtype is other.dtype, f"{what} has dtype {one.dtype}, the decomposition's {other.dtype}"
                reference = wide(to_host(other))
                allowed: Any = 0.0
                if is_inexact(one.dtype):
                    size = largest(reference, *[wide(to_host(v)) for v in given if isinstance(v, polyad.Tensor)])
                    # Both are off from the truth by as much as the sample allows.
                    bound = {"steps": 2 * sample.steps + 2, "length": 2 * sample.length + 2, "magnitude": size}
                    allowed = allowed_error(one.dtype, reference, **bound)
                assert_equal(to_host(one), reference, one.dtype, allowed, what)


def override_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes in which a sample's composites are compared with their decompositions:
    none if it reaches no composite.

    Which composites a call reaches does not depend on the device, so this is found out on the host.
    """
    if sample.holds is not None:
        return ()
    for dtype in sample.dtypes:
        try:
            return sample.dtypes if reaches_composite(sample, dtype) else ()
        except PolyadError:
            continue
    return ()


def reaches_composite(sample: Sample, dtype: DType) -> bool:
    """Whether the sample's call or its gradient reaches a composite op."""
    host = Target("cpu")
    args = draw(sample, dtype, 0)
    tensors, _, _ = place(args, (contiguous,), host.device)
    kwargs, _ = kwargs_of(sample, dtype, host.device, args)
    inputs = [at(tensors, path).requires_grad_() for path in differentiable(sample, dtype, args)]
    with host.watching() as paths:
        results = floating(function_of(sample)(*tensors, **kwargs))
        if inputs:
            incoming = weights(sample, dtype, 0, results, host.device)
            polyad.autograd.grad([one for _, one in results], inputs, grad_outputs=incoming, allow_unused=True)
    return any(OPS[name].kind == "composite" for _, name in host.taken) or bool(paths.composites)
