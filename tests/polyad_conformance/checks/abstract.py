"""What a call says of its results without data: shapes, dtypes, strides and aliasing are those of the real results."""

from __future__ import annotations

from typing import Any

import polyad
from polyad.device import Device
from polyad.errors import NoData

from ..calls import function_of, outputs_of
from ..layouts import Placed
from ..sample import Sample

META = "meta"


def twins(value: Any, placed: dict[int, Any]) -> Any:
    """*value* with the tensors that were placed as tensors without data, that lie in memory in the same way."""
    if isinstance(value, (list, tuple)):
        return type(value)([twins(one, placed) for one in value])
    if isinstance(value, polyad.Tensor):
        return placed[id(value)]
    return value


def twin(put: Placed) -> Any:
    """The tensor that was placed, over as much memory, without data."""
    real, memory = put.tensor, put.memory
    whole = polyad.empty(memory.shape, dtype=memory.dtype, device=META)
    if real is memory:
        return whole
    return polyad.as_strided(whole, real.shape, real.stride(), real.storage_offset())


def described(one: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """What is compared of a result: which input's memory it shows, None for memory of its own."""
    storage = one._storage
    shares = next((at for at, put in enumerate(inputs) if storage is not None and put._storage is storage), None)
    shape = tuple(one.shape)
    # Where there is nothing to step to, the step says nothing.
    strides = tuple([step if size > 1 else None for size, step in zip(shape, one.stride())]) if 0 not in shape else ()
    return shape, one.dtype, strides, shares, one.storage_offset()


def check_abstract(
    sample: Sample, args: Any, kwargs: dict[str, Any], results: Any, placed: list[Placed], what: str
) -> None:
    """The call gives without data what it gave with data, but for the elements; NoData where only these can tell."""
    inputs = [twin(put) for put in placed]
    by_id = {id(put.tensor): one for put, one in zip(placed, inputs)}
    named = {name: twins(value, by_id) for name, value in kwargs.items()}
    if "device" in named:
        named["device"] = Device(META)
    try:
        found = function_of(sample)(*twins(args, by_id), **named)
    except NoData as error:
        assert sample.needs_data, f"{what}, without data: {error}"
        return
    real, got = outputs_of(results), outputs_of(found)
    assert len(got) == len(real), f"{what}, without data: {len(got)} results, not {len(real)}"
    for position, (one, other) in enumerate(zip(got, real)):
        expected = described(other, [put.tensor for put in placed])
        assert described(one, inputs) == expected, (
            f"{what}, without data, result {position}: {described(one, inputs)}, with data {expected}"
        )
