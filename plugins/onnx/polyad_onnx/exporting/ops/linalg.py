"""Linear algebra: what ONNX has of it."""

from __future__ import annotations

from typing import Any

from ..registry import translates


@translates("linalg_det")
def det(to: Any, A: Any) -> Any:
    """The determinants of matrices."""
    return to.op("Det", A)
