"""Dropout: zeroing random elements in training (Srivastava et al. 2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.inplace import check_writable, write
from ..dispatch.op import composite, function, gradient
from ..dispatch.promotion import Typing
from ..dtypes import FLOATING, bool_
from ..errors import ArgumentError, ArgumentTypeError, DTypeError
from ..layout import Shape
from ..random.generator import Generator, default_generator
from ..tensor import Tensor, check_tensor
from .random import _chances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..backend.interface import Signature


def _with_mask(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    if dtype.category < FLOATING:
        raise DTypeError(f"dropout: input is {dtype.name}, not floating point", fix="convert it first: input.float()")
    return Typing((None,), (dtype, bool_))


def _twice(input: Shape, *rest: Any) -> tuple[Shape, Shape]:
    return input, input


@composite(dtype=_with_mask, shape=_twice, outputs=("out", "kept"), method=False, grad_name="NativeDropoutBackward0")
def _dropout(input: Tensor, p: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """Each element 0 with probability p < 1, else divided by 1 - p; and which ones were kept."""
    kept = _chances(tuple(input.shape), 1 - p, generator, input.device)
    return input * kept * (1 / (1 - p)), kept


gradient(_dropout, input=lambda grads, kept, p: grads[0] * kept * (1 / (1 - p)))


@function(method=False)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability *p* and scale the others by 1 / (1 - p); the input itself when not *training*.

    Any shape, floating point. With *inplace* the input is overwritten.

    Raises ValueError for p outside [0, 1], TypeError for what is no number, RuntimeError for other dtypes.

    >>> import polyad
    >>> sorted(set(polyad.nn.functional.dropout(polyad.ones(100), 0.5).tolist()))
    [0.0, 2.0]
    """
    check_tensor(input, "dropout", "input")
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(
            f"dropout: p is {p!r}, not a number", operands={"input": input}, fix="pass a float in [0, 1]"
        )
    if not 0 <= p <= 1:
        raise ArgumentError(
            f"dropout: p {p} is not in [0, 1]",
            operands={"input": input},
            fix="p is the probability of zeroing an element",
        )
    if not training or not p:
        return input
    if inplace:
        check_writable("dropout_", input)
    made = _dropout(input, p, default_generator)[0] if p < 1 else input * 0
    return write("dropout_", input, made) if inplace else made
