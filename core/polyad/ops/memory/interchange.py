"""What other libraries ask of a tensor: the protocols of DLPack, CUDA's arrays and the array API. NumPy's own protocols
are in tensor.py.

The work is done in `polyad.interop.dlpack`, `polyad.interop.cuda_array` and `polyad.array_api`, which are imported when
they are asked for.
"""

from __future__ import annotations

from typing import Any

from ...base.state import state
from ...dispatch.effects import Effect, Result, declare
from ...dispatch.op import method, prop
from ...errors import ArgumentError, safe_repr
from ...tensor import Tensor


@method()
def __dlpack__(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the tensor's memory; see `polyad.interop.dlpack.export`."""
    if state.modes:
        return EXPORT.through_modes(self, stream, max_version, dl_device, copy)
    from ...interop.dlpack import export

    return export(self, stream, max_version, dl_device, copy)


EXPORT = declare(
    Effect(
        "__dlpack__",
        lambda tensor, stream, max_version, dl_device, copy: tensor.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        ),
        reads=(0,),
        result=Result.HOST,
        lends=True,
    )
)


@method()
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """(DLPack device type, index)."""
    from ...interop.dlpack import device_of

    return device_of(self)


@prop()
def __cuda_array_interface__(tensor: Tensor) -> dict[str, Any]:
    """Where the tensor lies in a GPU's memory, for libraries such as CuPy and Numba; see `polyad.interop.cuda_array`.

    Raises AttributeError for a tensor that is on no cuda device, RuntimeError for a tensor that requires a gradient.

    >>> import polyad
    >>> hasattr(polyad.ones(2, device="cpu"), "__cuda_array_interface__")
    False
    """
    from ...interop.cuda_array import described

    return described(tensor)


@method()
def __array_namespace__(self: Tensor, *, api_version: str | None = None) -> Any:
    """The module that has the array API standard's functions for tensors, `polyad.array_api`.

    Raises ValueError for a version of the standard that it does not implement.

    >>> import polyad
    >>> xp = polyad.ones(2).__array_namespace__()
    >>> xp.sum(polyad.ones(2))
    tensor(2.)
    """
    from ... import array_api

    if api_version is not None and api_version not in array_api.VERSIONS:
        raise ArgumentError(
            f"__array_namespace__: version {safe_repr(api_version)} of the array API standard is not implemented",
            fix=f"ask for one of {', '.join(array_api.VERSIONS)}",
        )
    return array_api


@method()
def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on *device*, itself if it is there: the array API standard's name for ``to(device)``."""
    moved: Tensor = self.to(device)
    return moved
