"""Carrying out a step op on all parameters of a group, so that its results replace its operands.

A kernel that takes a whole group of calls (`Kernel.many`) gets them at once.

A backend whose calls cost little beside the work (`Backend.chunk`) gets parameters of few elements packed together, and
parameters of many cut into chunks: a step is computed element by element, so neither changes what comes out. What every
parameter has of its own, such as a count of steps, is a 0-d tensor; only parameters where these are equal share a pack.

Invariant: all parameters are checked before anything is written: their shapes, and that their memory may be written.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..base.shapes_and_strides import contiguous_strides
from ..base.state import state, user_line
from ..dispatch.catalogue import OPS
from ..dispatch.effects import Effect, Result, declare
from ..dispatch.inplace import check_writable, write
from ..dispatch.op import Op, op_of
from ..dispatch.plan import Plan, array_of, describe_failure, explained_by_shapes, find_plan
from ..tensor import Tensor

__all__ = ["advance", "update"]

Row = tuple[Tensor, ...]


def update(
    declared: Callable[..., Any], rows: Sequence[Row], params: tuple[Any, ...], targets: Sequence[int], line: str
) -> None:
    """For each row of operands write the results of ``declared(*row, *params)`` over those at the positions *targets*.

    A kernel that can write into given memory does so at once; otherwise the op's new tensors are copied. *line* is
    the user's line, for the messages about tensors that were changed in place.
    """
    op = op_of(declared)
    modes = state.modes
    if modes and modes[-1].takes_whole and rows and not state.grad_enabled:
        UPDATE.through_modes(*_by_use(rows, targets), op.name, params, tuple(targets))
    else:
        update_rows(op, rows, params, targets, line)


def update_rows(op: Op, rows: Sequence[Row], params: tuple[Any, ...], targets: Sequence[int], line: str) -> None:
    """`update` of an op, not shown to modes as a whole."""
    elementwise = op.structure.dims is not None
    if elementwise:
        _check_shapes(op, rows, params)
    if state.modes or state.grad_enabled:
        for row in rows:
            _called(op, row, params, targets)
        return
    if len({id(row[0]) for row in rows}) < len(rows):
        # A parameter that a group lists twice is stepped twice, the second time from where the first left it.
        for row in rows:
            update_rows(op, [row], params, targets, line)
        return
    by_plan: dict[Plan, list[Row]] = {}
    plans = op.plans
    for row in rows:
        storage = row[0]._storage
        if storage is not None and storage.read_only:
            check_writable(op.name, row[0])
        plan = plans.get(tuple([operand._type for operand in row])) or find_plan(op, (*row, *params))
        found = by_plan.get(plan)
        if found is None:
            by_plan[plan] = [row]
        else:
            found.append(row)
    for plan, members in by_plan.items():
        many = plan.many
        if many is not None and many([tuple([operand._array for operand in row]) for row in members], params):
            for row in members:
                _wrote(op, [row[position] for position in targets], line)
        elif elementwise and members[0][0]._type.backend.chunk and not members[0][0]._type.zero_dim:
            _in_chunks(op, plan, members, params, targets, line)
        else:
            for row in _together(op, plan, members, params, targets, line) if len(members) > 1 else members:
                _alone(op, plan, row, params, targets, line)


def _by_use(rows: Sequence[Row], targets: Sequence[int]) -> tuple[list[Row], list[Row]]:
    """Of each row the operands that are written over, in the order of *targets*, and the others."""
    others = [place for place in range(len(rows[0])) if place not in targets]
    return [tuple([row[place] for place in targets]) for row in rows], [
        tuple([row[place] for place in others]) for row in rows
    ]


def _updated(
    written: Sequence[Row], read: Sequence[Row], name: str, params: tuple[Any, ...], targets: tuple[int, ...]
) -> None:
    """`update` of op *name*, with operands as `_by_use` sorts them."""
    places = [*targets, *[place for place in range(len(targets) + len(read[0])) if place not in targets]]
    order = sorted(range(len(places)), key=places.__getitem__)
    rows = [(*one, *other) for one, other in zip(written, read, strict=True)]
    update_rows(OPS[name], [tuple([row[at] for at in order]) for row in rows], params, targets, user_line())


def _update_call(*args: Any) -> None:
    modes = state.modes
    (UPDATE.through_modes if modes and modes[-1].takes_whole else _updated)(*args)


UPDATE = declare(Effect("update", _update_call, _updated, reads=(0, 1), writes=0, result=Result.NOTHING, caller=2))
"""A step of a whole group of parameters, for modes that take it whole; others see its calls and writes."""


def advance(declared: Callable[..., Any], rows: Sequence[Row], params: tuple[Any, ...], line: str) -> list[Row]:
    """For each row of 0-d operands write the first results of ``declared(*row, *params)`` over all of them, and return
    the other results.

    Where the host can look at the operands for nothing, rows of equal numbers are computed once.
    """
    op = op_of(declared)
    if state.modes or state.grad_enabled or not rows or not rows[0][0]._type.backend.chunk:
        return [_called(op, row, params, range(len(row))) for row in rows]
    equal: dict[Any, list[Row]] = {}
    for row in rows:
        key = tuple([(operand._type, _number(operand)) for operand in row])
        equal.setdefault(key, []).append(row)
    given: dict[int, Row] = {}
    for members in equal.values():
        results = op.call(*members[0], *params)
        results = results if op.outputs else (results,)
        count = len(members[0])
        for place in range(count):
            array = results[place]._array
            backend = members[0][place]._type.backend
            backend.copy_all([row[place]._array for row in members], [array] * len(members))
        for row in members:
            _wrote(op, row, line)
            given[id(row)] = results[count:]
    return [given[id(row)] for row in rows]


def _number(scalar: Tensor) -> Any:
    """What a 0-d tensor in the host's memory holds."""
    return scalar._type.backend.to_host(scalar._array).item()


