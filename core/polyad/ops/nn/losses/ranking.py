"""Losses of margins: a score or distance should be smaller than another by some margin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ....backend.bounds import ElementOutOfRange
from ....base.dtypes import FLOATING, int64
from ....dispatch.op import function
from ....errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, UnsupportedDType, wrong_type
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...creation.factories import zeros
from ...declaring.checks import check_choice, check_floating
from ...indexing.gather_scatter import _scatter
from ...linalg.norms import vector_norm
from ...pointwise.maximum import minimum
from ...pointwise.where import _where
from ...shaping.joining import cat
from ...sorting.searchsorted import searchsorted
from ..activation.rectifiers import relu
from .reduction import check_broadcast, check_number, check_pair, check_same_dtype, reduced, reduction_of

if TYPE_CHECKING:
    from collections.abc import Callable


@function(namespace="nn.functional")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``: a target of 1 wants input1 larger, -1 wants input2 larger.

    Shapes: all agree. Raises RuntimeError when they do not, ValueError for an unknown reduction.

    >>> import polyad
    >>> a, b, target = polyad.tensor([1.0, 1.0]), polyad.tensor([3.0, 3.0]), polyad.tensor([1, -1])
    >>> polyad.nn.functional.margin_ranking_loss(a, b, target, reduction="none")
    tensor([2., 0.])
    """
    reduction = reduction_of("margin_ranking_loss", size_average, reduce, reduction)
    given = {"input1": input1, "input2": input2, "target": target}
    for name, tensor in given.items():
        check_tensor(tensor, "margin_ranking_loss", name)
    if not input1._array.shape == input2._array.shape == target._array.shape:
        raise ShapeError(
            "margin_ranking_loss: input1, input2 and target must have one shape; losses do not broadcast",
            operands=given,
            fix="reshape, squeeze or expand them to the same shape",
        )
    margin = check_number("margin_ranking_loss", "margin", margin)
    return reduced(((input2 - input1) * target + float(margin)).clamp(min=0), reduction)


@function(namespace="nn.functional")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The *input*, a distance, where the target is 1; ``max(0, margin - input)`` where it is -1.

    Shapes: input and target broadcast, which is warned about where they differ. Raises RuntimeError when they do not,
    ValueError for an unknown reduction.

    >>> import polyad
    >>> distance, target = polyad.tensor([0.25, 0.25]), polyad.tensor([1, -1])
    >>> polyad.nn.functional.hinge_embedding_loss(distance, target, reduction="none")
    tensor([0.2500, 0.7500])
    """
    reduction = reduction_of("hinge_embedding_loss", size_average, reduce, reduction)
    check_broadcast("hinge_embedding_loss", input, target)
    margin = check_number("hinge_embedding_loss", "margin", margin)
    if input._type.dtype.category < FLOATING:
        margin = int(margin)
    short = (-input + margin).clamp(min=0)
    return reduced(_where(target == 1, 0, short) + _where(target == -1, 0, input), reduction)


@function(namespace="nn.functional")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of the angle between vectors where the target is 1, ``max(0, cos - margin)`` where it is -1, else 0.

    Shapes: inputs (N, D) and target (N,), or (D,) and (). Squared lengths are increased by 1e-12.

    Raises RuntimeError for other shapes, ValueError for an unknown reduction.

    >>> import polyad
    >>> a, b = polyad.tensor([[1.0, 0.0], [1.0, 0.0]]), polyad.tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> polyad.nn.functional.cosine_embedding_loss(a, b, polyad.tensor([1, -1]), reduction="none")
    tensor([1., 1.])
    """
    reduction = reduction_of("cosine_embedding_loss", size_average, reduce, reduction)
    given = {"input1": input1, "input2": input2, "target": target}
    for name, tensor in given.items():
        check_tensor(tensor, "cosine_embedding_loss", name)
    if target.ndim > 1 or not input1.ndim == input2.ndim == target.ndim + 1:
        raise ShapeError(
            f"cosine_embedding_loss: inputs of {input1.ndim} and {input2.ndim} dimensions, target of {target.ndim}",
            operands=given,
            fix="give inputs (N, D) and a target (N,), or (D,) and ()",
        )
    along = (input1 * input2).sum(-1)
    squares = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = along / squares.sqrt()
    apart = (cosine - check_number("cosine_embedding_loss", "margin", margin)).clamp(min=0)
    return reduced(_where(target == 1, 1 - cosine, 0) + _where(target == -1, apart, 0), reduction)


