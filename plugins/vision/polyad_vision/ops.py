"""Boxes (n, 4), as left, top, right, bottom."""

from __future__ import annotations

import polyad
from polyad import Tensor
from polyad.arguments import explain
from polyad.errors import ArgumentError

__all__ = ["box_area", "box_convert", "box_iou", "clip_boxes_to_image", "nms"]


def box_area(boxes: Tensor) -> Tensor:
    """The areas of boxes, (n,).

    >>> import polyad as torch
    >>> from polyad.vision.ops import box_area
    >>> box_area(torch.tensor([[0.0, 0.0, 2.0, 3.0]]))
    tensor([6.])
    """
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """The areas that boxes share, as parts of what they cover together, (n, m).

    >>> import polyad as torch
    >>> from polyad.vision.ops import box_iou
    >>> box_iou(torch.tensor([[0.0, 0.0, 2.0, 2.0]]), torch.tensor([[0.0, 0.0, 2.0, 1.0]]))
    tensor([[0.5000]])
    """
    low = polyad.maximum(boxes1[:, None, :2], boxes2[:, :2])
    high = polyad.minimum(boxes1[:, None, 2:], boxes2[:, 2:])
    sides = (high - low).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared / (box_area(boxes1)[:, None] + box_area(boxes2) - shared)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes (..., 4) in another form: "xyxy" are two corners, "xywh" a corner and the sides, "cxcywh" the middle and
    the sides.

    >>> import polyad as torch
    >>> from polyad.vision.ops import box_convert
    >>> box_convert(torch.tensor([[1.0, 2.0, 5.0, 4.0]]), "xyxy", "cxcywh")
    tensor([[3., 3., 4., 2.]])
    """
    forms = ("xyxy", "xywh", "cxcywh")
    if in_fmt not in forms or out_fmt not in forms:
        raise ArgumentError(f"box_convert: from {in_fmt!r} to {out_fmt!r}", fix=f"pass two of {', '.join(forms)}")
    if in_fmt == out_fmt:
        return boxes.clone()
    a, b, c, d = boxes.unbind(-1)
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        a, b, c, d = a, b, c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return polyad.stack([a, b, c, d], -1)


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes (..., 4) cut to a picture of *size* (height, width)."""
    height, width = size
    a, b, c, d = boxes.unbind(-1)
    return polyad.stack([a.clamp(0, width), b.clamp(0, height), c.clamp(0, width), d.clamp(0, height)], -1)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Which boxes stay, int64, the highest score first: none overlaps one before it by more than *iou_threshold*.

    >>> import polyad as torch
    >>> from polyad.vision.ops import nms
    >>> nms(torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]]), torch.tensor([0.5, 0.9, 0.1]), 0.5)
    tensor([1, 2])
    """
    if boxes.dim() != 2 or boxes.shape[1] != 4 or tuple(scores.shape) != (len(boxes),):
        raise ArgumentError(
            f"nms: boxes {tuple(boxes.shape)}, scores {tuple(scores.shape)}", fix="pass boxes (n, 4) and scores (n,)"
        )
    order = scores.argsort(descending=True, stable=True)
    overlap = (box_iou(boxes[order], boxes[order]) > iou_threshold).cpu().numpy()
    gone = overlap.any(0) & False
    kept = []
    for number in range(len(gone)):
        if not gone[number]:
            kept.append(number)
            gone |= overlap[number]
    return order[polyad.tensor(kept, dtype=polyad.int64, device=boxes.device)]


explain(globals())
