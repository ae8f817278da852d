"""What a call says without data: shapes, dtypes, strides and aliasing of its results, or its error, as with data."""

from __future__ import annotations

import re
from typing import Any

import polyad
from polyad.backend.bounds import ElementOutOfRange
from polyad.base.device import Device
from polyad.base.dtypes import DType, float32
from polyad.errors import DivisionByZero, LinAlgError, NoData

from ..calls import Target, function_of, outputs_of
from ..layouts import Placed
from ..sample import ErrorCase, Sample

META = "meta"

SIZED_BY_DATA = frozenset(
    {
        "argwhere", "bincount", "masked_select", "nn.functional.one_hot", "nonzero", "repeat_interleave", "unique",
        "unique_consecutive",
    }
)  # fmt: skip
"""Functions whose results are as large as elements say, some of them only if no argument says it."""

ABOUT_ELEMENTS = (ElementOutOfRange, LinAlgError, DivisionByZero)
"""Errors that no call without data can raise."""


TOLD_BY_KERNELS = frozenset(
    {
        # Elements out of the range that the function takes.
        "bincount: negative",
        "binomial: probability above 1",
        "istft: window that leaves gaps",
        "masked_scatter: too few elements",
        "multinomial: negative weights",
        "normal: a negative std among many",
        "nn.functional.embedding_bag: first offset",
        "nn.functional.gaussian_nll_loss: negative variance",
        "nn.functional.max_unpool1d: index out of range",
        "poisson: negative mean",
        "quantile: an element of q below 0",
        "repeat_interleave: negative",
        # A number that a kernel cannot convert.
        "clamp: a bound outside the dtype",
        "nn.functional.hardtanh: negative bound beside uint8",
        "nn.functional.hardtanh_: negative bound beside uint8",
        "where: a number outside the dtype",
    }
)
"""Cases, besides those of `ABOUT_ELEMENTS`, in which nothing is wrong without data."""


def _twin(put: Placed) -> Any:
    """The tensor that was placed, in memory of the same size, without data."""
    real, memory = put.tensor, put.memory
    whole = polyad.empty(memory.shape, dtype=memory.dtype, device=META)
    if real is memory:
        return whole
    return polyad.as_strided(whole, real.shape, real.stride(), real.storage_offset())


def _exchanged(value: Any, twins: dict[int, Any]) -> Any:
    """*value* with the twins of tensors in their place."""
    if isinstance(value, (list, tuple)):
        return type(value)([_exchanged(one, twins) for one in value])
    return twins[id(value)] if isinstance(value, polyad.Tensor) else value


def _described(one: Any, inputs: list[Any], ordered: bool) -> tuple[Any, ...]:
    """Shape, dtype, strides if *ordered*, number of the input whose memory it shows (None: its own), offset there."""
    storage, shape = one._storage, tuple(one.shape)
    shares = next((at for at, given in enumerate(inputs) if storage is not None and given._storage is storage), None)
    # Where there is nothing to step to, the step says nothing.
    strides = tuple(step if size > 1 else None for size, step in zip(shape, one.stride())) if 0 not in shape else ()
    return shape, one.dtype, strides if ordered else None, shares, one.storage_offset()


def has_ends(sample: Sample, dtype: DType) -> bool:
    """Whether *dtype* is the first or the last of the sample's: what is left to rules of dtypes is told by these."""
    return dtype in (sample.dtypes[0], sample.dtypes[-1])


def check_abstract(
    sample: Sample,
    args: Any,
    kwargs: dict[str, Any],
    results: Any,
    placed: list[Placed],
    target: Target,
    what: str,
) -> None:
    """The call that gave *results* gives the same without data, but for the elements."""
    ordered = "ordered_results" in target.backend.capabilities(target.full_device).features
    inputs = [_twin(put) for put in placed]
    twins = {id(put.tensor): one for put, one in zip(placed, inputs)}
    named = {name: _exchanged(value, twins) for name, value in kwargs.items()}
    if "device" in named:
        named["device"] = Device(META)
    try:
        found = function_of(sample)(*_exchanged(args, twins), **named)
    except NoData as error:
        if sample.op in SIZED_BY_DATA or (sample.op == "_index" and any(one.dtype is polyad.bool for one in inputs)):
            return
        raise AssertionError(f"{what}: without data it is refused: {error}") from error
    real, got, originals = outputs_of(results), outputs_of(found), [put.tensor for put in placed]
    assert len(got) == len(real), f"{what}: {len(got)} results without data, {len(real)} with data"
    for position, (one, other) in enumerate(zip(got, real)):
        abstract, expected = _described(one, inputs, ordered), _described(other, originals, ordered)
        assert abstract == expected, f"{what}: result {position} is without data {abstract}, with data {expected}"


def check_abstract_error(case: ErrorCase, real: BaseException, target: Target) -> None:
    """The call that raised *real* raises without data what the case says, unless only elements tell that it is wrong.

    It may then say that there are none.
    """

    def tensor(*shape: int, dtype: DType = float32) -> Any:
        return polyad.empty(shape, dtype=dtype, device=META)

    needs_data = case.label in TOLD_BY_KERNELS or case.fused or isinstance(real, ABOUT_ELEMENTS)
    error: Exception | None = None
    result: Any = None
    try:
        with target.unwatched():
            result = case.call(function_of(case), tensor)
    except Exception as raised:
        error = raised
    if error is None:
        assert needs_data, f"{case.label}: no error was raised without data; the call returned {result!r}"
        return
    kind = f"{type(error).__name__}: {error}"
    if isinstance(error, NoData):
        assert needs_data, f"{case.label}: without data it is refused: {kind}"
        return
    assert isinstance(error, case.raises), f"{case.label}: {kind}\nwithout data, is no {case.raises}"
    assert re.search(case.match, str(error)), f"{case.label}: without data it does not match {case.match!r}:\n{kind}"