# ------------------------------------------------------------------------------------------------ class numbers


def _scores(op: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor, bool]:
    """Scores as (N, C) and what is beside them, and whether they came as (C,)."""
    check_tensor(input, op, "input")
    check_tensor(target, op, "target")
    check_floating(op, "input", input._type.dtype, UnsupportedDType, fix="convert it first: input.float()")
    shape = input._array.shape
    if len(shape) > 2 or 0 in shape[-1:]:
        raise ShapeError(
            f"{op}: input {tuple(shape)} is neither (N, C) nor (C,) with at least one class",
            operands={"input": input, "target": target},
            fix="flatten it to (N, C)",
        )
    if target._type.dtype is not int64:
        raise DTypeError(
            f"{op}: target is {target._type.dtype.name}; class numbers are int64",
            operands={"input": input, "target": target},
            fix="convert it: target.long()",
        )
    if len(shape) == 2:
        return input, target, False
    return input.reshape(1, -1), target.reshape(1, -1), True


def _picked(op: str, scores: Tensor, index: Tensor, target: Tensor, least: int = 0) -> Tensor:
    """``scores[n, index[n, j]]``; an index out of range is explained by the *target*, of class numbers from *least*."""
    try:
        return scores.gather(1, index)
    except IndexOutOfRange as error:
        raise ElementOutOfRange(
            f"{op}: target has class numbers that are not in [{least}, {scores.shape[1] + least})",
            operands={"target": target},
            notes={"found": error.message},
            fix=f"class numbers are below {scores.shape[1] + least}, the number of scores",
        ) from error


@function(namespace="nn.functional")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - input[target] + input[i])**p`` over all other classes i, summed and divided by the number of
    classes (Crammer and Singer 2001).

    Shapes: input (N, C) or (C,) of scores, target (N,) or () of class numbers in [0, C), weight (C,): a factor for the
    samples of each class. *p* is 1 or 2.

    Raises ValueError for another p, a weight that is no vector or an unknown reduction; RuntimeError for class numbers
    out of range, and shapes and dtypes that do not fit.

    >>> import polyad
    >>> polyad.nn.functional.multi_margin_loss(polyad.tensor([[0.5, 1.0]]), polyad.tensor([0]))
    tensor(0.7500)
    """
    op = "multi_margin_loss"
    reduction = reduction_of(op, size_average, reduce, reduction)
    check_choice(op, "p", p, (1, 2), ArgumentError, fix="use 1 or 2")
    check_number(op, "margin", margin)
    if weight is not None and check_tensor(weight, op, "weight").ndim != 1:
        raise ArgumentError(f"{op}: weight is no vector", operands={"weight": weight}, fix="flatten() it")
    if isinstance(input, Tensor) and not input.ndim:
        input = input.reshape(1)
    scores, classes, single = _scores(op, input, target)
    check_same_dtype(op, input, weight=weight)
    count = scores._array.shape[1]
    if weight is not None and weight._array.shape[0] != count:
        raise ShapeError(
            f"{op}: weight {tuple(weight.shape)} must hold one number for each of {count} classes",
            operands={"input": input, "weight": weight},
            fix=f"make it ({count},)",
        )
    if target._array.shape != scores._array.shape[:1] and not (single and target.numel() == 1):
        raise ShapeError(
            f"{op}: target {tuple(target.shape)} does not fit input {tuple(input.shape)}",
            operands={"input": input, "target": target},
            fix=f"give {scores.shape[0]} class numbers",
        )
    classes = classes.reshape(-1, 1)
    # Not clamp: like PyTorch's, the gradient at a margin that is just kept is 0.
    short = relu(scores - (_picked(op, scores, classes, target) - margin))
    short = _scatter(short, classes, 0, 1)
    if p == 2:
        short = short * short
    if weight is not None:
        short = short * weight.index_select(0, classes.flatten()).unsqueeze(1)
    loss = short.sum(1) / count
    return loss.reshape(target.shape) if reduction == "none" else reduced(loss, reduction)


@function(namespace="nn.functional")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, 1 - (input[t] - input[i]))`` over the target classes t and all classes i that are no targets, summed and
    divided by the number of classes.

    Shapes: input (N, C) or (C,) of scores, target alike: int64 class numbers, up to the first -1 of each sample.

    Raises RuntimeError for class numbers outside [-1, C), and shapes and dtypes that do not fit; ValueError for an
    unknown reduction.

    >>> import polyad
    >>> x, target = polyad.tensor([0.1, 0.2, 0.4, 0.8]), polyad.tensor([3, 0, -1, 1])
    >>> polyad.nn.functional.multilabel_margin_loss(x, target)
    tensor(0.8500)
    """
    op = "multilabel_margin_loss"
    reduction = reduction_of(op, size_average, reduce, reduction)
    check_pair(op, input, target)
    if not input.ndim:
        input, target = input.reshape(1), target.reshape(1)
        return multilabel_margin_loss(input, target, reduction="sum")
    scores, classes, single = _scores(op, input, target)
    count = scores._array.shape[1]
    # Shifted by 1, -1 has a place of its own.
    beside = zeros((scores._array.shape[0], count + 1), dtype=scores.dtype, device=scores.device)
    _picked(op, beside, classes + 1, target, -1)
    listed = (classes == -1).cumsum(1) == 0
    held = classes * listed
    marks = zeros(scores._array.shape, dtype=int64, device=scores.device).scatter_add(1, held, listed.to(int64))
    wide = scores.float() if scores.dtype.itemsize == 2 else scores
    limits = wide.gather(1, held) - 1
    # The other classes in order: those above a limit are short of the margin. How many they are and what they sum up to
    # is counted from the end, which spares a row of all classes for each target.
    others, order = wide.detach().masked_fill(marks != 0, -math.inf).sort(1)
    place = searchsorted(others, limits.detach(), right=True)
    sums = wide.masked_fill(marks != 0, 0).gather(1, order).flip(1).cumsum(1).flip(1)
    sums = cat([sums, sums.new_zeros((sums.shape[0], 1))], 1)
    short = sums.gather(1, place) - limits * (count - place)
    loss = ((short * listed).sum(1) / count).to(scores.dtype)
    return loss.squeeze(0) if single and reduction == "none" else reduced(loss, reduction)


