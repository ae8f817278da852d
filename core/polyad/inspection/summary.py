"""`polyad.summary`: a model as a table, found out without computing anything.

The model runs on tensors without data (device "meta") in the place of its inputs, parameters and buffers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..arguments import check_either, check_length, check_type
from ..base.device import Device
from ..base.dtypes import DType, get_default_dtype
from ..base.shapes_and_strides import Size
from ..dispatch.abstract import counting
from ..errors import ArgumentTypeError, DeviceError
from ..functions import empty
from ..history.grad_mode import no_grad
from ..nn.modules.module import Module
from ..nn.utils.stateless import functional_call
from ..tensor import Tensor

if TYPE_CHECKING:
    from rich.table import Table

META = Device("meta")


@dataclass
class Row:
    """A module of the model.

    Attributes:
        name: its last name in the model; the model's own is empty.
        kind: the name of its class.
        depth: how many modules it is inside of.
        shapes: of the tensors that its last call returned; None if it was not called.
        parameters: numbers in its parameters and those of its submodules that no earlier row has.
        flops: arithmetic operations of all its calls, those of submodules included.
        calls: how often it was called.
        bytes: of what its calls were the first to return, those of submodules included.
    """

    name: str
    kind: str
    depth: int
    shapes: list[Size] | None = None
    parameters: int = 0
    flops: int = 0
    calls: int = 0
    bytes: int = 0

    def cells(self) -> tuple[str, ...]:
        """What a table shows of it."""
        named = f"{self.name}: {self.kind}" if self.name else self.kind
        shown = "not called" if self.shapes is None else ", ".join(str(tuple(shape)) for shape in self.shapes)
        if self.calls > 1:
            shown += f", {self.calls} calls"
        numbers = f"{self.parameters:,}", f"{self.flops:,}", _in_units(self.bytes, "B", 1024)
        return "  " * self.depth + named, shown, *numbers


HEADINGS = ("module", "output shape", "parameters", "FLOPs", "memory")


@dataclass(repr=False)
class Summary:
    """What `polyad.summary` found out. Prints as a table; ``rich.print`` shows it in colours.

    Attributes:
        rows: a `Row` for each module, the model first.
        parameters, trainable: numbers in all parameters, and in those that require a gradient.
        flops: arithmetic operations of one call.
        bytes: of all parameters and buffers.
        results: bytes of all that the modules returned, which is about what a backward pass has to keep.
    """

    rows: list[Row] = field(default_factory=list)
    parameters: int = 0
    trainable: int = 0
    flops: int = 0
    bytes: int = 0
    results: int = 0

    def totals(self) -> list[str]:
        """The lines under the table."""
        kept, results = _in_units(self.bytes, "B", 1024), _in_units(self.results, "B", 1024)
        return [
            f"parameters {self.parameters:,} ({self.trainable:,} trainable), {kept}",
            f"FLOPs {self.flops:,} ({_in_units(self.flops, 'FLOP', 1000)}), results {results}",
        ]

    def __repr__(self) -> str:
        cells = [HEADINGS, *[row.cells() for row in self.rows]]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                f"{cell:<{width}}" if number < 2 else f"{cell:>{width}}"
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, *self.totals()])

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(caption="\n".join(self.totals()), caption_justify="left")
        for number, heading in enumerate(HEADINGS):
            table.add_column(heading, justify="right" if number > 1 else "left", overflow="fold")
        for row in self.rows:
            named, shape, *numbers = row.cells()
            style = "dim" if row.shapes is None else "" if row.depth else "bold"
            table.add_row(Text(named, style), Text(shape, "cyan"), *numbers)
        return table


def _in_units(number: int, unit: str, step: int) -> str:
    """*number* with three digits: ``1.23 MiB``."""
    if number < step:
        return f"{number} {unit}"
    prefixes = ("Ki", "Mi", "Gi", "Ti", "Pi") if step == 1024 else ("k", "M", "G", "T", "P")
    power = min(len(prefixes), int(math.log(number, step)))
    return f"{number / step**power:.3g} {prefixes[power - 1]}{unit}"


def summary(
    model: Module,
    input_size: Sequence[Any] | None = None,
    *,
    input_data: Any = None,
    dtypes: Sequence[DType] | None = None,
    depth: int | None = None,
) -> Summary:
    """The modules of *model* with the shapes that they give, their parameters and the arithmetic that a call takes.

    Nothing is computed and no memory is taken: the model runs on device "meta" and is not changed. A product and its
    addition to a sum count as two operations, any other element that is computed as one. *memory* is that of what the
    modules return.

    Args:
        model: any module; whether it trains or not stays as it is.
        input_size: the shape of its input, batch included, or a list of shapes for several inputs.
        input_data: instead of *input_size*: the input, or a tuple of inputs, of which the tensors' shapes and dtypes
            are looked at.
        dtypes: of the inputs, the default dtype if None; integers for an `Embedding`.
        depth: how many levels of submodules to list; all if None.

    Raises TypeError for what is no module and no shape, and what the model raises for such inputs; NotImplementedError
    if it looks at elements.

    >>> import polyad
    >>> from polyad import nn
    >>> polyad.summary(nn.Sequential(nn.Linear(8, 4), nn.ReLU()), (2, 8))
    module       output shape  parameters  FLOPs  memory
    ----------------------------------------------------
    Sequential   (2, 4)                36    144    64 B
      0: Linear  (2, 4)                36    136    32 B
      1: ReLU    (2, 4)                 0      8    32 B
    ----------------------------------------------------
    parameters 36 (36 trainable), 144 B
    FLOPs 144 (144 FLOP), results 64 B
    """
    check_type("summary", "model", model, Module, "a Module")
    inputs = _inputs(input_size, input_data, dtypes)
    members = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers(remove_duplicate=False))
    twins = {id(tensor): _twin(tensor) for tensor in members.values()}
    rows, handles, found = _rows(model, depth), [], Summary()
    running: list[Row] = []
    returned: list[tuple[Tensor, list[Row]]] = []

    def add(operations: int) -> None:
        found.flops += operations
        for row in running:
            row.flops += operations

    for module, row in rows:
        handles.append(module.register_forward_pre_hook(partial(_enter, running, row)))
        handles.append(module.register_forward_hook(partial(_leave, running, returned, row)))
    try:
        with no_grad(), META, counting(add):
            functional_call(model, {name: twins[id(tensor)] for name, tensor in members.items()}, inputs)
    except DeviceError as error:
        error.fix = (
            "a tensor that the model keeps is neither a parameter nor a buffer: register_buffer(name, tensor) makes "
            "it follow the model"
        )
        raise
    finally:
        for handle in handles:
            handle.remove()
    known = {_memory(tensor) for tensor in (*_tensors(inputs), *twins.values())}
    for tensor, inside in returned:
        memory = _memory(tensor)
        if memory not in known:
            known.add(memory)
            found.results += tensor.nbytes
            for row in inside:
                row.bytes += tensor.nbytes
    found.rows = [row for _, row in rows]
    distinct = {id(parameter): parameter for parameter in model.parameters()}
    found.parameters = sum(parameter.numel() for parameter in distinct.values())
    found.trainable = sum(parameter.numel() for parameter in distinct.values() if parameter.requires_grad)
    found.bytes = sum({id(tensor): tensor.nbytes for tensor in members.values()}.values())
    return found


def _twin(tensor: Tensor) -> Tensor:
    return tensor.detach().to(META).requires_grad_(tensor.requires_grad)


def _inputs(input_size: Any, input_data: Any, dtypes: Sequence[DType] | None) -> tuple[Any, ...]:
    check_either("summary", ArgumentTypeError, input_size=input_size, input_data=input_data)
    if input_data is not None:
        given = input_data if isinstance(input_data, (tuple, list)) else (input_data,)
        return tuple([_twin(one) if isinstance(one, Tensor) else one for one in given])
    check_type("summary", "input_size", input_size, (tuple, list), "a shape: (batch, 3, 8, 8)")
    several = bool(input_size) and all(isinstance(one, (tuple, list)) for one in input_size)
    shapes = list(input_size) if several else [input_size]
    wanted = [get_default_dtype()] * len(shapes) if dtypes is None else list(dtypes)
    check_length("summary", "dtypes", wanted, len(shapes), "dtypes, one for each input", ArgumentTypeError)
    return tuple([empty(tuple(shape), dtype=dtype, device=META) for shape, dtype in zip(shapes, wanted, strict=True)])


def _rows(model: Module, depth: int | None) -> list[tuple[Module, Row]]:
    rows: list[tuple[Module, Row]] = []
    counted: set[int] = set()
    for path, module in model.named_modules():
        level = path.count(".") + 1 if path else 0
        if depth is not None and level > depth:
            continue
        own = [parameter for parameter in module.parameters() if id(parameter) not in counted]
        rows.append((module, Row(path.rpartition(".")[2], type(module).__name__, level)))
        rows[-1][1].parameters = sum(parameter.numel() for parameter in own)
        if not any(True for _ in module.children()):
            counted.update(map(id, own))
    return rows


def _enter(running: list[Row], row: Row, module: Module, args: Any) -> None:
    running.append(row)


def _leave(
    running: list[Row], returned: list[tuple[Tensor, list[Row]]], row: Row, module: Module, args: Any, output: Any
) -> None:
    tensors = _tensors(output)
    returned += [(tensor, list(running)) for tensor in tensors]
    running.pop()
    row.calls += 1
    row.shapes = [one.shape for one in tensors]


def _memory(tensor: Tensor) -> int:
    """What tells memory apart, as long as all tensors live."""
    return id(tensor if tensor._storage is None else tensor._storage)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in _tensors(part)] if isinstance(value, (list, tuple)) else []
