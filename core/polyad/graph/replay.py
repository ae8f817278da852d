"""Replaying a graph: the same calls through dispatch.

So a replay records gradients, obeys modes, writes where the function wrote and draws random numbers anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace as replaced
from enum import IntEnum
from typing import Any

from ..base.device import Device
from ..base.dtypes import DType
from ..base.state import state
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, DeviceError, DTypeError, ShapeError
from ..random.generator import Generator
from ..tensor import Tensor
from .expressions import evaluated
from .graph import Graph, Node, drawn_within, numbers
from .sizes import fixed, fixed_for, lie_alike, outside, read_sizes
from .structure import NumberRef, Ref, leaves, leaves_of, replace
from .values import Draw, Scalar, Symbol, Value
from .whole import compile_graph


def replay(graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `Graph.__call__` gives."""
    run = bound(graph, args, kwargs, {constant.value.number: constant.tensor for constant in graph.constants})
    return run.whole()


def bound(graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any], constants: Mapping[int, Tensor]) -> Run:
    """A replay with these arguments, and with *constants* by the numbers of their values, that is about to begin."""
    values: Mapping[int, Value] = dict(enumerate(graph.values))
    sizes = None
    if any(symbol.data for symbol in graph.symbols):
        sizes = read_sizes(graph, *_given_at_symbols(graph, args, kwargs))
        values = outside(graph, sizes)
    elif graph.symbols:
        graph = fixed_for(graph, *_given_at_symbols(graph, args, kwargs))
        values = dict(enumerate(graph.values))
    numbers, kwargs = _numbers(graph, kwargs)
    found = _bind(graph, values, args, kwargs)
    for constant in graph.constants:
        tensor = constants[constant.value.number]
        if constant.fixed:
            _check(graph, f"constant {constant.value.name}", constant.value, tensor)
        found[constant.value.number] = tensor
    return Run(graph, found, numbers, sizes)


def _given_at_symbols(
    graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[int, Any], dict[int, str]]:
    """What is given for the graph's inputs, by the numbers of their values, and their names."""
    given = _arguments((args, kwargs))
    tensors: dict[int, Any] = {}
    names: dict[int, str] = {}
    for path, leaf in _arguments(graph.arguments).items():
        if isinstance(leaf, Ref):
            tensors.setdefault(leaf.number, given.get(path))
            names.setdefault(leaf.number, graph.values[leaf.number].name)
    return tensors, names


def as_function(graph: Graph) -> Callable[..., list[Tensor]]:
    """What runs a body of control flow, for tensors in the order of its inputs. Where it depends on how they lie, it is
    given copies of those that lie in another way than captured: a loop begins with whatever it is given.
    """
    inputs = [graph.values[ref.number] for ref in graph.arguments[0]]

    def run(*tensors: Tensor) -> list[Tensor]:
        found: dict[int, Tensor] = {}
        for value, tensor in zip(inputs, tensors, strict=True):
            if not lie_alike(value.shape, tensor.stride(), value.layout.strides) and graph.depends_on_strides:
                tensor = tensor.contiguous()
            _check(graph, f"%{value.name}", value, tensor)
            found[value.number] = tensor
        results: list[Tensor] = Run(graph, found, _numbers(graph, {})[0]).whole()
        return results

    run.__name__ = graph.name
    return run


class Run:
    """A replay of a graph of given sizes, or of one in which some follow from data.

    Attributes:
        found: the tensors so far by the numbers of their values; those that no later node uses are let go.
        numbers: those of the graph, by name.
        ambient: whether the replay is under recording of gradients.
        kept: numbers of values that are not let go.
        sizes: those of the symbols so far; None for a graph of given sizes.
        symbols: those that are read off results, by the numbers of these.
    """

    def __init__(
        self,
        graph: Graph,
        found: dict[int, Tensor],
        numbers: Mapping[str, float],
        sizes: dict[str, int] | None = None,
    ) -> None:
        self.graph, self.found, self.numbers = graph, found, numbers
        self.ambient = state.grad_enabled
        self.places = _Places(graph)
        self.kept: frozenset[int] = frozenset()
        self.sizes = sizes
        self.symbols: dict[int, list[Symbol]] = {}
        for symbol in graph.symbols:
            if sizes is not None and symbol.name not in sizes:
                self.symbols.setdefault(symbol.value, []).append(symbol)

    def whole(self) -> Any:
        """The result, of all nodes or of the graph as the device has compiled it."""
        graph, found = self.graph, self.found
        if self.sizes is not None:
            self.nodes(graph.nodes)
            self.places.end()
            return _substitute(evaluated(graph.outputs, self.sizes), found)
        asked = graph._asked
        if not asked:
            asked.append(compile_graph(graph))
        compiled = asked[0]
        if compiled is not None and compiled.fits(found):
            return _substitute(graph.outputs, compiled(found))
        self.nodes(graph.nodes)
        self.places.end()
        return _substitute(graph.outputs, found)

    def nodes(self, nodes: Iterable[Node]) -> None:
        """Carry out some nodes, in order."""
        ambient, places = self.ambient, self.places
        try:
            for node in nodes:
                state.grad_enabled = ambient if node.grad is None else node.grad
                if node.draws is not None:
                    places.go_to(node)
                bodies = node.bodies
                places.count(bodies, -1)
                if self.sizes is None:
                    _carry_out(self.graph, node, self.found, self.numbers, self.kept)
                else:
                    self.at_sizes(node, self.sizes)
                places.count(bodies, 1)
        finally:
            state.grad_enabled = ambient

    def at_sizes(self, node: Node, sizes: dict[str, int]) -> None:
        """Carry out a node at the sizes that are known by now, and read those that it tells."""
        args = replace(node.args, Graph, lambda body: fixed(body, sizes)) if node.bodies else node.args
        node = replaced(node, args=evaluated(args, sizes))
        result = _carry_out(self.graph, node, self.found, self.numbers, self.kept | self.symbols.keys())
        read = numbers(node.args) if isinstance(node.outputs, Scalar) else ()
        for number in (*node.results, *read):
            for symbol in self.symbols.get(number, ()):
                if (symbol.dim < 0) == bool(read):
                    sizes[symbol.name] = result if read else self.found[number]._array.shape[symbol.dim]


