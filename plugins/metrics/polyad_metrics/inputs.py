"""What predictions and targets may look like, and the form in which metrics count them.

    task          predictions                                     targets
    binary        (N, ...) probabilities, logits, or classes      (N, ...) of 0 and 1
    multiclass    (N, C, ...) scores, or (N, ...) classes         (N, ...) of 0 to C - 1
    multilabel    (N, L, ...) probabilities, logits or classes    (N, L, ...) of 0 and 1

Floating-point predictions outside [0, 1] are taken for logits. What follows the second dimension counts like the first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import polyad
from polyad import Tensor
from polyad.arguments import check_choice
from polyad.errors import ArgumentError, DTypeError, ShapeError

TASKS = ("binary", "multiclass", "multilabel")
AVERAGES = ("micro", "macro", "weighted", "none", None)


class Options(NamedTuple):
    """What a metric was made with, checked.

    Attributes:
        classes: C of multiclass, L of multilabel, 1 of binary.
    """

    metric: str
    task: str
    classes: int
    threshold: float
    top_k: int
    average: str | None
    ignore_index: int | None
    validate_args: bool


def options(
    metric: str,
    task: str,
    threshold: float = 0.5,
    num_classes: int | None = None,
    num_labels: int | None = None,
    average: str | None = "micro",
    top_k: int = 1,
    ignore_index: int | None = None,
    validate_args: bool = True,
) -> Options:
    """The options. Raises ValueError for one that is not possible."""

    def refused(what: str, fix: str) -> ArgumentError:
        return ArgumentError(f"{metric}: {what}", fix=fix)

    check_choice(metric, "task", task, TASKS)
    name, count = {
        "binary": ("", 1),
        "multiclass": ("num_classes", num_classes),
        "multilabel": ("num_labels", num_labels),
    }[task]
    least = 2 if task == "multiclass" else 1
    if not isinstance(count, int) or isinstance(count, bool) or count < least:
        raise refused(f"{name} is {count!r} for task {task!r}", f"pass an int of at least {least} as {name}")
    if not 0 <= threshold <= 1:
        raise refused(f"threshold is {threshold!r}", "pass a number in [0, 1]")
    check_choice(metric, "average", average, AVERAGES)
    if not isinstance(top_k, int) or not 1 <= top_k <= (count if task == "multiclass" else 1):
        raise refused(f"top_k is {top_k!r} for task {task!r}", "pass 1, or for multiclass an int up to num_classes")
    return Options(metric, task, count, float(threshold), top_k, average, ignore_index, validate_args)


def counted(chosen: Options, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Predicted and true classes as tensors of 0 and 1 (M, C), and what of them counts (M, C).

    C is 2 of binary: the classes 0 and 1. With ``top_k`` the best *k* classes are predicted, and of these a true one
    counts alone.
    """
    preds, target, kept = _flat(chosen, preds, target)
    if chosen.task == "multiclass":
        truth = polyad.nn.functional.one_hot(target, chosen.classes)
        if preds.ndim == 1:
            guess = polyad.nn.functional.one_hot(preds, chosen.classes)
        elif chosen.top_k == 1:
            guess = polyad.nn.functional.one_hot(preds.argmax(1), chosen.classes)
        else:
            best = preds.topk(chosen.top_k, 1).indices
            hit = (best == target.unsqueeze(1)).any(1)
            guess = polyad.nn.functional.one_hot(polyad.where(hit, target, best[:, 0]), chosen.classes)
        return guess, truth, kept.unsqueeze(1).expand_as(truth)
    if preds.is_floating_point():
        preds = (_probabilities(preds, kept) > chosen.threshold).long()
    if chosen.task == "binary":
        return (*[polyad.nn.functional.one_hot(one, 2) for one in (preds, target)], kept.unsqueeze(1).expand(-1, 2))  # type: ignore[return-value]
    return preds, target, kept


