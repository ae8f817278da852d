"""What code for PyTorch asks of its module of this name."""

from __future__ import annotations

from .base.dtypes import DType

__all__: list[str] = []


def _element_size(dtype: DType) -> int:
    """The bytes of an element of *dtype*.

    >>> import polyad
    >>> polyad._utils._element_size(polyad.float16)
    2
    """
    return dtype.itemsize
