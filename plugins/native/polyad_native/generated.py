"""Kernels that core generates: primitives by their formulas, composites by their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from polyad.backend import Kernel, KernelAddress, TensorType
from polyad.backend.addresses import addresses_of, generated_addresses
from polyad.backend.interface import Signature
from polyad.backend.runtime import Runtime

from .choosing import Addresses, Call, NotNative

PRIMITIVES = (
    "add", "sub", "mul", "div", "neg", "abs", "sign", "exp", "expm1", "log", "log1p", "maximum", "minimum", "pow",
    "sqrt", "floor", "ceil", "trunc", "round", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "where", "eq", "lt", "le", "ne", "gt", "ge", "exp2", "log2", "log10",
    "isnan", "isinf", "isfinite", "fmax", "fmin", "hypot", "erf", "erfc", "remainder", "fmod", "floor_divide",
    "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "sum", "amax", "amin", "any", "all",
    "mean", "max_all", "min_all", "cast",
)  # fmt: skip
"""Ops with a formula."""

BODIES = (
    "hardtanh", "hardtanh_backward", "hardsigmoid", "hardsigmoid_backward", "hardswish", "hardswish_backward",
    "hardshrink", "hardshrink_backward", "softshrink", "relu", "relu_backward", "threshold", "threshold_backward",
    "leaky_relu", "leaky_relu_backward", "elu", "elu_backward", "gelu", "gelu_backward", "silu", "silu_backward",
    "softplus", "softplus_backward", "log_sigmoid", "mish", "mish_backward", "glu",
    "gaussian_nll", "lerp", "addcmul", "addcdiv",
    "clamp", "clamp_backward", "sigmoid", "sigmoid_backward", "square", "rsqrt", "reciprocal", "tanh_backward",
    "logaddexp", "nan_to_num", "softmax", "softmax_backward", "log_softmax", "log_softmax_backward", "layer_norm",
    "layer_norm_backward", "rms_norm", "rms_norm_backward", "batch_norm", "batch_norm_backward", "batch_norm_by",
    "norm2", "var",
)  # fmt: skip
"""Composites whose bodies are few kernels."""


def generated() -> Iterator[tuple[str, Callable[[Signature], Call | None], int, Addresses]]:
    """Each op, what makes its kernel for a signature, from how many elements on that is worth it, and where it is."""
    for op in PRIMITIVES:
        yield op, _by_formula(op), 1 << 10, partial(_of_formula, op)
    for op in BODIES:
        yield op, _by_body(op), 1 if op in _LONG else 1 << 8, partial(_of_body, op)


def _of_formula(op: str, types: Signature, args: Sequence[Any] | None) -> Sequence[KernelAddress]:
    return addresses_of(_table()[op], types, args)


def _of_body(op: str, types: Signature, args: Sequence[Any] | None) -> Sequence[KernelAddress]:
    from .runtime import runtime

    if args is None:
        return (KernelAddress("generated", "C", f"{op}, by polyad.lowering"),)
    return generated_addresses(runtime(), lambda recording: _by_body(op, lambda: recording)(types)(*args))


_LONG = {
    "gelu", "gelu_backward", "layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward", "batch_norm",
    "batch_norm_backward", "softmax", "softmax_backward", "log_softmax", "log_softmax_backward",
}  # fmt: skip
"""Ops for which NumPy is called so often that tensors of any size are faster without."""


@cache
def _table() -> dict[str, Kernel]:
    from polyad.codegen.kernels import generated_kernels

    from .runtime import runtime

    return generated_kernels(lambda device: runtime())


def _by_formula(op: str) -> Callable[[Signature], Call | None]:
    def make(types: Signature) -> Call | None:
        specialize = _table()[op].specialize
        assert specialize is not None
        return specialize(types)

    return make


def _by_body(name: str, runtime: Callable[[], Runtime] | None = None) -> Callable[[Signature], Call]:
    runtime = runtime or _runtime

    def make(types: Signature) -> Call:
        from polyad.dispatch.catalogue import OPS
        from polyad.dispatch.structure import Pointwise
        from polyad.lowering.kernels import LoweredKernel

        op = OPS[name]
        structure = op.structure
        pointwise = isinstance(structure, Pointwise)
        kernels = [LoweredKernel(op, types, runtime(), pointwise, composed=_outranked)]
        places = [place for place, entry in enumerate(types) if isinstance(entry, TensorType) and not entry.zero_dim]
        one_shape = isinstance(structure, Pointwise) and not structure.broadcasts

        def call(*args: Any, **out: Any) -> Any:
            if one_shape:
                shape = args[places[0]].shape
                for place in places:
                    if args[place].shape != shape:
                        raise NotNative
            try:
                return kernels[0](*args, **out)
            except NotNative:
                if not kernels[0].any_layout:
                    raise NotNative(always=not kernels[0].forms) from None
            # Some bodies can be lowered only for layouts that are known.
            kernels[0] = LoweredKernel(op, types, runtime(), any_layout=False, composed=_outranked)
            return call(*args, **out)

        return call

    return make


def _runtime() -> Runtime:
    from .runtime import runtime

    return runtime()


def _outranked(*args: Any, out: Any = None) -> Any:
    raise NotNative
