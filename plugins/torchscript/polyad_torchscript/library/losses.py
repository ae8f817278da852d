"""Losses of `polyad.nn.functional` as programs, by PyTorch's operators, whose reductions are numbers."""

from __future__ import annotations

import polyad as torch
from polyad import Tensor

__all__ = ["FUNCTIONS"]


def reduction_number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    if size_average is not None or reduce is not None:
        if reduce is not None and not reduce:
            return 0
        return 1 if size_average is None or size_average else 2
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction")


def reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    return loss.sum() if reduction == 2 else loss


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    number = reduction_number(reduction, size_average, reduce)
    return torch.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return torch.nll_loss_nd(input, target, weight, reduction_number(reduction, size_average, reduce), ignore_index)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    a, b = torch.broadcast_tensors([input, target])
    return torch.mse_loss(a, b, reduction_number(reduction, size_average, reduce))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    a, b = torch.broadcast_tensors([input, target])
    return torch.l1_loss(a, b, reduction_number(reduction, size_average, reduce))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    a, b = torch.broadcast_tensors([input, target])
    return torch.smooth_l1_loss(a, b, reduction_number(reduction, size_average, reduce), beta)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return torch.binary_cross_entropy(input, target, weight, reduction_number(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    number = reduction_number(reduction, size_average, reduce)
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    if reduction != "batchmean":
        number = reduction_number(reduction, size_average, reduce)
        return torch.kl_div(input, target, number, log_target=log_target)
    found = torch.kl_div(input, target, 2, log_target=log_target)
    return found / input.size(0) if input.dim() != 0 else found


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    a, b = torch.broadcast_tensors([input, target])
    if weight is None:
        return torch.huber_loss(a, b, reduction_number(reduction), delta)
    return reduced(torch.huber_loss(a, b, 0, delta) * weight, reduction_number(reduction))


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = reduction_number(reduction, size_average, reduce)
    return torch.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    if isinstance(var, float):
        if var < 0.0:
            raise ValueError("var has negative entry/entries")
        spread = torch.full_like(input, var)
    else:
        if bool(torch.any(torch.lt(var, 0))):
            raise ValueError("var has negative entry/entries")
        spread = var
        if spread.size() != input.size():
            if input.size()[:-1] == spread.size():
                spread = spread.unsqueeze(-1)
            elif input.size()[:-1] != spread.size()[:-1] or spread.size(-1) != 1:
                raise ValueError("var is of incorrect size")
    number = reduction_number(reduction)
    with torch.no_grad():
        correction = torch.clamp(spread, min=eps) - spread
    held = spread + correction
    loss = 0.5 * (torch.log(held) + (input - target) ** 2 / held)
    if full:
        loss = loss + 0.9189385332046727
    return reduced(loss, number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return torch.soft_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return torch.multilabel_margin_loss(input, target, reduction_number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = reduction_number(reduction, size_average, reduce)
    loss = -(target * torch.log_sigmoid(input) + (1 - target) * torch.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.mean(-1), number)


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
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    number = reduction_number(reduction, size_average, reduce)
    return torch.multi_margin_loss(input, target, p, margin, weight, number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = reduction_number(reduction, size_average, reduce)
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return torch.hinge_embedding_loss(input, target, margin, reduction_number(reduction, size_average, reduce))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = reduction_number(reduction, size_average, reduce)
    return torch.cosine_embedding_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    if margin <= 0.0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    number = reduction_number(reduction, size_average, reduce)
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | list[int],
    target_lengths: Tensor | list[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    number = reduction_number(reduction)
    have = input_lengths if isinstance(input_lengths, Tensor) else torch.tensor(input_lengths)
    wanted = target_lengths if isinstance(target_lengths, Tensor) else torch.tensor(target_lengths)
    return torch.ctc_loss(log_probs, targets, have, wanted, blank, number, zero_infinity)


FUNCTIONS = (
    cross_entropy, nll_loss, mse_loss, l1_loss, smooth_l1_loss, huber_loss, binary_cross_entropy,
    binary_cross_entropy_with_logits, kl_div, poisson_nll_loss, gaussian_nll_loss, soft_margin_loss,
    multilabel_margin_loss, multilabel_soft_margin_loss, multi_margin_loss, margin_ranking_loss, hinge_embedding_loss,
    cosine_embedding_loss, triplet_margin_loss, ctc_loss,
)  # fmt: skip
"""The functions."""
