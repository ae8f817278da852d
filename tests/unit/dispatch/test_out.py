"""``out=`` of every function that has it: in gaps of other memory, resized there, over an operand, over conjugates.

The calls are the conformance samples, in the first dtype of each.
"""

from __future__ import annotations

import inspect
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import polyad
from polyad import Tensor
from polyad.base.dtypes import complex64, float32
from polyad.dispatch.op import PUBLIC
from polyad_conformance.calls import draw, kwargs_of
from polyad_conformance.sample import Sample
from polyad_conformance.samples import families

BY_CHANCE = frozenset({"empty"})
"""What is in the memory of these results is anybody's guess."""


@cache
def samples() -> dict[str, Sample]:
    """The first sample of each public function that has ``out``."""
    found: dict[str, Sample] = {}
    for of_family, _ in families().values():
        for sample in of_family:
            public = PUBLIC.get(sample.op)
            if public is not None and "out" in inspect.signature(public.call).parameters and sample.call is None:
                found.setdefault(sample.op, sample)
    return found


def made(value: Any) -> Any:
    """*value* with tensors for arrays."""
    if isinstance(value, (list, tuple)):
        return [made(item) for item in value]
    return polyad.tensor(value) if isinstance(value, np.ndarray) else value


@cache
def call_of(path: str) -> Any:
    """The function's sample as a call that takes ``out`` alone; the same random numbers each time."""
    sample = samples()[path]
    dtype = float32 if float32 in sample.dtypes else sample.dtypes[0]
    args = draw(sample, dtype, 0)
    kwargs, _ = kwargs_of(sample, dtype, "cpu", args)

    def call(**out: Any) -> Any:
        polyad.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return PUBLIC[path].call(*made(args), **{name: made(value) for name, value in kwargs.items()}, **out)

    return call


@cache
def plain_of(path: str) -> list[Tensor]:
    """The results without ``out``."""
    return parts(call_of(path)())


def poisoned(like: Tensor) -> tuple[Tensor, Tensor]:
    """Memory full of ones, and a window of *like*'s shape that takes every second element along each dimension."""
    spread = tuple(2 * size for size in like.shape)
    memory = polyad.full((int(np.prod(spread)) + 3,), 1, dtype=like.dtype)
    strides = [2 * stride for stride in polyad.empty(spread, dtype=like.dtype).stride()]
    return memory, memory.as_strided(like.shape, strides, 3)