class _Places:
    """Where the generators of a graph stand during a replay: they are moved only where the function moved them, since
    how many numbers a call draws may follow from data.
    """

    def __init__(self, graph: Graph) -> None:
        self.ends = graph.ends
        self.begins = {generator: generator.drawn.advance(0) for generator, _ in graph.ends}
        self.now = {generator: Draw(0, 0) for generator, _ in graph.ends}
        self.within = dict.fromkeys(self.now, 0)  # what functions of control flow drew since it was last started

    def go_to(self, node: Node) -> None:
        """Move the generator of *node* to what it draws."""
        for generator in leaves_of(node.args, Generator):
            if node.draws is not None and generator in self.begins:
                self._move(generator, replaced(node.draws, blocks=0))
                self.now[generator] = node.draws.end

    def count(self, bodies: tuple[Graph, ...], sign: int) -> None:
        """Called before control flow with sign -1 and afterwards with 1: count what its functions draw."""
        for generator in drawn_within(bodies) if bodies else ():
            if generator in self.within:
                self.within[generator] += sign * generator.drawn.advance(0)[1]

    def end(self) -> None:
        """Leave the generators where the function does."""
        for generator, place in self.ends:
            self._move(generator, place)

    def _move(self, generator: Generator, place: Draw) -> None:
        if place != self.now[generator]:
            if place.seed != self.now[generator].seed:
                self.within[generator] = 0
            place = replaced(place, offset=place.offset + self.within[generator])
            seed, offset = self.begins[generator]
            if place.seed is None:
                generator.drawn.move(seed, offset + place.offset)
            else:
                generator.drawn.move(place.seed, place.offset)


META = Device("meta")

_PLAIN = {bool, int, float, str, type(None), DType, Device}
"""Arguments that hold neither tensors nor numbers to be read."""


def _carry_out(
    graph: Graph, node: Node, found: dict[int, Tensor], numbers: Mapping[str, float], kept: frozenset[int]
) -> Any:
    try:
        args = [
            found[arg.number] if arg.__class__ is Ref else arg if arg.__class__ in _PLAIN else
            _substitute(arg, found, numbers)
            for arg in node.args
        ]  # fmt: skip
        if node.bodies:
            args = replace(args, Graph, as_function)
        result = node.op.call(*args)
        _store(node.outputs, result, found)
    except Exception as error:
        resized = _resized(graph, node, found)
        if resized is None:
            raise
        raise resized from error
    for number in node.renewed:
        found[number] = found[graph.values[number].earlier]  # type: ignore[index]
    for number in node.frees:
        if number not in kept:
            found.pop(number, None)
    return result


def _resized(graph: Graph, node: Node, found: Mapping[int, Tensor]) -> ShapeError | None:
    """The error for a *node* that fails on operands of other sizes than those captured; None if they are the same.
    How many elements a mask or `nonzero` finds follows from data, and what is done with them may be baked in.
    """
    for _, leaf in leaves(node.args):
        if isinstance(leaf, Ref) and found[leaf.number]._array.shape != graph.values[leaf.number].shape:
            value, given = graph.values[leaf.number], found[leaf.number]
            return ShapeError(
                f"{graph.name}: {node.name} was captured for an operand of shape {value.shape}, and gets one of "
                f"shape {tuple(given.shape)}: the size follows from the data",
                operands={"given": given},
                fix="capture again with such data, or use an op whose result has a size of its own, such as where",
            )
    return None


