"""Dropout: zeroing random elements or channels in training (Srivastava et al. 2014).

What is drawn depends on the generator's seed and on places alone. The gradient is that of a product with what
was drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...base.dtypes import FLOATING, bool_
from ...base.shapes_and_strides import Shape
from ...base.state import warn_user
from ...dispatch.forward import forward
from ...dispatch.inplace import check_writable, write
from ...dispatch.op import alias, composite, function, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import as_operands, random
from ...errors import ArgumentError, DTypeError, ShapeError, wrong_type
from ...random.generator import Generator, default_generator
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..random.sampling import _chances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...backend.interface import Signature


def _with_mask(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    if dtype.category < FLOATING:
        raise DTypeError(f"dropout: input is {dtype.name}, not floating point", fix="convert it first: input.float()")
    return Typing((None,), (dtype, bool_))


@composite(
    dtype=_with_mask,
    structure=random,
    strides=as_operands,
    outputs=("out", "kept"),
    method=False,
    grad_name="NativeDropoutBackward0",
)
def _dropout(input: Tensor, p: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """Each element 0 with probability p < 1, else divided by 1 - p; and which ones were kept."""
    kept = _chances(tuple(input.shape), 1 - p, generator, input.device)
    return input * kept * (1 / (1 - p)), kept


gradient(_dropout, input=lambda grads, kept, p: grads[0] * kept * (1 / (1 - p)))
forward(_dropout, lambda input_t, kept, p: (input_t * kept * (1 / (1 - p)), None))


def _probability(op: str, input: Tensor, p: Any) -> None:
    """Raise unless *input* is a tensor and *p* a probability."""
    check_tensor(input, op, "input")
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise wrong_type(op, "p", p, "a number")
    if not 0 <= p <= 1:
        raise ArgumentError(
            f"{op}: p {p} is not in [0, 1]",
            operands={"input": input},
            fix="p is the probability of zeroing an element",
        )


@function(namespace="nn.functional", also={"train": "training"})
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability *p* and scale the others by 1 / (1 - p); the input itself when not *training*.

    Any shape, floating point. With *inplace* the input is overwritten.

    Raises ValueError for p outside [0, 1], TypeError for what is no number, RuntimeError for other dtypes.

    >>> import polyad
    >>> sorted(set(polyad.nn.functional.dropout(polyad.ones(100), 0.5).tolist()))
    [0.0, 2.0]
    """
    _probability("dropout", input, p)
    if not training or not p:
        return input
    if inplace:
        check_writable("dropout_", input)
    result = _dropout(input, p, default_generator)[0] if p < 1 else input * input.new_zeros(())
    return write("dropout_", input, result) if inplace else result


# ------------------------------------------------------------------------------------------------ whole channels


def _noise(op: str, input: Tensor, shape: Shape, p: float) -> Tensor:
    """0 with probability p, else 1, in the dtype of *input*."""
    type_ = input._type
    if type_.dtype.category < FLOATING:
        raise DTypeError(
            f"{op}: input is {type_.dtype.name}, not floating point", fix="convert it first: input.float()"
        )
    return _chances(shape, 1 - p, default_generator, type_.device).to(type_.dtype)


def _channels(op: str, input: Tensor, batched: bool) -> Shape:
    """The shape of a number for each channel of each sample, beside *input*."""
    shape = input._array.shape
    lead = 2 if batched else 1
    if len(shape) < lead:
        raise ShapeError(
            f"{op}: input of {len(shape)} dimensions has no channels",
            operands={"input": input},
            fix="give (N, C, ...), or use dropout",
        )
    return (*shape[:lead], *(1,) * (len(shape) - lead))


