"""Writing results into given memory: in-place forms and ``out=``, with guards around what may be written."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import polyad
from polyad.dispatch.op import PUBLIC
from polyad.dtypes import DType, float32
from polyad.interop.numpy import numpy_dtype

from ..calls import (
    Target,
    draw,
    function_of,
    generator,
    kwargs_of,
    magnitude_of,
    outputs_of,
    reference_of,
    result_dtypes,
)
from ..layouts import LAYOUTS, Placed, contiguous, embedded, place, poison, sliced, to_host, transposed
from ..sample import OnlyShape, Sample
from ..tolerance import allowed_error, assert_equal, is_inexact
from .gradients import at, differentiable, floating, weights


def tolerance_of(sample: Sample, dtype: DType, reference: np.ndarray, args: Any, kwargs: dict[str, Any]) -> Any:
    """The allowed error of a result that ends in *dtype*."""
    if not is_inexact(dtype):
        return 0.0
    magnitude = magnitude_of(sample, args, kwargs, (reference,))
    return allowed_error(dtype, reference, steps=sample.steps, length=sample.length, magnitude=magnitude)


def fits_in_place(sample: Sample, dtype: DType, target: Target) -> bool:
    """Whether the result of this sample can be written over its first argument, by PyTorch's rules."""
    args = draw(sample, dtype, target.seed)
    if not args or not isinstance(args[0], np.ndarray) or isinstance(sample.result, tuple):
        return False
    (result,) = result_dtypes(sample, dtype)
    place_, kwargs, wide_kwargs = (
        place(args, (contiguous,), target.device),
        *kwargs_of(sample, dtype, target.device, args),
    )
    reference = reference_of(sample, place_[1], wide_kwargs)[0]
    del kwargs
    return (
        not isinstance(reference, OnlyShape) and reference.shape == args[0].shape and result.category <= dtype.category
    )


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
    memory = placed.memory.detach().clone()
    shape, strides, offset = placed.tensor.shape, placed.tensor.stride(), placed.tensor.storage_offset()
    polyad.as_strided(memory, shape, strides, offset).fill_(0)
    return np.frombuffer(to_host(memory).tobytes(), np.uint8)


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
        reference = reference_of(sample, wide_args, wide_kwargs)[0]
        assert_equal(
            to_host(first), reference, dtype, tolerance_of(sample, dtype, reference, wide_args, wide_kwargs), what
        )
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
    dtypes = result_dtypes(sample, dtype)
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    for way, layout in [
        (way, layout)
        for way in (target.watching, target.unwatched)
        for layout in (contiguous, embedded, sliced, transposed, None)
    ]:
        tensors, wide_args, placed = place(args, (contiguous,), target.device)
        expected = reference_of(sample, wide_args, wide_kwargs)
        if any(isinstance(one, OnlyShape) for one in expected):
            return
        what = f"{sample.label} {dtype.name} out= {layout.__name__ if layout else 'empty, to be resized'}"
        if layout is None:
            outs = [contiguous(_filled((0,), result), target.device) for result in dtypes]
        else:
            outs = [
                layout(_filled(one.shape, result), target.device)
                or contiguous(_filled(one.shape, result), target.device)
                for one, result in zip(expected, dtypes)
            ]
        guards = None if layout is None else [guarded(put) for put in outs]
        given = outs[0].tensor if len(outs) == 1 else tuple(put.tensor for put in outs)
        with way():
            results = outputs_of(function_of(sample)(*tensors, **kwargs, out=given))
        for position, (one, put, reference, result_dtype) in enumerate(
            zip(results, outs, expected, dtypes, strict=True)
        ):
            name = what if len(outs) == 1 else f"{what}: result {position}"
            assert one is put.tensor, f"{name}: another tensor than out is returned"
            allowed = tolerance_of(sample, result_dtype, reference, wide_args, wide_kwargs)
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
    (result_dtype,) = result_dtypes(sample, dtype)
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    for position, value in enumerate(args):
        tensors, wide_args, _ = place(args, (contiguous,), target.device)
        (reference,) = reference_of(sample, wide_args, wide_kwargs)
        if not isinstance(value, np.ndarray) or isinstance(reference, OnlyShape) or reference.shape != value.shape:
            continue
        if tensors[position].dtype is not result_dtype:
            continue
        what = f"{sample.label} {dtype.name} out= input {position}"
        with target.unwatched():
            result = function_of(sample)(*tensors, **kwargs, out=tensors[position])
        assert result is tensors[position], f"{what}: another tensor than out is returned"
        assert_equal(
            to_host(result),
            reference,
            result_dtype,
            tolerance_of(sample, result_dtype, reference, wide_args, wide_kwargs),
            what,
        )


__all__ = [
    "check_inplace",
    "check_inplace_history",
    "check_out",
    "check_out_is_input",
    "generator",
    "has_inplace",
    "takes_out",
]