def _called(op: Op, row: Row, params: tuple[Any, ...], targets: Sequence[int]) -> Row:
    """The step as a call of the op and writes, seen by modes and recorded; returns the results that are not written."""
    operands = row
    if state.grad_enabled:
        # What backward keeps of an operand must not be what is written over.
        operands = tuple([operand.clone() if operand.requires_grad else operand for operand in row])
    results = op.call(*operands, *params)
    results = results if op.outputs else (results,)
    for position, result in zip(targets, results):
        write(op.name, row[position], result)
    return tuple(results[len(targets) :])


def _check_shapes(op: Op, rows: Sequence[Row], params: tuple[Any, ...]) -> None:
    for row in rows:
        shape = row[0]._array.shape
        for operand in row:
            if operand._array.shape != shape and operand._array.shape:
                problem = explained_by_shapes(op, (*row, *params))
                if problem is not None:
                    raise problem


def _wrote(op: Op, targets: Sequence[Tensor], line: str) -> None:
    name = op.name
    for target in targets:
        (target._storage or target._make_storage()).bump(name, line)


def _alone(op: Op, plan: Plan, row: Row, params: tuple[Any, ...], targets: Sequence[int], line: str) -> None:
    arrays = [operand._array for operand in row]
    _compute(op, plan, row, arrays, params, targets)
    _wrote(op, [row[position] for position in targets], line)


def _together(
    op: Op, plan: Plan, rows: Sequence[Row], params: tuple[Any, ...], targets: Sequence[int], line: str
) -> Sequence[Row]:
    """Carry out the step for many rows by a few launches, where the device has kernels for that; the rows left over."""
    into_many = getattr(plan.out_kernel, "into_many", None)
    if into_many is None:
        return rows
    arrays = [[operand._array for operand in row] for row in rows]
    given = [tuple([row[position] for position in targets]) for row in arrays]
    try:
        left = {*into_many(arrays, params, given if op.outputs else [out for (out,) in given])}
    except Exception as error:
        raise describe_failure(op, (*rows[0], *params), error) from error
    for at, row in enumerate(rows):
        if at not in left:
            _wrote(op, [row[position] for position in targets], line)
    return [rows[at] for at in sorted(left)]


def _compute(
    op: Op, plan: Plan, row: Row, arrays: Sequence[Any], params: tuple[Any, ...], targets: Sequence[int]
) -> None:
    """Write the results for *arrays*, which are of the types of *row*, over those at the positions *targets*."""
    kernel = plan.out_kernel
    if kernel is None:
        tensors = [Tensor._of(array, operand._type) for array, operand in zip(arrays, row, strict=True)]
        results = op.call(*tensors, *params)
        for position, result in zip(targets, results if op.outputs else (results,), strict=True):
            result._type.backend.copy(arrays[position], result._array)
        return
    out = tuple([arrays[position] for position in targets])
    try:
        kernel(*arrays, *params, out=out if op.outputs else out[0])
    except Exception as error:
        raise describe_failure(op, (*row, *params), error) from error


# ---------------------------------------------------------------------------------------------------------- in chunks


