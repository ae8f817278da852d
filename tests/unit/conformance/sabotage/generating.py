"""Generated kernels gone wrong, and the core that asks for them: on a device that has no others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polyad_c.backend import CBackend
from polyad_c.plugin import polyad_backend_info
from polyad_c.runtime import CRuntime

from polyad.codegen.kernels.reduction_ops import REDUCERS
from polyad.lowering import numbers, rows

from .saboteur import NAME, caught_by

if TYPE_CHECKING:
    import pytest


class GeneratingSaboteur(CBackend):
    """The device that runs generated C under another name."""

    def __init__(self) -> None:
        self.info = dataclasses.replace(polyad_backend_info(), name=NAME)


def _rewritten(patch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """Have the compiler get ``change(text)`` for each source."""
    honest = CRuntime.compile

    def compile(self: Any, source: Any, what: str) -> Any:
        return honest(self, dataclasses.replace(source, text=change(source.text)), what)

    patch.setattr(CRuntime, "compile", compile)


@caught_by("check_wide_sums", backend=GeneratingSaboteur)
def accumulates_in_the_operands_dtype(backend: GeneratingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Small integers are added up as small integers, and cast at the end."""
    patch.setitem(REDUCERS, "sum", lambda x: x)


@caught_by("test_values", "mean", backend=GeneratingSaboteur)
def leaves_the_last_element_of_a_row_out(backend: GeneratingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Loops along rows end an element early."""
    _rewritten(patch, lambda text: text.replace("j < last", "j + 1 < last"))


@caught_by("test_values", "softmax", backend=GeneratingSaboteur)
def reads_a_stage_before_it_is_there(backend: GeneratingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """What a row's elements and stages read is the first stage's value, also where it is the second's."""
    honest = rows.Rows.translate

    def translate(self: Any, expression: Any, of: Any, reads: Any) -> Any:
        stages, self.stage_of = self.stage_of, dict.fromkeys(self.stage_of, 0)
        try:
            return honest(self, expression, of, reads)
        finally:
            self.stage_of = stages

    patch.setattr(rows.Rows, "translate", translate)


@caught_by("test_values", "nn.functional.leaky_relu", backend=GeneratingSaboteur)
def takes_other_numbers(backend: GeneratingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """The numbers that a kernel is given are not the call's."""
    honest = numbers.DeferredNumber.__init__

    def frozen(self: Any, value: Any, read: Any, guards: Any) -> None:
        honest(self, value, lambda args: 0.25, guards)

    patch.setattr(numbers.DeferredNumber, "__init__", frozen)


@caught_by("test_values", "softmax", backend=GeneratingSaboteur)
def takes_a_plan_for_other_strides(backend: GeneratingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Plans are kept by shape, so that a transposed array is walked as the one before."""
    patch.setattr(CRuntime, "key", lambda self, arrays: tuple(array.shape for array in arrays))


@caught_by("test_values", "floor_divide", backend=GeneratingSaboteur)
def swaps_the_operands_of_a_launch(backend: GeneratingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """The first two operands change places."""
    honest = CRuntime.launcher

    def launcher(self: Any, kernel: Any, instances: int, geometry: bytes) -> Any:
        launch = honest(self, kernel, instances, geometry)
        return lambda arrays, given: launch((*arrays[:-2], *arrays[:-3:-1]) if len(arrays) == 3 else arrays, given)

    patch.setattr(CRuntime, "launcher", launcher)
