"""The graph of a captured call: values without data, nodes that make them, and replay.

A graph is a straight line of calls. It holds no data but the constants, which are the tensors themselves that the
function used and did not make: parameters, buffers, tables. Replaying makes the same calls through dispatch, so it
records gradients, obeys modes, writes where the function wrote and draws random numbers anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..base.state import state
from ..errors import ArgumentError, ArgumentTypeError, DeviceError, DTypeError, ShapeError
from ..tensor import Tensor
from .structure import Ref, leaves, replace

if TYPE_CHECKING:
    from ..base.device import Device
    from ..base.dtypes import DType
    from ..dispatch.effects import Effect
    from ..dispatch.op import Op
    from .compiling import Compiled


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a tensor before there is data.

    Attributes:
        number: its place among the graph's values; a `Ref` names it by this.
        name: for listings: an input's or parameter's name, else the number.
        requires_grad: whether it required a gradient when it was captured.
    """

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: DType
    device: Device
    requires_grad: bool

    def __str__(self) -> str:
        return f"{self.dtype.name} {self.shape} on {self.device}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor that the function used and did not make. Held by reference: its present contents count on each replay.

    Attributes:
        fixed: whether it must have the captured shape; not if the function itself gives it another (``out=``).
    """

    value: Value
    tensor: Tensor
    fixed: bool = True


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """A call of a submodule of the captured model.

    Attributes:
        path: where the submodule is in the model: ``encoder.layers.0``.
        type: the name of its class.
        number: which of the calls of submodules it is, in order.
    """

    path: str
    type: str
    number: int


@dataclass(slots=True)
class Node:
    """One call of an op or effect.

    Attributes:
        op: what is called.
        args: operands, then params, with a `Ref` in each tensor's place.
        outputs: the result, likewise.
        grad: False for a call inside of ``no_grad``, True inside of ``enable_grad``; None: as whoever replays has it.
        line: the user's line that computed it.
        baked: what a read of data came to, as text, for effects that read.
        frees: numbers of the values that are not used after this node.
        modules: the calls of submodules that it is part of, the outermost first.
    """

    op: Op | Effect
    args: tuple[Any, ...]
    outputs: Any
    grad: bool | None = None
    line: str = ""
    baked: str = ""
    frees: tuple[int, ...] = ()
    modules: tuple[ModuleCall, ...] = ()

    @property
    def name(self) -> str:
        """The op's name."""
        return self.op.name


