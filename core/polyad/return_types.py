"""Named results of ops that give several tensors: ``values, indices = x.max(dim=0)`` or ``x.max(dim=0).indices``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "ValuesAndIndices",
    "aminmax",
    "cummax",
    "cummin",
    "kthvalue",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "sort",
    "topk",
]


class ValuesAndIndices(NamedTuple):
    """Elements and where they were found; the base of the named results below."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return f"polyad.return_types.{type(self).__name__}(\nvalues={self.values!r},\nindices={self.indices!r})"


class max(ValuesAndIndices):
    """What `polyad.max` over a dimension gives."""


class min(ValuesAndIndices):
    """What `polyad.min` over a dimension gives."""


class median(ValuesAndIndices):
    """What `polyad.median` over a dimension gives."""


class kthvalue(ValuesAndIndices):
    """What `polyad.kthvalue` gives."""


class cummax(ValuesAndIndices):
    """What `polyad.cummax` gives."""


class cummin(ValuesAndIndices):
    """What `polyad.cummin` gives."""


class mode(ValuesAndIndices):
    """What `polyad.mode` gives."""


class nanmedian(ValuesAndIndices):
    """What `polyad.nanmedian` over a dimension gives."""


class sort(ValuesAndIndices):
    """What `polyad.sort` gives."""


class topk(ValuesAndIndices):
    """What `polyad.topk` gives."""


class aminmax(NamedTuple):
    """What `polyad.aminmax` gives."""

    min: Tensor
    max: Tensor

    def __repr__(self) -> str:
        return f"polyad.return_types.aminmax(\nmin={self.min!r},\nmax={self.max!r})"
