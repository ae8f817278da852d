"""Refused calls: the exception type, the message, the inputs, and the device's state afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType, float32
from polyad.errors import PolyadError, UndeclaredDType
from polyad.interop.numpy import numpy_dtype

from ..calls import Target, UnsupportedByDeclaration, function_of
from ..layouts import to_host
from ..sample import ErrorCase
from . import abstract

_BY_BODY = ("decomposition", "lowered")
"""The ways of a composite that does what its body says and nothing else."""


def check_error(case: ErrorCase, target: Target) -> None:
    """The call raises what the case says, in the house style, and changes nothing.

    A device that declares to be asynchronous may raise at the next synchronisation, in the words of the op that it was
    running; what the call was to change in place is lost then.
    Called twice: while nobody watches, a kernel may write to given memory straight away.
    """
    error = _check(case, target, target.watching)
    if not case.fused:
        _check(case, target, nullcontext)
    abstract.check_abstract_error(case, error, target)


def _check(case: ErrorCase, target: Target, way: Callable[[], AbstractContextManager[Any]]) -> BaseException:
    made: list[tuple[Any, bytes]] = []

    def tensor(*shape: int, dtype: DType = float32) -> Any:
        if dtype not in target.dtypes:
            raise UnsupportedByDeclaration(f"{target.device} declares no {dtype.name}")
        values = (np.arange(int(np.prod(shape))) % 5).reshape(shape).astype(numpy_dtype(dtype))
        one = polyad.tensor(values, device=target.device)
        made.append((one, to_host(one).tobytes()))
        return one

    error: BaseException | None = None
    late = False
    try:
        with way() as paths:
            result = case.call(function_of(case), tensor)
            late = True
            target.backend.synchronize(target.full_device)
    except (UnsupportedByDeclaration, KeyboardInterrupt):
        raise
    except BaseException as raised:
        error = raised
    if late and error is not None and "asynchronous" not in _features(target):
        raise AssertionError(
            f"{case.label}: the call itself raised nothing; the next synchronisation did, though {target.device} does "
            f"not declare the feature asynchronous: {type(error).__name__}: {error}"
        ) from error
    told = re.search(case.match, str(error))
    if isinstance(error, UndeclaredDType) and error.dtype not in target.dtypes and not told:
        raise error  # the case needs a dtype that there is not, which is no fault
    if case.fused and any(path in _BY_BODY for _, path, _ in paths.taken):
        if error is None:
            raise UnsupportedByDeclaration(f"only a kernel of {case.op} itself would notice; {target.device} has none")
        late = True  # told by an op inside
    assert error is not None, f"{case.label}: no error was raised; the call returned {result!r}"
    kind = f"{type(error).__name__}: {error}"
    assert isinstance(error, case.raises), f"{case.label}: {kind}\nis no {case.raises}"
    assert isinstance(error, PolyadError), f"{case.label}: {kind}\nis not in polyad's style (polyad.errors)"
    assert late or told, f"{case.label}: the message does not match {case.match!r}:\n{error}"
    assert error.fix, f"{case.label}: the error says no way to mend it:\n{error}"
    kept = made[1:] if late and case.op.endswith("_") else made
    for position, (one, before) in enumerate(kept, len(made) - len(kept)):
        assert to_host(one).tobytes() == before, f"{case.label}: tensor {position} was changed by the refused call"
    after = polyad.ones(3, device=target.device) + 1
    assert to_host(after).tolist() == [2.0, 2.0, 2.0], f"{case.label}: the device computes wrongly after the error"
    return error


def _features(target: Target) -> frozenset[str]:
    return target.backend.capabilities(target.full_device).features
