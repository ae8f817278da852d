"""Losses of elements that each are a yes or a no."""

from __future__ import annotations

from ....base.dtypes import FLOATING
from ....dispatch.forward import by_body
from ....dispatch.op import composite, function, gradient
from ....dispatch.structure import Pointwise, as_operands
from ....errors import ArgumentError, DTypeError
from ....tensor import Tensor
from ..activation.smooth import logsigmoid
from .reduction import check_fits, check_floating, check_pair, check_same_dtype, first_floating, reduced, reduction_of


@composite(
    dtype=first_floating("binary_cross_entropy"),
    structure=Pointwise(broadcasts=False),
    strides=as_operands,
    method=False,
)
def _binary_cross_entropy(input: Tensor, target: Tensor) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, each logarithm at least -100."""
    return (target - 1) * (-input).log1p().clamp(min=-100) - target * input.log().clamp(min=-100)


gradient(
    _binary_cross_entropy,
    input=lambda g, input, target: g * (input - target) / (input * (1 - input)).clamp(min=1e-12),
    target=lambda g, input: g * ((-input).log1p() - input.log()),
)
by_body(_binary_cross_entropy)


@function(namespace="nn.functional")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithm of the probability that *input*, in [0, 1], gives to the *target*, in [0, 1], of two classes.

    Shapes: input and target agree; weight broadcasts to them. Logarithms are at least -100.

    Raises ValueError for shapes that differ and an unknown reduction, RuntimeError for a weight that does not fit, for
    dtypes that differ or are not floating point, and for elements outside [0, 1].

    >>> import polyad
    >>> polyad.nn.functional.binary_cross_entropy(polyad.tensor([0.5, 0.5]), polyad.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of("binary_cross_entropy", size_average, reduce, reduction)
    check_pair("binary_cross_entropy", input, target, ArgumentError)
    check_fits("binary_cross_entropy", input, weight=weight)
    check_same_dtype("binary_cross_entropy", input, target=target)
    loss = _binary_cross_entropy(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


@function(namespace="nn.functional")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), without overflow or loss of digits.

    Shapes: input and target agree; weight and pos_weight, a factor for targets of 1, broadcast to them.

    Raises ValueError for shapes that differ and an unknown reduction, RuntimeError for weights that do not fit and
    dtypes that are not floating point.

    >>> import polyad
    >>> polyad.nn.functional.binary_cross_entropy_with_logits(polyad.tensor([0.0, 100.0]), polyad.tensor([0.0, 1.0]))
    tensor(0.3466)
    """
    op = "binary_cross_entropy_with_logits"
    reduction = reduction_of(op, size_average, reduce, reduction)
    check_pair(op, input, target, ArgumentError)
    check_fits(op, input, weight=weight, pos_weight=pos_weight)
    if target._type.dtype.category < FLOATING:
        raise DTypeError(
            f"{op}: target is {target._type.dtype.name}, not floating point",
            operands={"input": input, "target": target},
            fix="convert it: target.to(input.dtype)",
        )
    logs = logsigmoid(input)
    if pos_weight is not None:
        logs = logs * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - logs
    return reduced(loss if weight is None else loss * weight, reduction)


@function(namespace="nn.functional")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` for targets 1 and -1, without overflow.

    Shapes: input and target agree. Raises RuntimeError when they differ and unless input is floating point, ValueError
    for an unknown reduction.

    >>> import polyad
    >>> scores, target = polyad.tensor([0.0, 200.0]), polyad.tensor([1.0, -1.0])
    >>> polyad.nn.functional.soft_margin_loss(scores, target, reduction="none")
    tensor([  0.6931, 200.0000])
    """
    reduction = reduction_of("soft_margin_loss", size_average, reduce, reduction)
    check_pair("soft_margin_loss", input, target)
    check_floating("soft_margin_loss", input)
    return -reduced(logsigmoid(target * input), reduction)


@function(namespace="nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`binary_cross_entropy_with_logits`, averaged over the classes of each sample.

    Shapes: input and target (*, C), weight broadcasting to them; ``"none"`` gives (*).

    Raises RuntimeError for shapes that do not fit and for a bool target, ValueError for an unknown reduction.

    >>> import polyad
    >>> polyad.nn.functional.multilabel_soft_margin_loss(polyad.tensor([[0.0, 0.0]]), polyad.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """
    op = "multilabel_soft_margin_loss"
    reduction = reduction_of(op, size_average, reduce, reduction)
    check_pair(op, input, target)
    check_fits(op, input, weight=weight)
    # (1 - target) * input - logsigmoid(input) is -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input)).
    loss = (1 - target) * input - logsigmoid(input)
    if weight is not None:
        loss = loss * weight
    return reduced(loss.mean(-1), reduction)
