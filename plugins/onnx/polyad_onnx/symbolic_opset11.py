"""Functions with which symbolic functions of libraries write views, at PyTorch's path; see
`register_custom_op_symbolic`. They write for the opset that is exported to.
"""

from __future__ import annotations

from typing import Any

import polyad

__all__ = ["select", "squeeze", "unsqueeze"]


def _numbers(g: Any, *values: int) -> Any:
    return g.op("Constant", value_t=polyad.tensor(values, dtype=polyad.int64))


def unsqueeze(g: Any, self: Any, dim: int) -> Any:
    """A value with a dimension of size 1 at *dim*."""
    return g.op("Unsqueeze", self, _numbers(g, int(dim)))


def squeeze(g: Any, self: Any, dim: int | None = None) -> Any:
    """A value without the dimension *dim*, of size 1; without *dim* without all of size 1."""
    return g.op("Squeeze", self) if dim is None else g.op("Squeeze", self, _numbers(g, int(dim)))


def select(g: Any, self: Any, dim: int, index: Any) -> Any:
    """A value at a position of the dimension *dim*, which is gone; *index* is a number or a value of the graph."""
    if isinstance(index, int):
        index = g.op("Constant", value_t=polyad.tensor(index, dtype=polyad.int64))
    return g.op("Gather", self, index, axis_i=int(dim))
