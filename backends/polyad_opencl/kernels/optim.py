"""Optimizer steps: one pass over a parameter and its state, written where they lie.

The bias corrections of Adam are numbers on the device, since the step count is: a kernel of one element computes them
first.
Half types are computed in float32. Complex parameters and operands of several dtypes are left to decompositions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.codegen import Expression, Operand, Scalar, apply, cast
from polyad.dtypes import FLOATING, DType, float32, float64

from ..array import Array, new
from ..runtime.device import opened
from ..runtime.kept import kept
from ..source.generated import Fused, Pack, packer

Step = Callable[..., Any]


def wide_dtype(dtype: DType) -> DType:
    """What a step is computed in."""
    return float64 if dtype is float64 else float32


def _leaves(dtype: DType, arrays: int, numbers: int) -> tuple[list[Expression], list[Expression]]:
    wide = wide_dtype(dtype)
    return [cast(Operand(n, dtype), wide) for n in range(arrays)], [Scalar(n, wide) for n in range(numbers)]


def _specialized(types: Signature, tensors: int) -> tuple[DType, Any, Pack] | None:
    """Dtype, device and packer of a step whose first *tensors* operands must agree; None if they do not."""
    dtype = types[0].dtype
    if dtype.category != FLOATING or any(entry.dtype is not dtype for entry in types[:tensors]):
        return None
    return dtype, opened(types[0].device), packer(wide_dtype(dtype))


def _uphill(g: Expression, maximize: bool) -> Expression:
    return -g if maximize else g


def _run(fused: Fused, arrays: Any, numbers: Any, out: Any) -> tuple[Array, ...]:
    shape = arrays[0].shape
    if any(array.shape not in (shape, ()) for array in arrays):
        raise ValueError("a parameter and its state have several shapes")
    if out is None:
        return fused(arrays, numbers)
    fused.into(out, arrays, numbers)
    return tuple(out)


def _sgd(types: Signature) -> Step | None:
    found = _specialized(types, 2)
    if found is None:
        return None
    dtype, device, pack = found

    @kept
    def fused(maximize: bool) -> Fused:
        (p, g), (lr, decay) = _leaves(dtype, 2, 2)
        return Fused(device, f"sgd_step of {dtype.name}", [cast(p - (_uphill(g, maximize) + p * decay) * lr, dtype)])

    def step(p: Array, g: Array, lr: float, decay: float, maximize: bool, out: Any = None) -> Any:
        numbers = (*pack(lr), *pack(decay))
        return _run(fused(maximize), (p, g), numbers, None if out is None else (out,))[0]

    return step


def _momentum(types: Signature) -> Step | None:
    found = _specialized(types, 3)
    if found is None:
        return None
    dtype, device, pack = found

    @kept
    def fused(nesterov: bool, maximize: bool) -> Fused:
        (p, g, buffer), (lr, keep, share, decay) = _leaves(dtype, 3, 4)
        direction = _uphill(g, maximize) + p * decay
        kept = buffer * keep + direction * share
        result = p - (direction + kept * keep if nesterov else kept) * lr
        return Fused(device, f"sgd_momentum_step of {dtype.name}", [cast(result, dtype), cast(kept, dtype)])

    def step(
        p: Array, g: Array, buffer: Array, lr: float, momentum: float, dampening: float, decay: float, nesterov: bool,
        maximize: bool, out: Any = None,
    ) -> Any:  # fmt: skip
        numbers = [packed for number in (lr, momentum, 1 - dampening, decay) for packed in pack(number)]
        return _run(fused(nesterov, maximize), (p, g, buffer), numbers, out)

    return step


def _adam(largest: bool) -> Callable[[Signature], Step | None]:
    """Adam, or AMSGrad, whose state has the *largest* second moment too."""
    states = 5 if largest else 4
    name = "amsgrad_step" if largest else "adam_step"

    def specialize(types: Signature) -> Step | None:
        found = _specialized(types, states)
        if found is None or types[-1].dtype is not float32:
            return None
        dtype, device, pack = found
        wide = wide_dtype(dtype)

        count, (log1, log2, rate) = Operand(0, float32), (Scalar(n, wide) for n in range(3))
        next_count = count + 1
        elapsed = cast(next_count, wide)
        correct1, correct2 = (-apply("expm1", elapsed * log) for log in (log1, log2))
        corrections = Fused(device, name, [next_count, rate / correct1, apply("sqrt", correct2)])

        @kept
        def fused(decoupled: bool, maximize: bool) -> Fused:
            arrays, (share1, keep2, share2, eps, decay) = _leaves(dtype, states, 5)
            p, g, first, second, *rest = arrays
            size, root = Operand(states, wide), Operand(states + 1, wide)
            direction = _uphill(g, maximize)
            if decoupled:
                p = p * decay
            else:
                direction = direction + p * decay
            first = first + (direction - first) * share1
            second = second * keep2 + direction * direction * share2
            rest = [apply("maximum", largest_before, second) for largest_before in rest]
            below = apply("sqrt", rest[0] if rest else second) / root + eps
            results = [p - first / below * size, first, second, *rest]
            return Fused(device, f"{name} of {dtype.name}", [cast(result, dtype) for result in results])

        def step(*operands: Any, out: Any = None) -> Any:
            arrays, count = operands[:states], operands[states]
            lr, beta1, beta2, eps, decay, decoupled, maximize = operands[states + 1 :]
            logs = [math.log(beta) if beta else -math.inf for beta in (beta1, beta2)]
            numbers = [packed for number in (*logs, lr) for packed in pack(number)]
            counted = new(device, (), float32) if out is None else out[-1]
            size, root = new(device, (), wide), new(device, (), wide)
            corrections.into((counted, size, root), (count,), numbers)
            decay = 1 - lr * decay if decoupled else decay
            numbers = [packed for number in (1 - beta1, beta2, 1 - beta2, eps, decay) for packed in pack(number)]
            results = _run(
                fused(decoupled, maximize), (*arrays, size, root), numbers, None if out is None else out[:-1]
            )
            return (*results, counted)

        return step

    return specialize


def _unspecialized(*operands: Any) -> Any:
    raise AssertionError("written for each signature")


KERNELS = {
    "sgd_step": Kernel(_unspecialized, out=True, specialize=_sgd),
    "sgd_momentum_step": Kernel(_unspecialized, out=True, specialize=_momentum),
    "adam_step": Kernel(_unspecialized, out=True, specialize=_adam(False)),
    "amsgrad_step": Kernel(_unspecialized, out=True, specialize=_adam(True)),
}
