"""Objects that stand in for tensors, under PyTorch's path ``polyad.overrides``."""

from __future__ import annotations

from typing import Any

from .tensor import Tensor


def is_tensor_like(inp: Any) -> bool:
    """Whether *inp* is a tensor, or an object whose class brings ``__torch_function__`` to be taken for one.

    >>> import polyad
    >>> polyad.overrides.is_tensor_like(polyad.zeros(1)), polyad.overrides.is_tensor_like([0.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")
