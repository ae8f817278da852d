"""The domain ai.onnx.ml: trees, linear models and what prepares their features."""

from __future__ import annotations

__all__: list[str] = []
