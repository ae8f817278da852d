"""Dropout: zeroing random elements in training (Srivastava et al. 2014)."""

from __future__ import annotations

from ...base.kinds import Probability
from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """What the dropout layers have in common."""

    p: float
    inplace: bool

    def __init__(self, p: Probability = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, zeroes each element with probability *p* and scales the others by 1 / (1 - p); else the identity.

    Raises:
        ValueError: *p* is outside [0, 1].

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Dropout(0.2).eval()(polyad.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """In training, zeroes whole channels of (N, C, L) or (C, L) with probability *p* (Tompson et al. 2015).

    The others are scaled by 1 / (1 - p). Raises ValueError for a *p* outside of [0, 1].

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Dropout1d(0.2).eval()(polyad.ones(1, 2, 3)).shape
    polyad.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """In training, zeroes whole channels of (N, C, H, W) or (C, H, W) with probability *p* (Tompson et al. 2015).

    The others are scaled by 1 / (1 - p). Raises ValueError for a *p* outside of [0, 1].

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Dropout2d(0.2).eval()(polyad.ones(1, 2, 3, 3)).shape
    polyad.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """In training, zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) with probability *p* (Tompson et al. 2015).

    The others are scaled by 1 / (1 - p). Raises ValueError for a *p* outside of [0, 1].

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Dropout3d(0.2).eval()(polyad.ones(1, 2, 3, 3, 3)).shape
    polyad.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1, for networks of `SELU` (Klambauer et al. 2017).

    In training an element is set to the SELU's lower limit with probability *p*. Raises ValueError for a *p* outside of
    [0, 1].

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AlphaDropout(0.2).eval()(polyad.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels (N, C, *).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.FeatureAlphaDropout(0.2).eval()(polyad.ones(1, 2, 3)).shape
    polyad.Size([1, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
