"""Where the windows of convolutions and pooling lie: ONNX's padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polyad.nn.functional as F
from polyad import Tensor

from ..operators import Node

__all__ = ["Windows"]


@dataclass
class Windows:
    """The attributes strides, dilations, pads and auto_pad of a node."""

    strides: list[int] | None
    dilations: list[int] | None
    pads: list[int] | None
    auto: str
    """NOTSET, VALID, SAME_UPPER or SAME_LOWER."""

    @classmethod
    def of(cls, node: Node) -> Windows:
        """What the node says."""
        auto = node.choice("auto_pad", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", "")
        return cls(node.integers("strides"), node.integers("dilations"), node.integers("pads"), auto or "NOTSET")

    def at(self, sizes: Any, kernel: Any) -> tuple[list[int], list[int], list[int], list[int]]:
        """Strides, dilations, padding before and after, for an input and a kernel of these sizes."""
        dims = len(kernel)
        strides, dilations = self.strides or [1] * dims, self.dilations or [1] * dims
        if self.auto in ("SAME_UPPER", "SAME_LOWER"):
            before, after = [], []
            for size, k, stride, apart in zip(sizes, kernel, strides, dilations, strict=True):
                total = max((-(-size // stride) - 1) * stride + apart * (k - 1) + 1 - size, 0)
                first = total // 2 if self.auto == "SAME_UPPER" else total - total // 2
                before.append(first)
                after.append(total - first)
            return strides, dilations, before, after
        pads = self.pads if self.pads and self.auto == "NOTSET" else [0] * 2 * dims
        return strides, dilations, list(pads[:dims]), list(pads[dims:])


def padded(x: Tensor, before: list[int], after: list[int], fill: float = 0.0) -> Tensor:
    """*x* with its last dimensions padded, each side by its own amount."""
    if not any(before) and not any(after):
        return x
    flat = [each for pair in reversed(list(zip(before, after, strict=True))) for each in pair]
    return F.pad(x, flat, "constant", fill)