# ------------------------------------------------------------------------------------------------ triplets


def _triplet(
    op: str,
    vectors: dict[str, Any],
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    for name, vector in vectors.items():
        check_tensor(vector, op, name)
    if check_number(op, "margin", margin) <= 0:
        raise ArgumentError(f"{op}: margin {margin} is not above 0", fix="1 is usual")
    anchor, positive, negative = vectors.values()
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            f"{op}: anchor, positive and negative differ in their numbers of dimensions",
            operands=vectors,
            fix="give all of them as (N, D) or (D,)",
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction)


@function(namespace="nn.functional")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, |anchor - positive| - |anchor - negative| + margin)`` with *p*-norms of the last dimension (Balntas et
    al. 2016).

    Shapes: all (N, D) or (D,). *eps* is added to differences. With *swap*, the distance from positive to negative
    counts if it is smaller than that from the anchor.

    Raises RuntimeError for shapes that do not fit, ValueError for a margin that is not above 0 or an unknown reduction.

    >>> import polyad
    >>> a, b, c = polyad.tensor([[0.0, 0.0]]), polyad.tensor([[3.0, 4.0]]), polyad.tensor([[0.0, 2.0]])
    >>> polyad.nn.functional.triplet_margin_loss(a, b, c)
    tensor(4.0000)
    """
    op = "triplet_margin_loss"
    reduction = reduction_of(op, size_average, reduce, reduction)
    vectors = {"anchor": anchor, "positive": positive, "negative": negative}
    return _triplet(op, vectors, lambda a, b: vector_norm(a - b + eps, p, -1), margin, swap, reduction)


@function(namespace="nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any *distance_function* of two tensors; by default the euclidean norm of the last
    dimension.

    Raises as `triplet_margin_loss`.

    >>> import polyad
    >>> a, b, c = polyad.tensor([0.0, 0.0]), polyad.tensor([3.0, 4.0]), polyad.tensor([0.0, 2.0])
    >>> manhattan = lambda x, y: (x - y).abs().sum(-1)
    >>> polyad.nn.functional.triplet_margin_with_distance_loss(a, b, c, distance_function=manhattan)
    tensor(6.)
    """
    op = "triplet_margin_with_distance_loss"
    reduction = reduction_of(op, None, None, reduction)
    if distance_function is not None and not callable(distance_function):
        raise wrong_type(op, "distance_function", distance_function, "a function of two tensors")
    vectors = {"anchor": anchor, "positive": positive, "negative": negative}
    return _triplet(
        op,
        vectors,
        distance_function or (lambda a, b: vector_norm(a - b + 1e-6, 2, -1)),
        margin,
        swap,
        reduction,
    )
