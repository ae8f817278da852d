"""One graph of several captures: the calls that all make, with expressions where numbers differ.

Calls are compared one after the other, so that the sizes of operands are known when an argument or a result is looked
at. A size of a result that follows from others by the rules of an op, as behind a convolution with a stride, is a
symbol of its own, which a replay finds by asking the op.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as exchanged
from typing import Any

from ..base.device import Device
from ..dispatch.effects import Effect, Result
from ..dispatch.op import Op
from ..errors import BakedSize, NotSupported
from ..graph.expressions import Expression, Repeat, SizeRef, close, names_of
from ..graph.graph import Graph, Node
from ..graph.sizes import sizes_in_words
from ..graph.structure import NumberRef, Ref, leaves_of
from ..graph.values import Draw, Refusal, Scalar, Storage, Symbol, Value
from ..random.generator import Generator
from .fitting import Fitting, Known
from .twins import META, Twins

Dims = Mapping[str, Mapping[int, Any]]
Ranges = Mapping[str, tuple[int, "int | None"]]


class Unifying:
    """One graph of several captures.

    Attributes:
        graphs, sizes: the captures, with the sizes of the symbols in each.
        sources: for each symbol the tensor and the dimension off which it is read.
        twins: what stood for tensors in the captures without data, which are the last ones.
        dims, ranges: as of `polyad.jit.generalise`, with expressions.
        originals: of the constants of captures without data, by id.
        fitting: what finds expressions.
        derived: symbols that are read off results.
    """

    def __init__(
        self,
        captures: Sequence[tuple[Graph, Mapping[str, int]]],
        twins: Sequence[Twins],
        sources: Mapping[str, tuple[str, int]],
        dims: Dims,
        ranges: Ranges,
    ) -> None:
        self.twins, self.sources, self.dims, self.ranges = twins, sources, dims, ranges
        self.originals = {id(twin): tensor for one in twins for twin, tensor in one.pairs}
        self.graphs = [graph for graph, _ in captures]
        self.sizes = [sizes for _, sizes in captures]
        self.rows = {name: tuple(sizes[name] for sizes in self.sizes) for name in sources}
        self.fitting = Fitting([Known(row, SizeRef(name)) for name, row in self.rows.items() if len(set(row)) > 1])
        self.made = 0
        self.derived: list[Known] = []

    def graph(self) -> Graph:
        return _Body(self, self.graphs, None).graph()

    def follows_from_data(self, number: int, row: tuple[int, ...]) -> bool:
        """Whether the size of a value was assumed where there was no data."""
        without = zip(self.twins, row[len(row) - len(self.twins) :], strict=True)
        return bool(self.twins) and all(number in one.by_data and size in one.sizes for one, size in without)

    def new_name(self) -> str:
        while True:
            name, self.made = f"size{self.made}", self.made + 1
            if name not in self.rows:
                return name


class _Body:
    """One graph of several captures, or of the bodies at one place in them."""

    def __init__(self, whole: Unifying, graphs: Sequence[Graph], outer: Node | None) -> None:
        self.whole, self.graphs, self.outer = whole, graphs, outer
        self.first = graphs[0]
        self.general: dict[int, tuple[Any, ...] | None] = {}
        self.symbols: list[Symbol] = []

    def graph(self) -> Graph:
        self.outside()
        nodes = [self.node(at, node) for at, node in enumerate(self.first.nodes)]
        longest = max(self.graphs, key=len)
        if len(longest) > len(nodes):
            raise self.differs(len(nodes), f"another capture has {longest.nodes[len(nodes)].name} here", of=longest)
        outputs = self.unified([graph.outputs for graph in self.graphs], None, -1, "the result")
        arguments = self.first.arguments
        storages, values = self.laid_out()
        constants = [exchanged(one, value=values[one.value.number]) for one in self.first.constants]
        _check_draws(self.first)
        return exchanged(
            self.first, storages=storages, values=values, nodes=nodes, constants=constants, arguments=arguments,
            outputs=outputs, ends=[], symbols=self.symbols, _asked=[], _fixed={},
        )  # fmt: skip

    def laid_out(self) -> tuple[list[Storage], list[Value]]:
        """Storages and values as they lie in the first capture without a size of 1, whose strides say nothing."""
        sizes = self.whole.sizes
        typical = next((at for at, one in enumerate(sizes) if 1 not in one.values()), 0)
        others = self.graphs[typical]
        storages = [
            exchanged(one, nbytes=other.nbytes) for one, other in zip(self.first.storages, others.storages, strict=True)
        ]
        values = [
            exchanged(
                value, storage=storages[value.storage.number], layout=other.layout, general=self.general[value.number]
            )
            for value, other in zip(self.first.values, others.values, strict=True)
        ]
        return storages, values

    def differs(self, at: int, what: str, fix: str = "", of: Graph | None = None) -> BakedSize:
        nodes = (of or self.first).nodes
        node = nodes[at] if 0 <= at < len(nodes) else None
        where = "" if node is None else f"node {at}: " if of is not None else f"node {at} ({node.name}): "
        rows = "; ".join(sizes_in_words(sizes) for sizes in self.whole.sizes)
        return BakedSize(
            f"{self.first.name}: {where}{what}",
            notes={**({"line": node.line} if node is not None and node.line else {}), "captured for": rows},
            fix=fix or "let the function do the same for all sizes, or leave fixed the dimension by which it decides",
        )

    def outside(self) -> None:
        """Inputs and constants."""
        for value in self.first.inputs:
            if self.outer is None:
                self.input(value)
            else:
                self.value(-1, value.number, (), None)
        for at, constant in enumerate(self.first.constants):
            for graph in self.graphs:
                other = graph.constants[at].tensor if at < len(graph.constants) else None
                if self.whole.originals.get(id(other), other) is not constant.tensor:
                    raise self.differs(
                        -1,
                        f"the tensor {constant.value.name!r}, which no op makes, is another one in another capture",
                        "make it with an op in the function, or once outside of it",
                    )  # fmt: skip
            self.general[constant.value.number] = None

    def input(self, value: Value) -> None:
        """An input of the function, with the symbols that are read off it."""
        whole = self.whole
        sizes: list[Any] = list(value.shape)
        for dim, item in whole.dims.get(value.name, {}).items():
            sizes[dim] = item
        self.general[value.number] = tuple(sizes) if names_of(sizes) else None
        for name, (tensor, dim) in whole.sources.items():
            if tensor == value.name:
                self.symbols.append(
                    Symbol(name, value.number, dim, whole.rows[name], *whole.ranges.get(name, (0, None)))
                )

    def node(self, at: int, node: Node) -> Node:
        nodes = []
        for graph in self.graphs:
            other = graph.nodes[at] if at < len(graph.nodes) else None
            if other is None or other.op.name != node.op.name:
                raise self.differs(at, f"another capture has {'nothing' if other is None else other.name} here")
            if (other.grad, other.renewed, [one.path for one in other.modules]) != (
                node.grad, node.renewed, [one.path for one in node.modules],
            ):  # fmt: skip
                raise self.differs(at, "another capture makes this call elsewhere, or it writes to other tensors there")
            nodes.append(other)
        near = self.near(node)
        count = len(node.op.operands) if isinstance(node.op, Op) else 0
        args = []
        for position, given in enumerate(zip(*[one.args for one in nodes], strict=True)):
            named = isinstance(node.op, Op) and position >= count
            name = node.op.params[position - count] if named else f"argument {position}"  # type: ignore[union-attr]
            args.append(self.unified(list(given), node, at, name, near))
        if self.outer is None and isinstance(node.outputs, Scalar) and self.whole.twins:
            self.item(node, [one.outputs.number for one in nodes])
            return exchanged(node, args=tuple(args))
        outputs = self.unified([one.outputs for one in nodes], node, at, "the result", near)
        for number in node.makes:
            if number not in self.general:
                self.value(at, number, near, node)
        return exchanged(node, args=tuple(args), outputs=outputs, draws=None)

    def item(self, node: Node, row: list[int | float | None]) -> None:
        """A symbol that is an element which *node* reads."""
        if None not in row and not any(one.value == node.uses[0] and one.dim < 0 for one in self.symbols):
            symbol = Symbol(self.whole.new_name(), node.uses[0], -1, tuple(row), data=True)
            self.symbols.append(symbol)
            self.whole.derived.append(Known(symbol.captured, SizeRef(symbol.name)))

    def near(self, node: Node) -> list[Known]:
        """The sizes of the operands that differ between captures, then others that were found."""
        found: dict[tuple[int, ...], Known] = {}
        for number in node.uses:
            shapes = zip(*[graph.values[number].shape for graph in self.graphs], strict=True)
            for row, item in zip(shapes, self.general[number] or (), strict=False):
                if isinstance(item, Expression):
                    found.setdefault(row, Known(row, item))
        for one in self.whole.derived:
            found.setdefault(one.row, one)
        return list(found.values())

    # ------------------------------------------------------------------------------------------------ values

    def value(self, at: int, number: int, near: Iterable[Known], node: Node | None) -> None:
        """Find the shape of a value."""
        values = [graph.values[number] if number < len(graph.values) else None for graph in self.graphs]
        first = self.first.values[number]
        for value in values:
            if value is None or _kind(value) != _kind(first):
                raise self.differs(at, f"its result %{first.name} is another kind of tensor in another capture")
        if first.earlier is not None:
            self.general[number] = self.general[first.earlier]
            return
        sizes = []
        known = [*near, *self.whole.derived]
        for dim, row in enumerate(zip(*[value.shape for value in values if value is not None], strict=True)):
            data = self.outer is None and self.whole.follows_from_data(number, row)
            item = None if data else self.whole.fitting.size(row, known)
            if item is None:
                item = self.derive(at, number, dim, row, node, data)
            sizes.append(item)
        self.general[number] = tuple(sizes) if names_of(sizes) else None

    def derive(self, at: int, number: int, dim: int, row: tuple[int, ...], node: Node | None, data: bool) -> Expression:
        """A symbol that is read off a result, whose size an op's rules say, or the data."""
        if node is None or not (isinstance(node.op, Op) or node.op.bodies):
            name = self.first.values[number].name
            raise self.differs(
                at, f"no expression of the sizes gives dim {dim} of %{name}, which is {_found_items(row)}"
            )
        symbol = Symbol(self.whole.new_name(), number, dim, row, data=data)
        self.symbols.append(symbol)
        known = Known(row, SizeRef(symbol.name))
        self.whole.derived.append(known)
        return known.item

    # ------------------------------------------------------------------------------------------------ arguments

    def unified(self, items: list[Any], node: Node | None, at: int, name: str, near: Iterable[Known] = ()) -> Any:
        """One of the *items* that captures have at one place, or an expression that is each of them."""
        first = items[0]
        kind = type(first)
        if kind in (int, float) and all(type(item) in (int, float) for item in items):
            return self.number(items, at, name, near)
        if any(type(item) is not kind for item in items):
            raise self.differs(at, f"{name} is {_found_items(items)} in the captures")
        if kind is Graph:
            assert node is not None
            return _Body(self.whole, items, node).graph()
        if isinstance(first, (list, tuple)) and not isinstance(first, Ref):
            if len({len(item) for item in items}) > 1:
                return self.repeat(items, node, at, name, near)
            parts = [
                self.unified(list(part), node, at, f"{name}[{k}]", near)
                for k, part in enumerate(zip(*items, strict=True))
            ]
            return first if all(a is b for a, b in zip(parts, first, strict=True)) else _rebuilt(first, parts)
        if isinstance(first, dict):
            if any(list(item) != list(first) for item in items):
                raise self.differs(at, f"{name} has other keys in another capture")
            return {
                key: self.unified([item[key] for item in items], node, at, f"{name}[{key!r}]", near) for key in first
            }
        if not all(_is_same_item(first, item, node) for item in items):
            raise self.differs(at, f"{name} is {_found_items(items)} in the captures")
        return first

    def number(self, items: list[Any], at: int, name: str, near: Iterable[Known]) -> Any:
        if all(type(item) is type(items[0]) and repr(item) == repr(items[0]) for item in items):
            return items[0]
        fitting = self.whole.fitting
        found = next((one.item for one in self.whole.derived if one.row == tuple(items)), None)
        if found is not None:
            return found
        if all(type(item) is int for item in items):
            found = fitting.number(tuple(items), near)
        else:
            found = fitting.real(tuple(map(float, items)), near)
        if found is None:
            raise self.differs(
                at, f"no expression of the sizes gives its {name}, which is {_found_items(items)}",
                "compute it with tensors, or leave fixed the dimension from which it comes",
            )  # fmt: skip
        return found

    def repeat(self, items: list[Any], node: Node | None, at: int, name: str, near: Iterable[Known]) -> Any:
        """Tuples of so many equal items."""
        alike = all(type(item) is tuple and item and all(part == item[0] for part in item) for item in items)
        if not alike or leaves_of(items, Ref):
            lengths = [len(item) for item in items]
            raise self.differs(at, f"{name} has {_found_items(lengths)} items in the captures")
        item = self.unified([one[0] for one in items], node, at, f"{name}[0]", near)
        return Repeat(item, self.number([len(one) for one in items], at, f"number of items of {name}", near))


