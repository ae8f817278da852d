"""Writing results into given memory: in-place forms and ``out=``, with guards around what may be written."""

from __future__ import annotations

import inspect

import numpy as np

import polyad
from polyad.base.dtypes import DType, float32
from polyad.dispatch.op import PUBLIC
from polyad.interop.numpy import numpy_dtype

from ..calls import (
    Expected,
    Target,
    draw,
    function_of,
    generator,
    kwargs_of,
    outputs_of,
    reference_of,
    result_dtypes,
)
from ..layouts import LAYOUTS, Placed, contiguous, embedded, place, poison, sliced, to_host, transposed
from ..sample import OnlyShape, Sample
from ..tolerance import assert_equal, wide
from .gradients import at, differentiable, floating, weights


def fits_in_place(sample: Sample, dtype: DType, target: Target) -> bool:
    """Whether the result of this sample can be written over its first argument, by PyTorch's rules."""
    args = draw(sample, dtype, target.seed)
    if not args or not isinstance(args[0], np.ndarray) or isinstance(sample.result, tuple):
        return False
    (result,) = result_dtypes(sample, dtype)
    if result.category > dtype.category:
        return False
    _, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    (reference,) = reference_of(sample, wide(args), wide_kwargs)
    return not isinstance(reference, OnlyShape) and reference.shape == args[0].shape


def _inplace_name(sample: Sample) -> str:
    return sample.op.rpartition(".")[2] + "_"


def has_inplace(sample: Sample) -> bool:
    """Whether the op has an in-place form."""
    public = PUBLIC.get(sample.op)
    return public is not None and public.inplace


def guarded(placed: Placed) -> np.ndarray:
    """The bytes that lie in the memory of *placed* but not in its tensor, as the memory with the tensor's
    elements zeroed.
    """
    memory = np.ascontiguousarray(to_host(placed.memory)).reshape(-1)
    if placed.tensor.numel():
        strides = [stride * memory.itemsize for stride in placed.tensor.stride()]
        begin = memory[placed.tensor.storage_offset() :]
        np.lib.stride_tricks.as_strided(begin, placed.tensor.shape, strides)[...] = 0
    return memory.view(np.uint8)


def check_inplace(sample: Sample, dtype: DType, target: Target) -> None:
    """``x.op_()``: returns x, which holds the result, in every layout; the version counts; nothing else is written."""
    if not fits_in_place(sample, dtype, target):
        return
    args = draw(sample, dtype, target.seed)
    name = _inplace_name(sample)
    ways = [
        (way, *entry)
        for way in (target.watching, target.unwatched)
        for entry in LAYOUTS.items()
        if entry[0] != "expanded"
    ]
    expected: Expected | None = None
    for way, layout, layouts in ways:
        what = f"{sample.label} {dtype.name} in place, {layout}"
        tensors, wide_args, placed = place(args, layouts, target.device)
        kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
        first = tensors[0]
        alias = polyad.as_strided(first, first.shape, first.stride(), first.storage_offset())
        guards, version = guarded(placed[0]), first._version
        with way():
            result = getattr(first, name)(*tensors[1:], **kwargs)
        assert result is first, f"{what}: {name} returns another tensor than self"
        assert first._version > version, f"{what}: the version is still {version} after the write"
        assert first.dtype is dtype, f"{what}: self became {first.dtype}"
        expected = expected or Expected.of(sample, dtype, wide_args, wide_kwargs, into=(dtype,))
        assert_equal(to_host(first), expected.references[0], dtype, expected.allowed[0], what)
        assert to_host(alias).tobytes() == to_host(first).tobytes(), f"{what}: a view of self shows other values"
        assert np.array_equal(guarded(placed[0]), guards), f"{what}: memory outside of self was written"
        for position, put in enumerate(placed[1:], 1):
            put.assert_unchanged(f"{what}: input {position}")


