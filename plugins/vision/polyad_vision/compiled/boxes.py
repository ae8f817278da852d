"""Non-maximum suppression, in blocks: each box of a block is compared with those behind it at once."""

from __future__ import annotations

import polyad
from polyad import Tensor
from polyad.errors import DTypeError, ShapeError, UnsupportedDType

_BLOCK = 256
"""How many boxes are compared with the rest at once."""


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Which of the boxes *dets* (n, 4) stay, int64, the highest score first: none overlaps a better one that stays by
    more than *iou_threshold*, as a part of what both cover.

    Raises RuntimeError for shapes or dtypes that do not fit, NotImplementedError for dtypes of 16 bits.
    """
    _check(dets, scores)
    order = scores.argsort(descending=True, stable=True)
    boxes = dets.index_select(0, order)
    found: list[Tensor] = []
    while len(order):
        stays = _stay(boxes[:_BLOCK], iou_threshold)
        better, found_here = boxes[:_BLOCK][stays], order[:_BLOCK][stays]
        found.append(found_here)
        order, boxes = order[_BLOCK:], boxes[_BLOCK:]
        if len(order):
            free = ~(_overlaps(better, boxes) > iou_threshold).any(0)
            order, boxes = order[free], boxes[free]
    return polyad.cat(found) if found else order


def _check(dets: Tensor, scores: Tensor) -> None:
    operands = {"dets": dets, "scores": scores}
    if dets.dim() != 2 or dets.shape[1] != 4 or tuple(scores.shape) != (len(dets),):
        raise ShapeError(
            f"nms: dets {tuple(dets.shape)} and scores {tuple(scores.shape)} do not fit", operands=operands,
            fix="pass boxes (n, 4) and scores (n,)",
        )  # fmt: skip
    if dets.dtype is not scores.dtype:
        raise DTypeError("nms: boxes and scores are of two dtypes", operands=operands, fix="cast one to the other's")
    if dets.dtype not in (polyad.float32, polyad.float64):
        raise UnsupportedDType("nms: boxes are neither float32 nor float64", operands=operands, fix="cast them")


def _stay(boxes: Tensor, threshold: float) -> Tensor:
    """Which of *boxes*, the best first, no better one that stays suppresses.

    A box stays for certain once all that overlap it and are better are gone; as long as this changes anything it is
    asked again, at most once a box of the longest chain of overlaps.
    """
    suppresses = (_overlaps(boxes, boxes) > threshold).triu(1)
    stays = polyad.ones(len(boxes), dtype=polyad.bool, device=boxes.device)
    while True:
        again = ~(suppresses & stays[:, None]).any(0)
        if bool((again == stays).all()):
            return stays
        stays = again


def _overlaps(first: Tensor, second: Tensor) -> Tensor:
    """What boxes share, as parts of what they cover together, (n, m)."""
    low = polyad.maximum(first[:, None, :2], second[:, :2])
    high = polyad.minimum(first[:, None, 2:], second[:, 2:])
    width, height = (high - low).clamp(min=0).unbind(-1)
    shared = width * height
    return shared / (_areas(first)[:, None] + _areas(second) - shared)


def _areas(boxes: Tensor) -> Tensor:
    left, top, right, bottom = boxes.unbind(-1)
    return (right - left) * (bottom - top)
