"""Tensors over memory that another library lends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backend import Backend
from ..base.device import Device
from ..base.dtypes import DType
from ..base.shapes_and_strides import Shape, Strides
from ..devices import registry

if TYPE_CHECKING:
    from ..tensor import Tensor


def over(backend: Backend, root: Any, dtype: DType, device: Device, shape: Shape, steps: Strides) -> Tensor:
    """The tensor whose elements lie *steps* apart in *root*, a dense array of the backend's with one dimension."""
    from ..tensor import Tensor
    from ..tensor.storage import Storage, ViewOf

    out = Tensor._of(backend.as_strided(root, dtype, shape, steps, 0), registry.tensor_type(dtype, device, not shape))
    out._storage, out._view = Storage(root, backend, dtype.itemsize), ViewOf(None, 0)
    return out
