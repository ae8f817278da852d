"""Device names: a backend's entry-point name and an index, ``opencl:1``.

A `Device` is only a name: whether a backend of that name has such a device is decided when it is first used
(`polyad.devices.registry`), so that naming a device loads nothing. A name that nobody has is refused, as in PyTorch.
"""

from __future__ import annotations

import operator
import re
from typing import Any

from ..errors import ArgumentTypeError, DeviceError, safe_repr
from . import provided
from .state import state

KNOWN = {
    "cpu", "cuda", "fpga", "hip", "hpu", "ideep", "ipu", "lazy", "maia", "meta", "mkldnn", "mps", "mtia", "opencl",
    "opengl", "privateuseone", "ve", "vulkan", "xla", "xpu",
}  # fmt: skip
"""The device types that PyTorch knows by name, and those of installed backends that were named before."""

_SYNTAX = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::([0-9]{1,9}))?")


class Device:
    """Where tensors live: a device type and, for device types that count theirs, an index.

    A number alone is that of a device of the current accelerator, see `polyad.accelerator`. Raises DeviceError (a
    RuntimeError) when the text cannot be read as ``type`` or ``type:index``, or when there is no device of that number;
    BackendNotFound (a RuntimeError, too) for a type that neither PyTorch nor an installed backend has.

    >>> import polyad
    >>> polyad.device("opencl:1").type, polyad.device("opencl", 1).index
    ('opencl', 1)

    As a context manager it is the default device of its thread:

    >>> with polyad.device("cpu"):
    ...     polyad.zeros(1).device
    device(type='cpu')
    """

    __slots__ = ("_hash", "index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | Device | int, index: int | None = None) -> None:
        if isinstance(type, Device):
            given, index = type.type, type.index if index is None else index
        elif isinstance(type, str):
            given = type
        elif type.__class__ is int and index is None:
            found = provided.device_of_number(type)  # what "the accelerator" is, only the installed backends say
            given, index = found.type, found.index
        else:
            raise ArgumentTypeError(
                f"device: type is {safe_repr(type)}, not a string", fix='write device("cpu") or device("opencl", 0)'
            )
        if index is not None and index.__class__ is not int:
            try:
                index = operator.index(index)
            except TypeError:
                raise ArgumentTypeError(
                    f"device: index is {safe_repr(index)}, not an int", fix='write device("opencl", 0)'
                ) from None
        match = _SYNTAX.fullmatch(given)
        if match is None or (match[2] is not None and index is not None) or (index is not None and index < 0):
            raise DeviceError(
                f"device: cannot read {safe_repr(given)}" + ("" if index is None else f" with index {index}"),
                fix='write a device type and perhaps an index, such as "cpu", "opencl:0" or device("opencl", 0)',
            )
        if match[1] not in KNOWN:
            provided.check_device_type(match[1])
            KNOWN.add(match[1])
        self._name(match[1], int(match[2]) if match[2] is not None else index)

    def _name(self, type: str, index: int | None) -> None:
        self.type, self.index = type, index
        self._hash = hash((type, index))

    @staticmethod
    def _saved(text: str) -> Device | None:
        """The device that a file names, whether anybody has that type here or not; None for what is no such name."""
        match = _SYNTAX.fullmatch(text)
        if match is None:
            return None
        device = object.__new__(Device)
        device._name(match[1], None if match[2] is None else int(match[2]))
        return device

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Device) and self.type == other.type and self.index == other.index)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __enter__(self) -> Device:
        # Kept in the thread's state and not here: a Device object may be entered by several threads,
        # and twice by the same thread.
        state.outer_devices = (*state.outer_devices, state.default_device)
        state.default_device = self
        return self

    def __exit__(self, *exception: object) -> None:
        *outer, state.default_device = state.outer_devices
        state.outer_devices = tuple(outer)

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.type, self.index)