def _rebuilt(first: Any, parts: list[Any]) -> Any:
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


def _kind(value: Value) -> tuple[Any, ...]:
    return (
        value.name, value.storage.number, value.version, value.dtype, len(value.shape),
        value.requires_grad, value.earlier,
    )  # fmt: skip


def _found_items(items: Sequence[Any]) -> str:
    return ", ".join(repr(item)[:40] for item in items[:4]) + ("" if len(items) <= 4 else ", ...")


def same_items(one: Any, other: Any, node: Node) -> bool:
    """Whether two arguments of a call are the same, tuples and dicts item by item, and floats but for roundings."""
    numbers = (int, float)
    if type(one) in numbers and type(other) in numbers:
        return one == other or (float in (type(one), type(other)) and close(one, other)) or repr(one) == repr(other)
    if isinstance(one, (list, tuple)) and not isinstance(one, Ref):
        pairs = zip(one, other, strict=False) if type(one) is type(other) and len(one) == len(other) else None
        return pairs is not None and all(same_items(a, b, node) for a, b in pairs)
    return isinstance(one, Generator) or _is_same_item(one, other, node)


def _is_same_item(one: Any, other: Any, node: Node | None) -> bool:
    if one is other:
        return True
    if isinstance(one, (Ref, NumberRef)):
        return bool(one == other)
    if isinstance(one, Generator):
        return False
    if isinstance(one, Device):
        return one == other or META in (one, other)
    if node is not None and isinstance(node.op, Effect) and node.op.result is Result.CHECK and callable(one):
        return Refusal.from_example(one) == Refusal.from_example(other)
    if hasattr(one, "tobytes") and hasattr(one, "shape"):
        return bool(one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes())
    try:
        return bool(one == other)
    except Exception:
        return False


def _check_draws(graph: Graph) -> None:
    """Raise where random numbers are not drawn one after the other: how many a call draws follows from sizes."""
    now: dict[Generator, Draw] = {}
    for node in graph.nodes:
        for generator in leaves_of(node.args, Generator):
            if node.draws is None:
                continue
            place = now.get(generator, Draw(0, 0))
            if node.draws.seed is not None or node.draws.offset != place.offset:
                raise NotSupported(
                    f"{graph.name}: {node.name} draws numbers from a generator that is put back or started anew",
                    notes={"line": node.line},
                    fix="seed outside of the function, or leave the sizes fixed",
                )
            now[generator] = node.draws.end
