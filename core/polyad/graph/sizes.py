"""A general graph for given sizes: the graph of one call, which replays, is verified and is compiled as any other.

Symbols are read off the inputs, and shapes and arguments evaluated. What a view shows, and sizes that an op's own rules
give, are found by making these calls without data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace as exchanged
from typing import Any

from ..base.shapes_and_strides import Layout, Shape, Strides, contiguous_strides, is_addressable
from ..dispatch.op import Op
from ..dispatch.views import layout_of
from ..errors import InvalidGraph, NoData, PolyadError, ShapeError
from ..tensor import Tensor
from .building import end_of, ends_of
from .expressions import evaluated, names_of, solved
from .graph import Graph, Node, numbers
from .structure import leaves_of, replace
from .values import Storage, Symbol, Value
from .verify import without_data

KEPT = 32
"""Graphs of given sizes that a general graph remembers."""


def fixed_for(graph: Graph, tensors: Mapping[int, Any], names: Mapping[int, str]) -> Graph:
    """The graph for inputs *tensors*, by the numbers of their values; *names* are what errors call them.

    Raises RuntimeError for sizes that are out of a symbol's range, or do not agree.
    """
    return remembered(graph, read_sizes(graph, tensors, names))


def remembered(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph at *sizes* of the symbols of its inputs: that which it remembers, or a new one."""
    key = tuple([sizes[symbol.name] for symbol in given_symbols(graph)])
    found = graph._fixed.get(key)
    if found is None:
        while len(graph._fixed) >= KEPT:
            graph._fixed.pop(next(iter(graph._fixed)), None)
        found = graph._fixed[key] = fixed(graph, sizes)
    return found


def captures_of(graph: Graph) -> list[Graph]:
    """The graph at each of the sizes for which it was captured; a graph without symbols itself."""
    symbols = given_symbols(graph)
    if not symbols:
        return [graph]
    rows = zip(*[symbol.captured for symbol in symbols], strict=True)
    return [remembered(graph, {symbol.name: size for symbol, size in zip(symbols, row, strict=True)}) for row in rows]


def symbols_of_inputs(graph: Graph) -> list[Symbol]:
    """The symbols that are read off inputs; the others follow from these by the rules of ops."""
    given = set(numbers(graph.arguments))
    return [symbol for symbol in graph.symbols if symbol.value in given]


def given_symbols(graph: Graph) -> list[Symbol]:
    """The symbols of which the others follow by the rules of ops: those of inputs, and those that follow from data."""
    given = set(numbers(graph.arguments))
    return [symbol for symbol in graph.symbols if symbol.data or symbol.value in given]


# --------------------------------------------------------------------------------------------------------------- inputs


def read_sizes(graph: Graph, tensors: Mapping[int, Any], names: Mapping[int, str]) -> dict[str, int]:
    """The sizes of the symbols that are read off *tensors*, which may be missing or of another rank: then they are as
    captured.
    """
    found: dict[str, int] = {}
    known = {
        number: tuple(tensor.shape)
        for number, tensor in tensors.items()
        if isinstance(tensor, Tensor) and tensor.dim() == len(graph.values[number].shape)
    }
    for symbol in symbols_of_inputs(graph):
        shape = known.get(symbol.value)
        if shape is None:
            found[symbol.name] = symbol.captured[0]
            continue
        item, size = graph.values[symbol.value].sizes[symbol.dim], shape[symbol.dim]
        where = f"dim {symbol.dim} of {names[symbol.value]}"
        read = solved(item, size)
        if read is None:
            raise ShapeError(
                f"{graph.name}: {where} is {size}, which is {item} for no {symbol.name}",
                operands={names[symbol.value]: tensors[symbol.value]},
                fix=f"pass a tensor whose {where.partition(' of ')[0]} is {item}",
            )
        found[symbol.name] = read[1]
        if not symbol.least <= read[1] <= (read[1] if symbol.most is None else symbol.most):
            raise ShapeError(
                f"{graph.name}: {symbol.name} is {read[1]} ({where}), and must be {range_of(symbol)}",
                operands={names[symbol.value]: tensors[symbol.value]},
                fix="pass a tensor of a size within the range, or capture again with another range",
            )
    for number, shape in known.items():
        _check_shape(graph, number, shape, found, names, tensors)
    return found


def range_of(symbol: Symbol) -> str:
    """What a symbol may be, in words."""
    return f"at least {symbol.least}" if symbol.most is None else f"from {symbol.least} to {symbol.most}"