def _numbers(graph: Graph, kwargs: dict[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """The graph's numbers by name, from *kwargs* or where the program has them; and the arguments that are left."""
    for setting, captured in graph.settings:
        _check_same(graph.name, str(setting), captured, setting.again())
    found: dict[str, float] = {}
    for number in graph.numbers:
        if number.name not in kwargs and number.read is None:
            raise ArgumentTypeError(
                f"{graph.name}: {number.name} is missing",
                notes={"captured": f"{number.captured}, from {number.source}"},
                fix=f"call the graph with {number.name}=, since it was read from a text, without the program",
            )
        given = kwargs[number.name] if number.name in kwargs else number.read()  # type: ignore[misc]
        if type(given) not in (float, int):
            raise ArgumentTypeError(
                f"{graph.name}: {number.name} is {type(given).__name__}, not a number",
                notes={"captured": f"{number.captured}, from {number.source}"},
                fix="pass a float",
            )
        found[number.name] = float(given)
        if not all(condition.holds(found[number.name]) for condition in number.conditions):
            raise ArgumentError(
                f"{graph.name}: what the function decided by {number.name} is not so any more",
                operands={"captured": number.captured, "given": given},
                notes={"from": number.source},
                fix="capture again with this number",
            )
    return found, {name: value for name, value in kwargs.items() if name not in found}


def _bind(
    graph: Graph, values: Mapping[int, Value], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[int, Tensor]:
    wanted, given = _arguments(graph.arguments), _arguments((args, kwargs))
    for path in [*wanted, *given]:
        if path not in given or path not in wanted:
            verb = "is missing" if path not in given else "is not an argument of the example call"
            raise ArgumentTypeError(
                f"{graph.name}: {argument_name(path)} {verb}",
                notes={"captured": ", ".join(argument_name(path) for path in wanted) or "no arguments"},
                fix="call the graph with arguments nested as in the example call, or capture again",
            )
    found: dict[int, Tensor] = {}
    for path, leaf in wanted.items():
        value, name = given[path], argument_name(path)
        if not isinstance(leaf, Ref):
            _check_same(graph.name, name, leaf, value)
            continue
        _check(graph, name, values[leaf.number], value)
        if found.setdefault(leaf.number, value) is not value:
            other = graph.values[leaf.number].name
            raise ArgumentError(
                f"{graph.name}: {name} must be the same tensor as {other}, as it was in the example call",
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
    if isinstance(given, IntEnum) and type(captured) is int:
        given = int(given)  # a text has its number
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


def _check(graph: Graph, name: str, value: Value, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"{graph.name}: {name} is {type(tensor).__name__}, not a tensor",
            notes={"captured": str(value)},
            fix="pass a tensor",
        )
    same = tensor._array.shape == value.shape and tensor._type.dtype is value.dtype
    if same and tensor._type.device in (value.device, META):  # without data a graph gives what else results are
        if not lie_alike(value.shape, tensor.stride(), value.layout.strides) and graph.depends_on_strides:
            raise ShapeError(
                f"{graph.name}: {name} has strides {tensor.stride()}, "
                f"the graph was captured with {value.layout.strides}",
                operands={"given": tensor},
                notes={"captured": str(value)},
                fix="whether a program copies or takes a view follows from strides: pass x.contiguous() if the example "
                "was contiguous, or capture again with an example that lies like this one",
            )
        if value.requires_grad != tensor.requires_grad and graph.adds_gradients:
            requires = "requires a gradient" if tensor.requires_grad else "requires no gradient"
            raise AutogradError(
                f"{graph.name}: {name} {requires}, unlike the example, and a backward pass is part of the graph",
                operands={"given": tensor},
                notes={"captured": str(value)},
                fix="which tensors get gradients is baked in: capture again with an example like this one",
            )
        return
    error: type[ShapeError | DTypeError | DeviceError]
    if tensor._array.shape != value.shape:
        error, wrong = ShapeError, f"shape {tuple(tensor.shape)}, the graph was captured with {value.shape}"
    elif tensor.dtype is not value.dtype:
        error, wrong = DTypeError, f"dtype {tensor.dtype.name}, the graph was captured with {value.dtype.name}"
    else:
        error, wrong = DeviceError, f"device {tensor.device}, the graph was captured on {value.device}"
    raise error(
        f"{graph.name}: {name} has {wrong}",
        operands={"given": tensor},
        notes={"captured": str(value)},
        fix="shapes, dtypes and devices are baked in: capture again with an example like this one",
    )


def _substitute(structure: Any, found: dict[int, Tensor], numbers: Mapping[str, float] | None = None) -> Any:
    def of(ref: Any) -> Any:
        return found[ref.number] if ref.__class__ is Ref else numbers[ref.name]  # type: ignore[index]

    return replace(structure, (Ref, NumberRef), of)


def _store(outputs: Any, result: Any, found: dict[int, Tensor]) -> None:
    if isinstance(outputs, Ref):
        found[outputs.number] = result
    elif isinstance(outputs, (list, tuple)):
        for part, tensor in zip(outputs, result, strict=True):
            _store(part, tensor, found)
