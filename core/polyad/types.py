"""Names for what arguments may be, at PyTorch's path ``polyad.types``."""

from __future__ import annotations

import os
from builtins import bool as _bool, bytes as _bytes, float as _float, int as _int, str as _str
from collections.abc import Sequence
from typing import IO, TypeAlias

from .base.device import Device as _device
from .base.dtypes import DType
from .base.shapes_and_strides import Size
from .ops.memory.storage_types import UntypedStorage as Storage
from .tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = _int | _float | _bool
Device: TypeAlias = _device | _str | _int | None
FileLike: TypeAlias = _str | os.PathLike[_str] | IO[_bytes]

_dtype: TypeAlias = DType
_Number = (_int, _float, _bool)
_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
