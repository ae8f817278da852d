"""Mistakes with layers: an input of another dtype than the weights (PL010)."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import FLOATING
from ...tensor import Tensor
from .session import Rule, Session

__all__ = ["MixedDtypes"]


class MixedDtypes(Rule):
    """PL010. A linear layer is given another floating point dtype than its weight has: NumPy's float64, mostly. The
    result has the wider one, and so has whatever comes after; PyTorch refuses it.
    """

    code = "PL010"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.ops = {"linear": self._linear}

    def _linear(self, args: tuple[Any, ...], result: Any) -> None:
        given, weight = args[0], args[1]
        if not isinstance(given, Tensor) or not isinstance(weight, Tensor):
            return
        dtypes = given._type.dtype, weight._type.dtype
        if dtypes[0] is not dtypes[1] and all(dtype.category == FLOATING for dtype in dtypes):
            self.session.report(
                self.code,
                f"a linear layer with a weight of {dtypes[1].name} got {dtypes[0].name}, and computes in "
                f"{result._type.dtype.name}",
                f"convert the input once, where it is made: input.to(polyad.{dtypes[1].name})",
                "linear",
            )
