"""Optimizer steps, fused: every array is read and written in chunks that stay in the cache, and nothing is allocated.

A kernel given ``out`` works in place when out is its operands, which is how optimizers call it. The passes over a chunk
are as few as NumPy allows, since memory decides their cost. They run on one thread: with two, on two cores, the wait
for the interpreter lock and BLAS's own waiting threads cost more than the second thread gains (measured for a
perceptron of 270,000 parameters).

To add a step: a quiet function that takes out last, calls `_in_place` and loops over `_chunks`, and a row in `KERNELS`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import complex64, complex128, float32, float64

from ...cache import CHUNK
from ...order import arranged
from ...quiet import quiet

_add, _divide, _maximum, _multiply = np.add, np.divide, np.maximum, np.multiply
_negative, _sqrt, _square, _subtract = np.negative, np.sqrt, np.square, np.subtract


class _Scratch(threading.local):
    """Working memory of a chunk, for each thread, dtype and purpose."""

    def __init__(self) -> None:
        self.memory: dict[tuple[np.dtype[Any], int], Any] = {}

    def like(self, array: Any, purpose: int = 0) -> Any:
        """An array of at most CHUNK elements with unspecified contents and *array*'s shape and dtype."""
        key = array.dtype, purpose
        memory = self.memory.get(key)
        if memory is None:
            memory = self.memory[key] = np.empty(CHUNK, array.dtype)
        return memory[: array.size] if array.ndim == 1 else memory[: array.size].reshape(array.shape)


_scratch = _Scratch()


def _in_place(operands: Sequence[Any], out: Sequence[Any] | None) -> tuple[Sequence[Any], Sequence[Any] | None]:
    """The arrays to work on in place of *operands*, and where to copy their values afterwards, if anywhere."""
    if out is None:
        return [arranged(operand.copy(), operand) for operand in operands], None
    for target, operand in zip(out, operands):
        if target is not operand:
            return [operand.copy() for operand in operands], out
    return operands, None


def _deliver(arrays: Sequence[Any], out: Sequence[Any] | None) -> tuple[Any, ...]:
    for target, array in zip(out or (), arrays):
        np.copyto(target, array)
    return tuple(arrays if out is None else out)


def _chunks(first: Any, *others: Any) -> Sequence[tuple[Any, ...]]:
    """Matching chunks of the arrays, each with scratch. Raises ValueError unless all shapes are equal."""
    contiguous = first.flags.c_contiguous
    for array in others:
        if array.shape != first.shape:
            raise ValueError(f"shapes {first.shape} and {array.shape} differ")
        contiguous = contiguous and array.flags.c_contiguous
    size = first.size
    if size <= CHUNK:
        return ((first, *others, _scratch.like(first)),)
    if not contiguous:
        # Rare, so not worth a clever order of traversal: a single chunk, which NumPy's own loops walk.
        return ((first, *others, np.empty(first.shape, first.dtype)),)
    flat = [first.reshape(-1), *[array.reshape(-1) for array in others]]
    chunks = []
    for start in range(0, size, CHUNK):
        parts = [array[start : start + CHUNK] for array in flat]
        chunks.append((*parts, _scratch.like(parts[0])))
    return chunks


def _direction(param: Any, grad: Any, weight_decay: float, maximize: bool) -> Any:
    """The gradient of what is minimised: *grad* itself, or working memory of its own."""
    if not weight_decay and not maximize:
        return grad
    scratch = _scratch.like(param, 1) if param.size <= CHUNK else np.empty(param.shape, param.dtype)
    if weight_decay:
        _multiply(param, weight_decay, scratch)
        return (_subtract if maximize else _add)(scratch, grad, scratch)
    return _negative(grad, scratch)


