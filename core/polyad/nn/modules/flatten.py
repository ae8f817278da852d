"""Layers that change the shape and copy nothing if they can."""

from __future__ import annotations

from collections.abc import Sequence

from ...arguments import check_type
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions from *start_dim* to *end_dim*, both included, into one; by default all but the batch.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Flatten()(polyad.zeros(32, 1, 5, 5)).shape
    polyad.Size([32, 25])
    """

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        check_tensor(input, type(self).__name__, "input")
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension *dim* into the sizes of *unflattened_size*, a single one of which may be -1.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Unflatten(1, (2, 5))(polyad.zeros(3, 10)).shape
    polyad.Size([3, 2, 5])
    """

    dim: int
    unflattened_size: tuple[int, ...]

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = check_type("Unflatten", "dim", dim, int, "a whole number")
        check_type("Unflatten", "unflattened_size", unflattened_size, (tuple, list), "a tuple")
        self.unflattened_size = tuple(
            check_type("Unflatten", "unflattened_size", size, int, "a tuple of whole numbers")
            for size in unflattened_size
        )

    def forward(self, input: Tensor) -> Tensor:
        check_tensor(input, type(self).__name__, "input")
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
