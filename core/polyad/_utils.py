"""What code for PyTorch asks of its module of this name."""

from __future__ import annotations

from .base.dtypes import DType
from .compatibility.absent import lacking

__all__: list[str] = []

__getattr__ = lacking(__name__)


def _element_size(dtype: DType) -> int:
    """The bytes of an element of *dtype*.

    >>> import polyad
    >>> polyad._utils._element_size(polyad.float16)
    2
    """
    return dtype.itemsize
