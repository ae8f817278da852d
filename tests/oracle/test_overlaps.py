"""Calls whose operand lies in the memory that they write to, in both libraries: each sample's, in place and with
``out=``, one element on, at the same place, and turned.

PyTorch refuses most; where it computes with what it has overwritten already, its numbers say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from polyad.base.dtypes import DType, float32, int64

from .calls import Call, Given, contiguous, row_major
from .crashes import crashes
from .forms import basic_form, has_method, takes_out
from .libraries import POLYAD, TORCH, Library
from .outcomes import Result, builtin, observe
from .templates import compared_paths, templates_of

SHIFTS = {"one element on": 1, "at the same place": 0, "turned": None}

COMPUTED_FIRST = "unsupported operation"
"""How PyTorch refuses where polyad may compute the result before it writes."""


@dataclass(frozen=True)
class Shared:
    """A call, written to a tensor of *shape* that shares memory with the argument at *position*."""

    call: Call
    form: str
    shape: tuple[int, ...]
    position: int
    where: str

    def carried_out(self, library: Library) -> tuple[BaseException | None, np.ndarray]:
        """What it raised, and the memory afterwards."""
        source = self.call.args[self.position]
        memory = np.zeros(max(source.values.size, int(np.prod(self.shape))) + 1, source.memory.dtype)
        memory[: source.values.size] = source.values.reshape(-1)
        shared = library.new(memory)
        turned = tuple(reversed(row_major(tuple(reversed(self.shape)))))
        shift = SHIFTS[self.where]
        target = shared.as_strided(self.shape, turned if shift is None else row_major(self.shape), shift or 0)
        operand = shared.as_strided(source.shape, row_major(source.shape), 0)

        def made(value: Any) -> Any:
            if isinstance(value, Given):
                return operand if value is source else library.tensor(value)[0]
            return [made(item) for item in value] if isinstance(value, (list, tuple)) else library.argument(value)

        args, kwargs = [made(value) for value in self.call.args], {k: made(v) for k, v in self.call.kwargs.items()}
        try:
            if self.form == "out":
                library.function(self.call.path)(*args, **kwargs, out=target)
            else:
                getattr(target, self.call.name + "_")(*args[1:], **kwargs)
        except Exception as error:
            return error, library.host(shared)
        return None, library.host(shared)


def shared_calls(path: str) -> Iterator[Shared]:
    """The first sample of each dtype whose result and operands have one dtype, in each form and place."""
    for template in templates_of(path)[:2]:
        for dtype in (float32, int64):
            if dtype not in template.dtypes:
                continue
            call = basic_form(template.call(dtype, layout=contiguous))
            plain = observe(TORCH, call)
            if "out" in call.kwargs or call.form != "function" or crashes(call) or plain.error is not None:
                continue
            if len(plain.results) != 1 or not isinstance(plain.results[0], Result):
                continue
            (result,) = plain.results
            for position, value in enumerate(call.args):
                if not isinstance(value, Given) or value.values.size < 2:
                    continue
                wanted = [("out", result.shape, result.dtype)] if takes_out(path) else []
                if position and isinstance(call.args[0], Given) and has_method(call, "_"):
                    wanted.append(("in place", call.args[0].shape, call.args[0].dtype))
                for form, shape, written in wanted:
                    if isinstance(written, DType) and written is value.dtype:
                        for where in SHIFTS:
                            if where != "turned" or len(shape) > 1:
                                yield Shared(call, form, shape, position, where)


@pytest.mark.parametrize("path", [path for path in compared_paths() if takes_out(path) or "." not in path])
def test_overlaps(path: str) -> None:
    found = []
    for shared in shared_calls(path):
        (ours, memory), (theirs, _) = shared.carried_out(POLYAD), shared.carried_out(TORCH)
        told = f"{shared.call!r}, {shared.form}, argument {shared.position} {shared.where}"
        if theirs is None and ours is not None and path not in UNDEFINED:
            found.append(f"polyad refuses {told}: {ours}")
        elif theirs is not None and ours is not None and not isinstance(ours, builtin(theirs)):
            found.append(f"{type(ours).__name__} for {type(theirs).__name__} {told}")
        elif theirs is not None and ours is None:
            if COMPUTED_FIRST not in str(theirs):
                continue  # of dtypes and missing arguments, which the other comparisons see
            if shared.form == "in place" and shared.where == "one element on" and path not in READ_AT_ONCE:
                found.append(f"polyad takes {told}: {theirs}")
            if shared.form == "out":
                found += _not_computed_first(shared, memory, told)
    assert not found, "\n".join(found)


READ_AT_ONCE = {"masked_fill": "a value of one element", "index_fill": "a value of one element"}
UNDEFINED = {
    "masked_scatter": "PyTorch writes what it has overwritten already",
    "special.ndtr": "a composite of several steps in PyTorch, which has a temporary",
}


def _not_computed_first(shared: Shared, memory: np.ndarray, told: str) -> list[str]:
    """Where polyad takes what PyTorch refuses, the result is that of the call without ``out=``."""
    plain = observe(POLYAD, shared.call)
    (result,) = plain.results
    shift = SHIFTS[shared.where]
    strides = row_major(shared.shape) if shift is not None else tuple(reversed(row_major(shared.shape[::-1])))
    window = np.lib.stride_tricks.as_strided(
        memory[shift or 0 :], shared.shape, [stride * memory.itemsize for stride in strides]
    )
    same = np.array_equal(window, result.values, equal_nan=result.values.dtype.kind == "f")
    return [] if same else [f"polyad computes {told} with what it has overwritten"]