def scores(chosen: Options, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores in [0, 1] and true classes as 0 and 1, both (M, C), and what of them counts; C is 1 of binary."""
    if not preds.is_floating_point():
        raise DTypeError(
            f"{chosen.metric}: preds are classes, and a ranking needs scores",
            operands={"preds": preds},
            fix="pass probabilities or logits",
        )
    preds, target, kept = _flat(chosen, preds, target)
    if chosen.task == "multiclass":
        inside = ((preds >= 0) & (preds <= 1)).all()
        preds = polyad.where(inside, preds, preds.softmax(1))
        truth = polyad.nn.functional.one_hot(target, chosen.classes)
        return preds, truth, kept.unsqueeze(1).expand_as(truth)
    preds = _probabilities(preds, kept)
    if chosen.task == "binary":
        return preds.unsqueeze(1), target.unsqueeze(1), kept.unsqueeze(1)
    return preds, target, kept


def _probabilities(preds: Tensor, kept: Tensor) -> Tensor:
    inside = (((preds >= 0) & (preds <= 1)) | ~kept).all()
    return polyad.where(inside, preds, preds.sigmoid())


def _flat(chosen: Options, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Predictions (M,) or (M, C), targets (M,) or (M, L) as int64, and which of these count; the others are 0."""
    _check_shapes(chosen, preds, target)
    if preds.ndim == target.ndim + 1 or chosen.task == "multilabel":
        preds = preds.movedim(1, -1).reshape(-1, preds.shape[1])
    else:
        preds = preds.reshape(-1)
    target = target.movedim(1, -1).reshape(-1, chosen.classes) if chosen.task == "multilabel" else target.reshape(-1)
    target = target.long()
    if chosen.ignore_index is None:
        kept = polyad.ones_like(target, dtype=polyad.bool)
    else:
        kept = target != chosen.ignore_index
        target = polyad.where(kept, target, 0)
    if chosen.validate_args:
        _check_values(chosen, preds, target)
    return preds if preds.is_floating_point() else preds.long(), target, kept


def _check_shapes(chosen: Options, preds: Any, target: Any) -> None:
    operands = {"preds": preds, "target": target}
    if not isinstance(preds, Tensor) or not isinstance(target, Tensor):
        raise ArgumentError(
            f"{chosen.metric}: preds and target are not both tensors",
            operands=operands,
            fix="wrap them in polyad.tensor(...)",
        )
    if target.is_floating_point():
        raise DTypeError(
            f"{chosen.metric}: target is not of an integer dtype", operands=operands, fix="pass classes: target.long()"
        )
    expected = {
        "binary": "the shape of target",
        "multiclass": f"the shape of target, or with a second dimension of {chosen.classes} scores",
        "multilabel": f"the shape of target, whose second dimension is {chosen.classes}",
    }[chosen.task]
    same = preds.shape == target.shape
    if chosen.task == "multiclass" and preds.ndim == target.ndim + 1:
        fits = (
            (preds.shape[0], *preds.shape[2:]) == target.shape
            and preds.shape[1] == chosen.classes
            and preds.is_floating_point()
        )
    elif chosen.task == "multiclass":
        fits = same and not preds.is_floating_point() and chosen.top_k == 1
        expected += " (floating point; classes have no order that top_k could count)" if same else ""
    elif chosen.task == "multilabel":
        fits = same and preds.ndim >= 2 and preds.shape[1] == chosen.classes
    else:
        fits = same
    if not fits:
        raise ShapeError(
            f"{chosen.metric}: preds {tuple(preds.shape)} and target {tuple(target.shape)} do not fit {chosen.task!r}",
            operands=operands,
            fix=f"pass preds of {expected}",
        )


def _check_values(chosen: Options, preds: Tensor, target: Tensor) -> None:
    """Raise for classes that there are not; waits for the device."""
    most = chosen.classes - 1 if chosen.task == "multiclass" else 1
    for name, values in (("target", target), *(() if preds.is_floating_point() else (("preds", preds),))):
        if values.numel() and (int(values.min()) < 0 or int(values.max()) > most):
            raise ArgumentError(
                f"{chosen.metric}: {name} has classes outside 0 to {most}",
                operands={name: values},
                fix="pass ignore_index for those that are not to count, or more classes",
            )