def _zeroed(op: str, input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if not training or not p:
        # PyTorch returns the input itself or, where it had put a batch around it, a view.
        return input if batched or inplace else input.unsqueeze(0).squeeze(0)
    shape = _channels(op, input, batched)
    noise = _noise(op, input, shape, p)
    if p < 1:
        noise = noise * (1 / (1 - p))
    return _given_back(op, input * noise, input, inplace)


def _given_back(op: str, result: Tensor, input: Tensor, inplace: bool) -> Tensor:
    """*result*, written into *input* if *inplace*. What was drawn is in no function, so that a graph draws it anew."""
    if not inplace:
        return result
    check_writable(op + "_", input)
    return write(op + "_", input, result)


def of_channels(op: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """*input* (N, C, ...) with whole channels zeroed; the input itself when not *training*."""
    _probability(op, input, p)
    return _zeroed(op, input, p, training, inplace, True)


@function(namespace="nn.functional")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels: input (N, C, L) or (C, L) (Tompson et al. 2015).

    Raises RuntimeError for other numbers of dimensions, and as `dropout`.

    >>> import polyad
    >>> drawn = polyad.nn.functional.dropout1d(polyad.ones(8, 3))
    >>> bool((drawn.amax(1) == drawn.amin(1)).all())
    True
    """
    _probability("dropout1d", input, p)
    if input.ndim not in (2, 3):
        raise ShapeError(
            f"dropout1d: input has {input.ndim} dimensions, not 2 or 3",
            operands={"input": input},
            fix="give (N, C, L) or (C, L); dropout takes any shape",
        )
    return _zeroed("dropout1d", input, p, training, inplace, input.ndim == 3)


@function(namespace="nn.functional")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels: input (N, C, H, W) (Tompson et al. 2015).

    The first two dimensions of any input are taken for samples and channels; what has not four warns.

    Raises RuntimeError below two dimensions, and as `dropout`.

    >>> import polyad
    >>> drawn = polyad.nn.functional.dropout2d(polyad.ones(2, 4, 3, 3))
    >>> bool((drawn.amax((2, 3)) == drawn.amin((2, 3))).all())
    True
    """
    _probability("dropout2d", input, p)
    if input.ndim != 4:
        warn_user(
            f"dropout2d: an input of {input.ndim} dimensions is read as (N, C, ...); give (N, C, H, W)", UserWarning
        )
    return _zeroed("dropout2d", input, p, training, inplace, True)


@function(namespace="nn.functional")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels: input (N, C, D, H, W) or (C, D, H, W) (Tompson et al. 2015).

    The first dimension of any other input is taken for channels, with a warning. Raises as `dropout`.

    >>> import polyad
    >>> drawn = polyad.nn.functional.dropout3d(polyad.ones(4, 2, 2, 2))
    >>> bool((drawn.amax((1, 2, 3)) == drawn.amin((1, 2, 3))).all())
    True
    """
    _probability("dropout3d", input, p)
    if input.ndim not in (4, 5):
        warn_user(
            f"dropout3d: an input of {input.ndim} dimensions is read as (C, ...); give (N, C, D, H, W)", UserWarning
        )
    return _zeroed("dropout3d", input, p, training, inplace, input.ndim == 5)


# ------------------------------------------------------------------------------------------------ for selu


SELU_FLOOR = 1.7580993408473766
"""Minus the value that `selu` approaches at minus infinity: what a dropped element becomes."""


def _drop_to_floor(op: str, input: Tensor, p: float, training: bool, inplace: bool, shape: Shape) -> Tensor:
    if not training or not p:
        return input
    noise = _noise(op, input, shape, p)
    if p == 1:
        return _given_back(op, input * noise, input, inplace)
    # An affine map brings mean and variance back to 0 and 1 (Klambauer et al. 2017, "alpha dropout").
    scale = 1 / math.sqrt((SELU_FLOOR**2 * p + 1) * (1 - p))
    shift = (noise - 1) * (SELU_FLOOR * scale) + SELU_FLOOR * scale * p
    return _given_back(op, input * (noise * scale) + shift, input, inplace)


@function(namespace="nn.functional", also={"train": "training"})
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`dropout` for `selu`: a dropped element becomes selu's lowest value, and all are scaled and shifted so that mean
    0 and variance 1 stay (Klambauer et al. 2017). Raises as `dropout`.

    >>> import polyad
    >>> drawn = polyad.nn.functional.alpha_dropout(polyad.ones(100), 0.3, training=True)
    >>> [round(x, 4) for x in sorted(set(drawn.tolist()))]
    [-1.0595, 1.315]
    """
    _probability("alpha_dropout", input, p)
    return _drop_to_floor("alpha_dropout", input, p, training, inplace, input._array.shape)


@function(namespace="nn.functional", also={"train": "training"})
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: input (N, C, ...). Raises RuntimeError below two dimensions, and as `dropout`.

    >>> import polyad
    >>> drawn = polyad.nn.functional.feature_alpha_dropout(polyad.ones(2, 4, 3), 0.3, training=True)
    >>> bool((drawn.amax(2) == drawn.amin(2)).all())
    True
    """
    _probability("feature_alpha_dropout", input, p)
    shape = _channels("feature_alpha_dropout", input, True) if training and p else ()
    return _drop_to_floor("feature_alpha_dropout", input, p, training, inplace, shape)


# PyTorch shows these in its main namespace, too.
alias("dropout", dropout, namespace="")
alias("alpha_dropout", alpha_dropout, namespace="")
alias("feature_alpha_dropout", feature_alpha_dropout, namespace="")
