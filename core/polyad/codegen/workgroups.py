"""Workgroups of a GPU, of which several work items share a row, so that neighbours read what lies side by side.

A workgroup has one row at a time, or several: few work items share a short row, and a full workgroup is what keeps a
multiprocessor busy. The order in which values are added depends on how many share a row, and on nothing else.
`polyad.loops.groups` says how they walk rows and add up.
"""

from __future__ import annotations

from .hardware import CPU, DeviceDescription

_FULL = 128
"""Work items of a workgroup that has several rows."""

_LARGEST = 512
"""Work items that share a row at most: more wait longer for each other than they bring."""

_SHORT, _WARP = 1024, 32
"""Up to this length a row is shared by at most a warp, where rows are many."""


def choose_workgroup(device: DeviceDescription, length: int, rows: int) -> tuple[int, int]:
    """How many work items share a row of *length*, and how many make a workgroup, if there are so many rows; both are
    powers of two, and 1 on CPUs.

    >>> from .hardware import GPU
    >>> gpu = DeviceDescription(GPU, compute_units=4, max_local_size=1024)
    >>> [choose_workgroup(gpu, *row) for row in ((10, 1000), (1000, 100000), (1000, 10), (1 << 20, 10))]
    [(4, 128), (32, 128), (128, 128), (512, 512)]
    """
    if device.kind == CPU or length <= 1:
        return 1, 1
    largest = min(_LARGEST, 1 << (device.max_local_size.bit_length() - 1))
    if length <= _SHORT and (length <= 4 * _WARP or rows * _WARP >= device.workers // 4):
        items = min(_WARP, largest, _power(-(-length // 4)))
    else:
        items = min(largest, _power(-(-length // 8)))
    return items, max(items, min(_FULL, largest))


def _power(count: int) -> int:
    """The least power of two that is not below *count*, and not below 2."""
    return max(2, 1 << (count - 1).bit_length())