@quiet
def _sgd(param: Any, grad: Any, lr: float, weight_decay: float, maximize: bool, out: Any) -> Any:
    (target,), copy_to = _in_place((param,), None if out is None else (out,))
    for p, g, work in _chunks(target, grad):
        _multiply(_direction(p, g, weight_decay, maximize), lr, work)
        _subtract(p, work, p)
    return _deliver((target,), None if copy_to is None else (out,))[0]


@quiet
def _sgd_momentum(
    param: Any,
    grad: Any,
    momentum_buffer: Any,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    out: Any,
) -> tuple[Any, ...]:
    targets, copy_to = _in_place((param, momentum_buffer), out)
    for p, buffer, g, work in _chunks(*targets, grad):
        direction = _direction(p, g, weight_decay, maximize)
        _multiply(buffer, momentum, buffer)
        if dampening:
            _add(buffer, _multiply(direction, 1 - dampening, work), buffer)
        else:
            _add(buffer, direction, buffer)
        if nesterov:
            _add(_multiply(buffer, momentum, work), direction, work)
            _multiply(work, lr, work)
        else:
            _multiply(buffer, lr, work)
        _subtract(p, work, p)
    return _deliver(targets, copy_to)


def _adam_chunk(
    p: Any,
    m: Any,
    v: Any,
    largest: Any,
    g: Any,
    work: Any,
    size: float,
    keep1: float,
    keep2: float,
    eps: float,
    shrink: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    if shrink != 1:
        _multiply(p, shrink, p)
    g = _direction(p, g, weight_decay, maximize)
    _subtract(g, m, work)
    _multiply(work, 1 - keep1, work)
    _add(m, work, m)
    _square(g, work)
    _multiply(v, keep2, v)
    _multiply(work, 1 - keep2, work)
    _add(v, work, v)
    if largest is None:
        _sqrt(v, work)
    else:
        _sqrt(_maximum(largest, v, out=largest), work)
    _add(work, eps, work)
    _divide(m, work, work)
    _multiply(work, size, work)
    _subtract(p, work, p)


@quiet
def _adam(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    largest: Any,
    step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
    out: Any,
) -> tuple[Any, ...]:
    states = (param, exp_avg, exp_avg_sq, step) if largest is None else (param, exp_avg, exp_avg_sq, largest, step)
    targets, copy_to = _in_place(states, out)
    *arrays, counter = targets
    count = float(counter) + 1
    # sqrt(v) / root + eps and m / that times lr / correction1, with root taken out of the fraction: one pass less.
    root = math.sqrt(1 - beta2**count)
    size = lr * root / (1 - beta1**count)
    shrink, decay = (1 - lr * weight_decay, 0.0) if decoupled else (1.0, weight_decay)
    for chunk in _chunks(*arrays, grad):
        if largest is None:
            p, m, v, g, work = chunk
            _adam_chunk(p, m, v, None, g, work, size, beta1, beta2, eps * root, shrink, decay, maximize)
        else:
            _adam_chunk(*chunk, size, beta1, beta2, eps * root, shrink, decay, maximize)
    counter[...] = count
    return _deliver(targets, copy_to)


def _sgd_step(*args: Any, out: Any = None) -> Any:
    return _sgd(*args, out)


def _sgd_momentum_step(*args: Any, out: Any = None) -> Any:
    return _sgd_momentum(*args, out)


def _adam_step(param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, step: Any, *options: Any, out: Any = None) -> Any:
    return _adam(param, grad, exp_avg, exp_avg_sq, None, step, *options, out)


def _amsgrad_step(*args: Any, out: Any = None) -> Any:
    return _adam(*args, out)


_REAL = frozenset({float32, float64})
_ANY = _REAL | {complex64, complex128}

KERNELS = {
    "sgd_step": Kernel(_sgd_step, dtypes=_ANY, out=True),
    "sgd_momentum_step": Kernel(_sgd_momentum_step, dtypes=_ANY, out=True),
    "adam_step": Kernel(_adam_step, dtypes=_REAL, out=True),
    "amsgrad_step": Kernel(_amsgrad_step, dtypes=_REAL, out=True),
}
