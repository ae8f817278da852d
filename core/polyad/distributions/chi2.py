"""The chi-squared distribution."""

from __future__ import annotations

from ..tensor import Tensor
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of *df* (above 0) squared standard normal numbers. Raises ValueError for other df.

    >>> import polyad as torch
    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The number of squares."""
        return self.concentration * 2

    def expand(self, batch_shape, _instance=None):  # type: ignore[no-untyped-def]
        new = self._new_instance(_instance)
        new.concentration, new.rate = (x.expand(batch_shape) for x in (self.concentration, self.rate))
        return super().expand(batch_shape, new)
