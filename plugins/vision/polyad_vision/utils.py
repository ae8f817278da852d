"""Pictures for people: grids, files, boxes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import polyad
from polyad import Tensor
from polyad.arguments import check_dims, explain
from polyad.errors import ArgumentTypeError

from .transforms.functional import to_pil_image

__all__ = ["make_grid", "save_image"]


def make_grid(
    tensor: Tensor | Sequence[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Pictures (n, channels, height, width) in rows, as one (3, h, w).

    Args:
        nrow: pictures in a row.
        normalize: from the least and largest value, or *value_range*, to 0 and 1; *scale_each*, in each picture.

    Raises:
        TypeError: neither a tensor nor a sequence of them.

    >>> import polyad as torch
    >>> from polyad.vision.utils import make_grid
    >>> make_grid(torch.zeros(5, 3, 4, 4), nrow=3).shape
    polyad.Size([3, 14, 20])
    """
    if not isinstance(tensor, Tensor):
        if not isinstance(tensor, Sequence) or not all(isinstance(picture, Tensor) for picture in tensor):
            raise ArgumentTypeError(
                f"make_grid: tensor is of type {type(tensor).__name__}", fix="pass a tensor or a list of them"
            )
        tensor = polyad.stack(list(tensor))
    if tensor.dim() == 2:
        tensor = tensor[None]
    if tensor.dim() == 3:
        tensor = tensor[None]
    check_dims("make_grid", "tensor", tensor, (4,), "pass (n, channels, height, width)")
    if tensor.shape[1] == 1:
        tensor = tensor.expand(-1, 3, -1, -1)
    if normalize:
        dims = (1, 2, 3) if scale_each else (0, 1, 2, 3)
        if value_range is None:
            low, high = tensor.amin(dims, keepdim=True), tensor.amax(dims, keepdim=True)
            tensor = (tensor - low) / (high - low).clamp(min=1e-5)
        else:
            least, most = value_range
            tensor = (tensor.clamp(least, most) - least) / max(most - least, 1e-5)
    count, channels, rows, columns = tensor.shape
    if count == 1:
        return tensor[0]
    across = min(nrow, count)
    down = math.ceil(count / across)
    height, width = rows + padding, columns + padding
    grid = polyad.full(
        (channels, height * down + padding, width * across + padding),
        pad_value,
        dtype=tensor.dtype,
        device=tensor.device,
    )
    for number in range(count):
        top, left = number // across * height + padding, number % across * width + padding
        grid[:, top : top + rows, left : left + columns] = tensor[number]
    return grid


def save_image(tensor: Tensor | Sequence[Tensor], fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write pictures with numbers from 0 to 1 as a file, several as a grid.

    Args:
        fp: a path, or a binary file for which *format* is given.
        kwargs: for `make_grid`.
    """
    grid = make_grid(tensor, **kwargs).detach()
    to_pil_image(grid.mul(255).add(0.5).clamp(0, 255).to(polyad.uint8)).save(
        os.fspath(fp) if isinstance(fp, os.PathLike) else fp, format=format
    )


explain(globals())