def _check_shape(
    graph: Graph,
    number: int,
    shape: Shape,
    found: Mapping[str, int],
    names: Mapping[int, str],
    tensors: Mapping[int, Any],
) -> None:
    """Raise for sizes of an input that others do not agree with."""
    for dim, (item, size) in enumerate(zip(graph.values[number].sizes, shape, strict=True)):
        wanted = evaluated(item, found)
        if size == wanted or not names_of(item):
            continue  # a size that is fixed is checked with the rest of the tensor
        known = {symbol.name: symbol for symbol in graph.symbols}
        sources = [known[name] for name in sorted(names_of(item))]
        read = [f"{one.name} = {found[one.name]} by dim {one.dim} of {names[one.value]}" for one in sources]
        raise ShapeError(
            f"{graph.name}: dim {dim} of {names[number]} is {size}, and must be {item} = {wanted}",
            operands={names[number]: tensors[number]},
            notes={"read": ", ".join(read)},
            fix="pass tensors whose sizes agree, or capture again with symbols of their own",
        )


# ---------------------------------------------------------------------------------------------------------------- fixed


@dataclass
class _Sizes:
    """What is known so far of a graph at given sizes, in the form in which `without_data` reads it."""

    values: dict[int, Value]
    numbers: list[Any]


def fixed(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """*graph* at *sizes* of the symbols of its inputs, without symbols. Raises RuntimeError if a call takes no such
    sizes.
    """
    return _Fixing(graph, sizes).graph_()


def outside(graph: Graph, sizes: Mapping[str, int]) -> dict[int, Value]:
    """The inputs and constants of *graph* at *sizes* of the symbols of its inputs, by number."""
    return _Fixing(graph, sizes).outside()


class _Fixing:
    """One walk through a graph.

    Attributes:
        sizes: of all symbols so far.
        derived: the symbols that are not given, by the number of the value off which they are read.
        ends: how many bytes of each storage are shown so far.
    """

    def __init__(self, graph: Graph, sizes: Mapping[str, int]) -> None:
        self.graph, self.sizes = graph, dict(sizes)
        self.derived: dict[int, list[Symbol]] = {}
        for symbol in graph.symbols:
            if symbol.name not in sizes:
                self.derived.setdefault(symbol.value, []).append(symbol)
        self.known = _Sizes({}, graph.numbers)
        self.ends: dict[int, int] = {}

    def outside(self) -> dict[int, Value]:
        """Inputs and constants, by number."""
        for value in (*self.graph.inputs, *(constant.value for constant in self.graph.constants)):
            self.add(value, self.dense(value))
        return self.known.values

    def graph_(self) -> Graph:
        graph = self.graph
        self.outside()
        nodes = [self.node(at, node) for at, node in enumerate(graph.nodes)]
        captured = ends_of(graph.values)
        storages = [
            exchanged(one, nbytes=self.ends[one.number] if one.nbytes == captured[one.number] else one.nbytes)
            for one in graph.storages
        ]
        values = [self.known.values[value.number] for value in graph.values]
        places = [storages[value.storage.number] for value in values]
        values = [
            value if value.storage == place else exchanged(value, storage=place)
            for value, place in zip(values, places, strict=True)
        ]
        constants = [exchanged(one, value=values[one.value.number]) for one in graph.constants]
        return Graph(
            graph.name, storages, values, constants, nodes, graph.arguments, evaluated(graph.outputs, self.sizes),
            graph.numbers, graph.settings, graph.ends,
        )  # fmt: skip

    def add(self, value: Value, layout: Layout) -> None:
        place = value.storage
        end = self.ends[place.number] = max(self.ends.get(place.number, 0), end_of(value.dtype, layout))
        if value.general is not None or end > place.nbytes or layout != value.layout:
            storage = Storage(place.number, max(end, place.nbytes), place.device, place.role)
            value = exchanged(value, layout=layout, storage=storage, general=None)
        self.known.values[value.number] = value

    def node(self, at: int, node: Node) -> Node:
        wanted = [symbol for number in node.results for symbol in self.derived.get(number, ())]
        args = node.args
        if node.bodies:
            args = replace(args, Graph, lambda body: fixed(body, self.sizes))
        args = self.evaluated(args, at, node)
        new = node if args is node.args else exchanged(node, args=args)
        if wanted or (isinstance(node.op, Op) and node.op.kind == "view"):
            self.by_rules(at, new, wanted)
        for number in node.makes:
            if number not in self.known.values:
                value = self.graph.values[number]
                shown = self.shown(value, node)
                self.add(value, self.dense(value) if shown is None else shown)
        return new

    def by_rules(self, at: int, node: Node, wanted: Iterable[Symbol]) -> None:
        """Find what *node* gives by making the call without data, and *wanted* sizes by that."""
        graph = self.graph
        try:
            found, places = without_data(self.known, node)
        except NoData as error:
            raise self.wrong(at, node, "its sizes follow from data") from error
        except PolyadError as error:
            raise self.wrong(at, node, error.message) from error
        except Exception as error:
            raise self.wrong(at, node, f"{type(error).__name__}: {error}") from error
        got = leaves_of(found, Tensor)
        by_number = dict(zip(node.results, got, strict=True))
        for symbol in wanted:
            self.sizes[symbol.name] = by_number[symbol.value]._array.shape[symbol.dim]
        for number, tensor in by_number.items():
            value = graph.values[number]
            rule, shape = tuple(tensor._array.shape), self.evaluated(value.sizes, at, node)
            if rule != shape:
                raise self.wrong(
                    at, node, f"its result %{value.name} is of shape {rule}, and captured as {value.sizes}"
                )
            if number not in self.known.values:
                shown = places.get(id(tensor._storage)) == value.storage.number
                self.add(value, layout_of(tensor) if shown else self.dense(value))

    def evaluated(self, structure: Any, at: int, node: Node) -> Any:
        try:
            return evaluated(structure, self.sizes)
        except (ArithmeticError, TypeError) as error:
            raise self.wrong(at, node, f"an argument cannot be computed: {error}") from error

    def wrong(self, at: int, node: Node, what: str) -> ShapeError:
        return ShapeError(
            f"{self.graph.name}: node {at} ({node.name}) does not hold for {sizes_in_words(self.sizes)}: {what}",
            notes={"line": node.line} if node.line else {},
            fix="pass sizes for which the function does the same as in the captures, or capture again with these",
        )

    def shown(self, value: Value, node: Node) -> Layout | None:
        """The layout of a result that shows what a tensor before it shows."""
        others = (*node.uses, *(() if value.earlier is None else (value.earlier,)))
        for number in others:
            other = self.graph.values[number]
            if (other.storage, other.layout, other.sizes) == (value.storage, value.layout, value.sizes):
                return self.known.values[number].layout
        return None

    def dense(self, value: Value) -> Layout:
        """The layout of a tensor with memory of its own."""
        if value.general is None:
            return value.layout
        try:
            shape = evaluated(value.general, self.sizes)
            fits = all(type(size) is int and size >= 0 for size in shape) and is_addressable(
                shape, value.dtype.itemsize
            )
        except (ArithmeticError, TypeError):
            fits = False
        if not fits:
            raise ShapeError(
                f"{self.graph.name}: %{value.name} of shape {value.sizes} has no size for {sizes_in_words(self.sizes)}",
                fix="pass sizes for which all tensors have sizes",
            )
        captured = value.layout
        strides = dense_strides(shape, captured)
        if strides is None:
            raise InvalidGraph(
                f"{self.graph.name}: %{value.name} of shape {value.sizes} has strides {captured.strides}, which tell "
                "nothing of those for other sizes",
                fix="make it contiguous()",
            )
        return Layout(shape, strides, captured.offset)


def sizes_in_words(sizes: Mapping[str, int]) -> str:
    """Sizes by name, as an error says them."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


def lie_alike(shape: Shape, strides: Strides, others: Strides) -> bool:
    """Whether elements of two tensors of one shape lie apart alike, whatever the strides of single elements."""
    if strides == others or 0 in shape:
        return True
    return all(size == 1 or one == other for size, one, other in zip(shape, strides, others, strict=True))


def dense_strides(shape: Shape, captured: Layout) -> Strides | None:
    """The strides of a tensor of *shape* that lies without gaps, with its dimensions in the order that they have in
    *captured*; None if that has gaps.
    """
    if captured.strides == contiguous_strides(captured.shape):
        return contiguous_strides(shape)
    order = sorted(range(len(shape)), key=lambda dim: -captured.strides[dim])

    def along(sizes: Shape) -> Strides:
        strides, step = [0] * len(sizes), 1
        for dim in reversed(order):
            if captured.strides[dim]:
                strides[dim] = step
                step *= sizes[dim] or 1
        return tuple(strides)

    alike = zip(captured.shape, captured.strides, along(captured.shape), strict=True)
    return along(shape) if all(size == 1 or one == other for size, one, other in alike) else None
