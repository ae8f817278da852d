"""Carrying out a step op so that its results replace its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch.inplace import write
from ..dispatch.op import op_of
from ..dispatch.plan import describe_failure, find_plan
from ..state import state
from ..tensor import Tensor

__all__ = ["update"]


def update(
    declared: Callable[..., Any],
    operands: tuple[Tensor, ...],
    params: tuple[Any, ...],
    targets: Sequence[int],
    line: str,
) -> None:
    """Write the results of ``declared(*operands, *params)`` over the operands at the positions *targets*.

    A kernel that can write into given memory does so at once; otherwise the op's new tensors are copied. *line* is
    the user's line, for the messages about tensors that were changed in place. The caller has switched recording off.
    """
    op = op_of(declared)
    if not state.modes:
        plan = op.plans.get(tuple([operand._type for operand in operands])) or find_plan(op, (*operands, *params))
        kernel = plan.out_kernel
        if kernel is not None:
            arrays = [operand._array for operand in operands]
            out = tuple([arrays[position] for position in targets])
            try:
                kernel(*arrays, *params, out=out if op.outputs else out[0])
            except Exception as error:
                raise describe_failure(op, (*operands, *params), error) from error
            for position in targets:
                target = operands[position]
                (target._storage or target._make_storage()).bump(op.name, line)
            return
    results = op.call(*operands, *params)
    for position, result in zip(targets, results if op.outputs else (results,), strict=True):
        write(op.name, operands[position], result)