def _in_chunks(
    op: Op, plan: Plan, rows: Sequence[Row], params: tuple[Any, ...], targets: Sequence[int], line: str
) -> None:
    """As `_alone` for each row, with small parameters together and, where there is no kernel, large parameters cut."""
    chunk = rows[0][0]._type.backend.chunk
    scalars = [place for place, operand in enumerate(rows[0]) if operand._type.zero_dim]
    cuts = plan.out_kernel is None and not any(place in scalars for place in targets)
    packs: dict[Any, list[Row]] = {}
    sizes: dict[Any, int] = {}
    for row in rows:
        size = math.prod(row[0]._array.shape)
        if size * 4 > chunk:
            if cuts and size > chunk:
                _cut(op, plan, row, params, targets, line)
            else:
                _alone(op, plan, row, params, targets, line)
            continue
        key = tuple([_number(row[place]) for place in scalars]) if scalars else None
        total = sizes.get(key, 0) + size
        if total > chunk:
            _pack(op, plan, packs.pop(key), params, targets, line)
            total = size
        sizes[key] = total
        packs.setdefault(key, []).append(row)
    for members in packs.values():
        _pack(op, plan, members, params, targets, line)


def _cut(op: Op, plan: Plan, row: Row, params: tuple[Any, ...], targets: Sequence[int], line: str) -> None:
    """A large parameter in pieces whose temporaries stay in the cache."""
    shape = row[0]._array.shape
    arrays = [operand._array for operand in row]
    if any(not operand._type.zero_dim and not operand.is_contiguous() for operand in row):
        _alone(op, plan, row, params, targets, line)
        return
    backend = row[0]._type.backend
    size, chunk = math.prod(shape), backend.chunk
    whole = [None if operand._type.zero_dim else _flat(operand) for operand in row]
    for start in range(0, size, chunk):
        count = min(chunk, size - start)
        pieces = [
            array if root is None else backend.as_strided(root[0], operand._type.dtype, (count,), (1,), root[1] + start)
            for array, root, operand in zip(arrays, whole, row, strict=True)
        ]
        _compute(op, plan, row, pieces, params, targets)
    _wrote(op, [row[position] for position in targets], line)


def _flat(tensor: Tensor) -> tuple[Any, int]:
    """The root of a row-major tensor's memory, and where in it the tensor begins."""
    storage = tensor._storage or tensor._make_storage()
    return storage.root, tensor.storage_offset()


class _Windows:
    """Memory for one operand of a pack, as it is computed with, and the windows of the parameters in it."""

    __slots__ = ("flat", "parts")

    def __init__(self, memory: Any, type_: Any, shapes: Sequence[tuple[int, ...]]) -> None:
        backend, dtype = type_.backend, type_.dtype
        root = backend.root(memory)
        self.parts = []
        offset = 0
        for shape in shapes:
            self.parts.append(backend.as_strided(root, dtype, shape, contiguous_strides(shape), offset))
            offset += math.prod(shape)
        self.flat = backend.as_strided(root, dtype, (offset,), (1,), 0)


class _Scratch(threading.local):
    """A thread's memory for packs, which all packs share, and the windows for the shapes that it has met."""

    KEPT = 256

    def __init__(self) -> None:
        self.memory: dict[Any, Any] = {}
        self.windows: dict[Any, _Windows] = {}

    def of(self, place: int, type_: Any, shapes: tuple[tuple[int, ...], ...]) -> _Windows:
        key = place, type_, shapes
        found = self.windows.get(key)
        if found is None:
            memory = self.memory.get((place, type_))
            if memory is None:
                memory = self.memory[place, type_] = type_.backend.empty(
                    (type_.backend.chunk,), type_.dtype, type_.device
                )
            if len(self.windows) >= self.KEPT:
                self.windows.clear()
            found = self.windows[key] = _Windows(memory, type_, shapes)
        return found


_scratch = _Scratch()


def _pack(
    op: Op,
    plan: Plan,
    rows: Sequence[Row],
    params: tuple[Any, ...],
    targets: Sequence[int],
    line: str,
) -> None:
    """Small parameters, whose 0-d operands are equal, one after another in the memory of one call."""
    first = rows[0]
    if len(rows) == 1:
        _alone(op, plan, first, params, targets, line)
        return
    backend = first[0]._type.backend
    shapes = tuple([row[0]._array.shape for row in rows])
    columns = list(zip(*[[operand._array for operand in row] for row in rows], strict=True))
    windows: list[_Windows | None] = []
    arrays = []
    for place, operand in enumerate(first):
        if operand._type.zero_dim:
            windows.append(None)
            arrays.append(array_of(operand.clone()) if place in targets else operand._array)
            continue
        window = _scratch.of(place, operand._type, shapes)
        backend.copy_all(window.parts, columns[place])
        windows.append(window)
        arrays.append(window.flat)
    _compute(op, plan, first, arrays, params, targets)
    for place in targets:
        of_rows = windows[place]
        backend.copy_all(columns[place], [arrays[place]] * len(rows) if of_rows is None else of_rows.parts)
        _wrote(op, [row[place] for row in rows], line)