def check_inplace_history(sample: Sample, dtype: DType, target: Target) -> None:
    """The in-place form has the functional form's gradient, and a saved tensor that it overwrote is noticed."""
    args = draw(sample, dtype, target.seed)
    paths = differentiable(sample, dtype, args)
    if (0,) not in paths or not fits_in_place(sample, dtype, target) or not args[0].size:
        return
    kwargs, _ = kwargs_of(sample, dtype, target.device, args)
    gradients = []
    for inplace in (False, True):
        tensors, _, _ = place(args, (contiguous,), target.device)
        inputs = [at(tensors, path).requires_grad_() for path in paths]
        with target.watching():
            if inplace:
                result = inputs[0].clone()
                getattr(result, _inplace_name(sample))(*tensors[1:], **kwargs)
            else:
                result = function_of(sample)(*tensors, **kwargs)
            (incoming,) = weights(sample, dtype, target.seed, floating(result), target.device)
            gradients.append([to_host(one) for one in polyad.autograd.grad(result, inputs, grad_outputs=incoming)])
    for path, functional, written in zip(paths, *gradients):
        what = f"{sample.label} {dtype.name}: gradient of input {path[0]} through {_inplace_name(sample)}"
        assert np.allclose(written, functional, rtol=1e-6 if dtype is float32 else 1e-3, atol=1e-6, equal_nan=True), (
            f"{what} differs from the functional form's:\n{written}\nand\n{functional}"
        )

    tensors, _, _ = place(args, (contiguous,), target.device)
    leaf = tensors[0].requires_grad_()
    saved = leaf.clone()
    square = saved * saved
    with target.watching():
        getattr(saved, _inplace_name(sample))(*tensors[1:], **kwargs)
    try:
        square.backward(polyad.ones_like(square))
    except RuntimeError as error:
        text = str(error)
    else:
        raise AssertionError(
            f"{sample.label}: backward used a saved tensor that {_inplace_name(sample)} overwrote, without an error"
        )
    assert _inplace_name(sample) in text, (
        f"{sample.label}: the error about the changed tensor does not name {_inplace_name(sample)}:\n{text}"
    )


def takes_out(sample: Sample) -> bool:
    """Whether the sample's function has a keyword ``out``."""
    return "out" in inspect.signature(function_of(sample)).parameters


def _filled(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    twin = numpy_dtype(dtype)
    return np.full(shape, poison(twin), twin)


def check_out(sample: Sample, dtype: DType, target: Target) -> None:
    """``out=``: the tensor given is returned and holds the result, whatever its strides; an empty one is resized."""
    args = draw(sample, dtype, target.seed)
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    expected = Expected.of(sample, dtype, wide(args), wide_kwargs)
    if not expected.defined:
        return
    for way, layout in [
        (way, layout)
        for way in (target.watching, target.unwatched)
        for layout in (contiguous, embedded, sliced, transposed, None)
    ]:
        tensors, _, placed = place(args, (contiguous,), target.device)
        what = f"{sample.label} {dtype.name} out= {layout.__name__ if layout else 'empty, to be resized'}"
        if layout is None:
            outs = [contiguous(_filled((0,), result), target.device) for result in expected.dtypes]
        else:
            filled = [_filled(one.shape, result) for one, result in zip(expected.references, expected.dtypes)]
            outs = [layout(one, target.device) or contiguous(one, target.device) for one in filled]
        guards = None if layout is None else [guarded(put) for put in outs]
        given = outs[0].tensor if len(outs) == 1 else tuple(put.tensor for put in outs)
        with way():
            results = outputs_of(function_of(sample)(*tensors, **kwargs, out=given))
        for position, (one, put, reference, result_dtype, allowed) in enumerate(
            zip(results, outs, expected.references, expected.dtypes, expected.allowed, strict=True)
        ):
            name = what if len(outs) == 1 else f"{what}: result {position}"
            assert one is put.tensor, f"{name}: another tensor than out is returned"
            assert_equal(to_host(put.tensor), reference, result_dtype, allowed, name)
            if guards is not None:
                assert np.array_equal(guarded(put), guards[position]), f"{name}: memory outside of out was written"
        for position, put in enumerate(placed):
            put.assert_unchanged(f"{what}: input {position}")


def check_out_is_input(sample: Sample, dtype: DType, target: Target) -> None:
    """``out=`` may be one of the inputs, if the result fits into it."""
    args = draw(sample, dtype, target.seed)
    if isinstance(sample.result, tuple):
        return
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    expected = Expected.of(sample, dtype, wide(args), wide_kwargs)
    (reference,), (result_dtype,), (allowed,) = expected.references, expected.dtypes, expected.allowed
    if not expected.defined:
        return
    twin = numpy_dtype(result_dtype)
    for position, value in enumerate(args):
        if not isinstance(value, np.ndarray) or reference.shape != value.shape or value.dtype != twin:
            continue
        tensors, _, _ = place(args, (contiguous,), target.device)
        what = f"{sample.label} {dtype.name} out= input {position}"
        with target.unwatched():
            result = function_of(sample)(*tensors, **kwargs, out=tensors[position])
        assert result is tensors[position], f"{what}: another tensor than out is returned"
        assert_equal(to_host(result), reference, result_dtype, allowed, what)


__all__ = [
    "check_inplace",
    "check_inplace_history",
    "check_out",
    "check_out_is_input",
    "generator",
    "has_inplace",
    "takes_out",
]