def parts(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def as_out(tensors: list[Tensor]) -> Any:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


@pytest.mark.parametrize("path", sorted(samples()))
def test_out_is_written_where_it_lies(path: str) -> None:
    call = call_of(path)
    plain = plain_of(path)
    windows = [poisoned(one) for one in plain]
    written = parts(call(out=as_out([window for _, window in windows])))
    for one, result, (memory, window) in zip(plain, written, windows, strict=True):
        assert result is window
        if path not in BY_CHANCE:
            np.testing.assert_array_equal(window.numpy(), one.numpy())
        rest = memory.clone()
        rest.as_strided(window.shape, window.stride(), window.storage_offset()).fill_(1)
        assert (rest == 1).all(), "it was written to beside the window"


@pytest.mark.parametrize("path", sorted(samples()))
def test_out_of_another_shape_is_resized_in_its_memory(path: str) -> None:
    call = call_of(path)
    plain = plain_of(path)
    memories = [polyad.full((one.numel() + 6,), 1, dtype=one.dtype) for one in plain]
    outs = [memory.as_strided((2, 2) if one.shape != (2, 2) else (3,), (1,) * (2 - (one.shape == (2, 2))), 2)
            for one, memory in zip(plain, memories, strict=True)]  # fmt: skip
    shapes = [out.shape for out in outs]
    written = parts(call(out=as_out(outs)))
    for one, memory, result, shape in zip(plain, memories, written, shapes, strict=True):
        if result.shape == shape != one.shape:
            assert one.numel() == result.numel()  # numbers that are counted are laid down in any shape
            continue
        assert result.shape == one.shape
        assert result.is_contiguous()
        assert result.storage_offset() == 2
        if path not in BY_CHANCE:
            np.testing.assert_array_equal(memory[2 : one.numel() + 2].numpy(), one.reshape(-1).numpy())
        assert (memory[:2] == 1).all()
        assert (memory[one.numel() + 2 :] == 1).all()


@pytest.mark.parametrize("path", sorted(samples()))
def test_out_that_a_conjugated_tensor_would_miss_is_refused(path: str) -> None:
    call = call_of(path)
    plain = plain_of(path)
    bases = [polyad.zeros(one.shape, dtype=complex64) for one in plain]
    with pytest.raises(RuntimeError, match=r"would miss the write|cannot hold|was given"):
        call(out=as_out([base.conj() for base in bases]))
    assert not any(base.any() for base in bases)


# ------------------------------------------------------------------------------------------------ what is told, and how


def test_a_resize_that_loses_elements_warns() -> None:
    x = polyad.ones(2)
    with pytest.warns(UserWarning, match=r"of shape \(3,\) was resized to the result's, \(2,\)"):
        polyad.add(x, 1, out=polyad.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        polyad.add(x, 1, out=polyad.zeros(0))
        polyad.add(x, 1, out=polyad.zeros(3).resize_(0))
        polyad.zeros(2, out=polyad.ones(3))


def test_counted_numbers_are_laid_down_in_any_shape() -> None:
    x = polyad.zeros(3, 4)
    polyad.arange(0, 6, out=x.narrow(1, 1, 2))
    assert x.tolist() == [[0, 0, 1, 0], [0, 2, 3, 0], [0, 4, 5, 0]]
    x = polyad.zeros(3, 4)
    polyad.arange(0, 4, out=x.narrow(1, 1, 2))
    assert x.tolist() == [[0, 0, 1, 2], [3, 0, 0, 0], [0, 0, 0, 0]]


def test_a_result_longer_than_the_memory_leaves_that_alone() -> None:
    x = polyad.zeros(2, 2)
    y = x[:1]
    with pytest.warns(UserWarning, match="was resized"):
        polyad.add(polyad.ones(3, 2), 1, out=y)
    assert y.tolist() == [[2, 2]] * 3
    assert not x.any()


def test_wider_dtypes_get_the_converted_result() -> None:
    x = polyad.tensor([[0.5, 1.5], [0.0, 2.0]])
    assert polyad.sum(x, 0, out=polyad.empty(0, dtype=polyad.float64)).tolist() == [0.5, 3.5]
    assert polyad.all(x, 0, out=polyad.empty(0, dtype=polyad.float32)).tolist() == [0.0, 1.0]
    assert polyad.nonzero(x > 1, out=polyad.empty(0, dtype=polyad.float32)).tolist() == [[0.0, 1.0], [1.0, 1.0]]
    with pytest.raises(RuntimeError, match="cannot hold"):
        polyad.exp(x, out=polyad.empty(0, dtype=polyad.int64))


def test_out_that_requires_a_gradient() -> None:
    with pytest.raises(RuntimeError, match="has no gradient"):
        polyad.add(polyad.ones(2), 1, out=polyad.ones(2, requires_grad=True))
    with polyad.no_grad(), pytest.raises(RuntimeError, match="cannot be resized"):
        polyad.add(polyad.ones(2), 1, out=polyad.ones(3, requires_grad=True))


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_a_dtype_beside_out_is_that_of_out(name: str) -> None:
    reduce, x = getattr(polyad, name), polyad.ones(3, dtype=polyad.int32)
    args = (0,)
    out = polyad.empty(reduce(x, *args).shape, dtype=float32)
    assert reduce(x, *args, dtype=float32, out=out).dtype is float32
    with pytest.raises(RuntimeError, match=r"out: dtype=polyad\.int16 was given"):
        reduce(x, *args, dtype=polyad.int16, out=out)