@dataclass(slots=True)
class Graph:
    """A captured call. Call it with new inputs to replay it; print it to read it.

    Attributes:
        name: of the function.
        values: every value, by number.
        constants: tensors used by reference.
        nodes: the calls in order.
        arguments: (args, kwargs) of the example call with a `Ref` in each tensor's place.
        outputs: the result, likewise.
    """

    name: str
    values: list[Value]
    constants: list[Constant]
    nodes: list[Node]
    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    outputs: Any
    _shown: dict[int, str] = field(default_factory=dict, repr=False)
    _compiled: Compiled | None = field(default=None, repr=False)
    _asked: bool = field(default=False, repr=False)

    @property
    def compiled(self) -> bool:
        """Whether the device has compiled the graph as a whole; it is asked at the first replay."""
        return self._compiled is not None

    @property
    def inputs(self) -> list[Value]:
        """The values that replay is given, in order."""
        found = {leaf.number: self.values[leaf.number] for _, leaf in leaves(self.arguments) if isinstance(leaf, Ref)}
        return list(found.values())

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __str__(self) -> str:
        from .listing import listing

        return listing(self)

    def __repr__(self) -> str:
        sizes = f"{len(self.inputs)} inputs, {len(self.constants)} constants, {len(self.nodes)} nodes"
        return f"<graph of {self.name}: {sizes}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay with other inputs; returns what the function would, in the same nesting.

        A graph that the device has compiled as a whole runs so where no gradient is recorded and no mode is active.

        Raises, before anything runs, RuntimeError for a tensor of another shape, dtype or device than the example's,
        TypeError for a missing, superfluous or wrongly nested argument, ValueError for another value of an argument
        that is no tensor.
        """
        found = self._bind(args, kwargs)
        for constant in self.constants:
            if constant.fixed:
                _check(self.name, f"constant {constant.value.name}", constant.value, constant.tensor)
            found[constant.value.number] = constant.tensor
        compiled = self._compiled
        if compiled is None and not self._asked:
            from .compiling import compile_graph

            compiled, self._asked = compile_graph(self), True
            self._compiled = compiled
        if compiled is not None and compiled.fits(found):
            return _filled(self.outputs, compiled(found))
        ambient = state.grad_enabled
        try:
            for node in self.nodes:
                state.grad_enabled = ambient if node.grad is None else node.grad
                try:
                    _store(node.outputs, node.op.call(*_filled(node.args, found)), found)
                except Exception as error:
                    resized = self._resized(node, found)
                    if resized is None:
                        raise
                    raise resized from error
                for number in node.frees:
                    found.pop(number, None)
        finally:
            state.grad_enabled = ambient
        return _filled(self.outputs, found)

    def _resized(self, node: Node, found: Mapping[int, Tensor]) -> ShapeError | None:
        """The error for a *node* that fails on operands of other sizes than those captured; None if they are the same.
        How many elements a mask or `nonzero` finds follows from data, and what is done with them may be baked in.
        """
        for _, leaf in leaves(node.args):
            if isinstance(leaf, Ref) and found[leaf.number]._array.shape != self.values[leaf.number].shape:
                value, given = self.values[leaf.number], found[leaf.number]
                return ShapeError(
                    f"{self.name}: {node.name} was captured for an operand of shape {value.shape}, and gets one of "
                    f"shape {tuple(given.shape)}: the size follows from the data",
                    operands={"given": given},
                    fix="capture again with such data, or use an op whose result has a size of its own, such as where",
                )
        return None

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, Tensor]:
        wanted, given = _arguments(self.arguments), _arguments((args, kwargs))
        for path in [*wanted, *given]:
            if path not in given or path not in wanted:
                verb = "is missing" if path not in given else "is not an argument of the example call"
                raise ArgumentTypeError(
                    f"{self.name}: {argument_name(path)} {verb}",
                    notes={"captured": ", ".join(argument_name(path) for path in wanted) or "no arguments"},
                    fix="call the graph with arguments nested as in the example call, or capture again",
                )
        found: dict[int, Tensor] = {}
        for path, leaf in wanted.items():
            value, name = given[path], argument_name(path)
            if not isinstance(leaf, Ref):
                _check_same(self.name, name, leaf, value)
                continue
            _check(self.name, name, self.values[leaf.number], value)
            if found.setdefault(leaf.number, value) is not value:
                other = self.values[leaf.number].name
                raise ArgumentError(
                    f"{self.name}: {name} must be the same tensor as {other}, as it was in the example call",
                    fix="capture again with two tensors as examples",
                )
        return found


def _arguments(structure: tuple[tuple[Any, ...], dict[str, Any]]) -> dict[str, Any]:
    return {path: leaf for path, leaf in leaves(structure) if path not in ("[0]", "[1]")}


def argument_name(path: str) -> str:
    """The user's name for a leaf of (args, kwargs): ``input 0``, ``input 1['x']``, ``mask``."""
    if path.startswith("[0]["):
        number, _, rest = path[4:].partition("]")
        return f"input {number}{rest}"
    if path.startswith("[1]['"):
        name, _, rest = path[5:].partition("']")
        return name + rest
    return path


def _check_same(graph: str, name: str, captured: Any, given: Any) -> None:
    try:
        same = captured is given or bool(type(captured) is type(given) and captured == given)
    except Exception:
        same = False
    if not same:
        raise ArgumentError(
            f"{graph}: {name} is baked into the graph",
            operands={"captured": captured, "given": given},
            fix="pass the captured value, or capture again with this one",
        )


def _check(graph: str, name: str, value: Value, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"{graph}: {name} is {type(tensor).__name__}, not a tensor",
            notes={"captured": str(value)},
            fix="pass a tensor",
        )
    if tensor._array.shape == value.shape and tensor._type.dtype is value.dtype and tensor._type.device == value.device:
        return
    error: type[ShapeError | DTypeError | DeviceError]
    if tensor._array.shape != value.shape:
        error, wrong = ShapeError, f"shape {tuple(tensor.shape)}, the graph was captured with {value.shape}"
    elif tensor.dtype is not value.dtype:
        error, wrong = DTypeError, f"dtype {tensor.dtype.name}, the graph was captured with {value.dtype.name}"
    else:
        error, wrong = DeviceError, f"device {tensor.device}, the graph was captured on {value.device}"
    raise error(
        f"{graph}: {name} has {wrong}",
        operands={"given": tensor},
        notes={"captured": str(value)},
        fix="shapes, dtypes and devices are baked in: capture again with an example like this one",
    )


def _filled(structure: Any, found: dict[int, Tensor]) -> Any:
    return replace(structure, Ref, lambda ref: found[ref.number])


def _store(outputs: Any, result: Any, found: dict[int, Tensor]) -> None:
    if isinstance(outputs, Ref):
        found[outputs.number] = result
    elif isinstance(outputs, (list, tuple)):
        for part, tensor in zip(outputs, result, strict=True):
            _store(part, tensor, found)
