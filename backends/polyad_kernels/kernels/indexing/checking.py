"""Checks of elements that nothing else depends on: a wrong one is noted, and the next call that waits raises it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyad.base.shapes_and_strides import coordinates

from ...array import Array
from ...memo import memoize
from ...source.elements import MOVED
from ...source.walking import CHECKED, Walk, closing, cut, letters, local_size, opening, parameters


@memoize
def _check(device: Any, width: int, valued: bool, rank: int) -> Any:
    element, operands = MOVED[width], "gv" if valued else "g"
    value, given = ("value[v + i * V]", "__global const long *value, ") if valued else ("0", "")
    source = f"""{CHECKED}
__kernel void check_all(__global const {element} *restrict good, {given}__global long *cell, int number,
                        {parameters(rank, operands)})
{{
    {opening(rank, operands)}
    for (long i = 0; i < run; ++i) if (!good[g + i * G]) tell(cell, number, at + i, {value});
    {closing(rank, operands)}
}}
"""
    signature = "p" * (3 if valued else 2) + "i" + letters(rank, operands)
    return device.kernel(source, "check_all", signature, what="check of elements", local=local_size(device))


def check_all(good: Array, value: Array | None, error: Callable[[tuple[int, ...], int], Exception]) -> None:
    """As `polyad.backend.Backend.check_all`, without waiting."""
    device, shape = good.device, good.shape
    valued = [] if value is None else [value]
    walk = Walk(shape, *[(array.offset, array.steps) for array in (good, *valued)])
    if not walk.count:
        return
    items, chunk = cut(device, walk.count)

    def judge(position: int, value: int) -> Exception:
        return error(coordinates(position, shape), value)

    _check(device, good.dtype.itemsize, value is not None, walk.rank)(
        items, good.buffer, *[array.buffer for array in valued],
        device.trouble_cell, device.expect(judge), *walk.arguments(chunk),
    )  # fmt: skip
    device.verify()
