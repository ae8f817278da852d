"""Whether a graph can be what it says.

Each value is made once, and before it is used; memory holds what is shown of it; versions count writes; results are
what the op's own rules have them be. The last is asked by making each call of an op without data, on device "meta".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.device import Device
from ..base.dtypes import uint8
from ..base.state import state
from ..devices.registry import tensor_type
from ..dispatch.abstract import new_array
from ..dispatch.effects import Bodies, Effect, Result
from ..dispatch.op import Op
from ..dispatch.views import alias, layout_of
from ..errors import InvalidGraph, NoData, PolyadError
from ..random.generator import Generator
from ..tensor import Tensor
from .building import end_of
from .expressions import names_of
from .graph import Graph, Node, numbers
from .structure import NumberRef, Ref, leaves_of, replace
from .values import Scalar, Value

META = Device("meta")


def verify(graph: Graph) -> Graph:
    """*graph*, if it holds together; raises RuntimeError that names the node if not.

    >>> import polyad
    >>> graph = polyad.jit.capture(lambda x: x * 2, polyad.ones(2))
    >>> polyad.graph.verify(graph) is graph
    True
    """
    if not graph.symbols:
        _Check(graph).run()
        return graph
    from .sizes import captures_of  # which makes calls without data as is done here

    _check_symbols(graph)
    try:
        captures = captures_of(graph)
    except PolyadError as error:
        raise InvalidGraph(error.message, notes=error.lines, fix="capture the graph again") from error
    for one in captures:
        _Check(one).run()
    return graph


def _check_symbols(graph: Graph, outer: frozenset[str] = frozenset()) -> None:
    """Symbols have names of their own and are read off values, and expressions name no others."""

    def wrong(what: str) -> InvalidGraph:
        return InvalidGraph(f"{graph.name}: {what}", fix="capture the graph again; if a pass made it, report the pass")

    names = outer | {symbol.name for symbol in graph.symbols}
    if len(names) < len(outer) + len(graph.symbols):
        raise wrong("two symbols have one name")
    if len({len(symbol.captured) for symbol in graph.symbols}) > 1:
        raise wrong("symbols are of different captures")
    unknown = (
        names_of([[value.sizes for value in graph.values], [node.args for node in graph.nodes], graph.outputs]) - names
    )
    if unknown:
        raise wrong(f"there is no symbol {min(unknown)}")
    for symbol in graph.symbols:
        if symbol.dim < 0:
            read = [node for node in graph if isinstance(node.outputs, Scalar) and symbol.value in node.uses]
            if not read or not all(type(one) in (int, float) for one in symbol.captured):
                raise wrong(f"symbol {symbol.name} is an item that no call reads")
            continue
        fits = 0 <= symbol.value < len(graph.values) and 0 <= symbol.dim < len(graph.values[symbol.value].sizes)
        if not fits or symbol.name not in names_of(graph.values[symbol.value].sizes[symbol.dim]):
            raise wrong(f"symbol {symbol.name} is read off no dimension of a value")
    for node in graph:
        for body in node.bodies:
            _check_symbols(body, names)


class _Check:
    """One look at a graph.

    Attributes:
        within: where the graph is, if it is a body: "node 3 (cond), body 0, ".
        at: the number of the node that is looked at.
        made: numbers of the values that there are so far.
        versions: of each storage that is shown so far, how often it was written.
    """

    def __init__(self, graph: Graph, within: str = "") -> None:
        self.graph, self.within = graph, within
        self.at = 0
        self.made: set[int] = set()
        self.versions: dict[int, int] = {}
        self.numbers = {number.name: number for number in graph.numbers}

    def run(self) -> None:
        graph = self.graph
        self.memory()
        if len({generator for generator, _ in graph.ends}) < len(graph.ends):
            raise self.wrong(None, "a generator ends twice")
        for value in (*graph.inputs, *(constant.value for constant in graph.constants)):
            if value.number not in self.made:
                self.make(None, value.number, set())
        for at, node in enumerate(graph.nodes):
            self.at = at
            self.node(node)
        self.used(None, graph.outputs)
        missing = set(range(len(graph.values))) - self.made
        if missing:
            raise self.wrong(None, f"value {_name(graph.values[min(missing)])} is made by no node")

    def wrong(self, node: Node | None, what: str) -> InvalidGraph:
        where = self.within
        if node is not None:
            where += f"node {self.at} ({node.name}), "
        return InvalidGraph(
            f"{self.graph.name}: {where[:-2]}{': ' if where else ''}{what}",
            notes={"line": node.line} if node is not None and node.line else {},
            fix="capture the graph again; if a pass made it, report the pass",
        )

    def memory(self) -> None:
        """Storages are numbered, and hold what values show of them."""
        graph = self.graph
        if [one.number for one in graph.storages] != list(range(len(graph.storages))):
            raise self.wrong(None, "storages are not numbered in order")
        for number, value in enumerate(graph.values):
            place = value.storage.number
            if value.number != number or not 0 <= place < len(graph.storages) or graph.storages[place] != value.storage:
                raise self.wrong(None, f"value {_name(value)} is not numbered in order, or in a storage of its own")
            end = end_of(value.dtype, value.layout)
            if end > value.storage.nbytes:
                has = f"which has {value.storage.nbytes}"
                raise self.wrong(self.maker(number), f"value {_name(value)} ends at byte {end} of s{place}, {has}")

    def maker(self, number: int) -> Node | None:
        for at, node in enumerate(self.graph.nodes):
            self.at = at
            if number in node.makes:
                return node
        return None

    def node(self, node: Node) -> None:
        self.used(node, node.args)
        if node.draws is not None and not leaves_of(node.args, Generator):
            raise self.wrong(node, "it draws from no generator")
        for ref in leaves_of(node.args, NumberRef):
            if ref.name not in self.numbers:
                raise self.wrong(node, f"there is no number {ref.name}")
        known, returned = set(self.versions), self.made & _may_return(node)
        writes = set()
        for number in dict.fromkeys(node.makes):
            if number not in returned:
                writes |= self.make(node, number, known)
        if writes and not _may_write(node.op):
            raise self.wrong(node, f"it writes to s{min(writes)}, and {node.name} writes nothing")
        if isinstance(node.op, Op):
            if len(node.args) != len(node.op.names):
                raise self.wrong(node, f"it has {len(node.args)} arguments, and takes {len(node.op.names)}")
            self.results(node)
        elif node.op.bodies is not None:
            self.bodies(node, node.op.bodies)
            self.results(node)
        else:
            self.effect(node)

    def used(self, node: Node | None, structure: Any) -> None:
        """Values that are used are there, and show what their memory holds now."""
        for number in numbers(structure):
            if number not in self.made:
                shown = _name(self.graph.values[number]) if 0 <= number < len(self.graph.values) else str(number)
                raise self.wrong(node, f"value {shown} is used before it is made")
            value = self.graph.values[number]
            place, now = value.storage.number, self.versions[value.storage.number]
            if value.version != now:
                version = f"version {value.version} of s{place}"
                raise self.wrong(node, f"value {_name(value)} shows {version}, which is at {now}")

    def make(self, node: Node | None, number: int, known: set[int]) -> set[int]:
        """Note a value that *node* (None: nobody in the graph) makes: the storages that it writes to."""
        if number in self.made:
            raise self.wrong(node, f"value {_name(self.graph.values[number])} is made twice")
        value = self.graph.values[number]
        place, earlier = value.storage.number, value.earlier
        if earlier is not None and earlier not in self.made:
            raise self.wrong(node, f"value {_name(value)} comes before the tensor's value of which it is the next")
        self.made.add(number)
        now = self.versions.setdefault(place, 0)
        written = place in known and value.version == now + 1
        if value.version != now and not written:
            version = f"version {value.version} of s{place}"
            raise self.wrong(node, f"value {_name(value)} shows {version}, which is at {now}: a write counts one")
        if written:
            self.versions[place] = value.version
        return {place} if written else set()

    # ------------------------------------------------------------------------------------------------ what calls give

    def effect(self, node: Node) -> None:
        """An effect's result is where its declaration says."""
        op: Any = node.op
        values = self.graph.values
        if op.to_host:
            if node.results:
                raise self.wrong(node, "what is read on the host is no value")
            return
        if op.of >= len(node.args) and op.result in _OF:
            raise self.wrong(node, "it has too few arguments")
        of = numbers(node.args[op.of]) if op.result in _OF else []
        if len(of) != 1 or len(node.results) != 1:
            return
        (given,), (result,) = [values[one] for one in of], [values[one] for one in node.results]
        if op.result is Result.TARGET and (result.layout, result.dtype) != (given.layout, given.dtype):
            raise self.wrong(node, f"its result {_name(result)} is not its argument {_name(given)}")
        if op.result is Result.GRADIENT:
            if (result.shape, result.dtype) != (given.shape, given.dtype):
                raise self.wrong(node, f"its result {_name(result)} is no gradient of {_name(given)}")
            return
        if op.result is not Result.TARGET and result.storage is not given.storage and result.storage != given.storage:
            raise self.wrong(node, f"its result {_name(result)} does not show the memory of {_name(given)}")

    def bodies(self, node: Node, bodies: Bodies) -> None:
        """Functions are graphs that hold together, that fit what they are given, and that leave it as it is."""
        count = max(*bodies.functions, *bodies.operands) + 1
        if len(node.args) != count:
            raise self.wrong(node, f"it has {len(node.args)} arguments, and takes {count}")
        given = []
        for position in bodies.operands:
            values = [self.graph.values[number] for number in numbers(node.args[position])]
            given += [(one.shape[position == bodies.slices :], one.dtype, one.device) for one in values]
        for number, position in enumerate(bodies.functions):
            body, where = node.args[position], f"body {number}"
            if not isinstance(body, Graph):
                raise self.wrong(node, f"its argument {position} is no graph")
            _Check(body, f"{self.within}node {self.at} ({node.name}), {where}, ").run()
            refs, named = body.arguments
            outputs = body.outputs if isinstance(body.outputs, (list, tuple)) else [body.outputs]
            listed = all(isinstance(ref, Ref) for ref in (*refs, *outputs)) and len(set(refs)) == len(refs)
            if not listed or named or body.constants:
                raise self.wrong(node, f"{where} is no function from tensors, each once, to a list of tensors")
            inputs = [(one.shape, one.dtype, one.device) for one in map(body.values.__getitem__, numbers(refs))]
            if len(inputs) != len(given):
                raise self.wrong(node, f"{where} has {len(inputs)} inputs, and is given {len(given)} tensors")
            for at, (wanted, got) in enumerate(zip(inputs, given, strict=True)):
                if wanted != got:
                    raise self.wrong(
                        node, f"{where} has another shape, dtype or device for input {at} than it is given"
                    )
            if body.after:
                raise self.wrong(node, f"{where} writes to what it is given")

    def results(self, node: Node) -> None:
        """The results are those that the op's rules, or the bodies, give."""
        try:
            found, places = without_data(self.graph, node)
        except NoData:
            return
        except PolyadError as error:
            raise self.wrong(node, f"its arguments do not fit: {error.message}") from error
        except Exception as error:
            raise self.wrong(node, f"its arguments do not fit: {type(error).__name__}: {error}") from error
        got = leaves_of(found, Tensor)
        values = [self.graph.values[number] for number in node.results]
        if len(got) != len(values):
            raise self.wrong(node, f"it has {len(values)} results, and {node.name} gives {len(got)}")
        for value, tensor in zip(values, got, strict=True):
            if (value.dtype, value.shape) != (tensor.dtype, tensor._array.shape):
                rule = f"{tensor.dtype.name} {tuple(tensor.shape)}"
                raise self.wrong(node, f"its result {_name(value)} is {rule} by the rules of {node.name}")
            place = places.get(id(tensor._storage))
            if place is None and value.storage.number in places.values():
                raise self.wrong(node, f"its result {_name(value)} shows an operand's memory, and has its own")
            if place is not None and (value.storage.number, value.layout) != (place, layout_of(tensor)):
                raise self.wrong(node, f"its result {_name(value)} is another view of s{place} than {node.name} takes")


_OF = (Result.TARGET, Result.ALIAS, Result.DETACHED, Result.ENTRY, Result.GRADIENT)


def _may_return(node: Node) -> set[int]:
    """The values that a call may give back though it did not make them: its arguments, or of some effects any."""
    return set(node.results if given_back(node.op) else numbers(node.args))


def given_back(op: Op | Effect) -> bool:
    """Whether *op* may give back any tensor that there is, as a gradient that was passed on."""
    return isinstance(op, Effect) and op.result in (Result.ANY, Result.GRADIENT)


def _may_write(op: Op | Effect) -> bool:
    """Whether a call of *op* may write: what says so, or says nothing of what comes back."""
    if not isinstance(op, Effect):
        return False
    return op.changes is not None or op.record is not None or op.result in (Result.ANY, Result.HOST, Result.COMMON)


def without_data(graph: Any, node: Node) -> tuple[Any, dict[int, Any]]:
    """What the call gives on device "meta", and the storages that its operands have there, by number. Of *graph* the
    values are asked, and the numbers.
    """
    found: dict[int, Tensor] = {}

    def tensor(ref: Ref) -> Tensor:
        value = graph.values[ref.number]
        place = value.storage.number
        whole = found.get(place)
        if whole is None:
            bytes_ = tensor_type(uint8, META, False)
            whole = found[place] = Tensor._of(new_array((value.storage.nbytes,), uint8), bytes_)
        shape, strides, offset = value.layout
        return alias(
            whole, shape, strides, offset, tensor_type(value.dtype, META, not value.shape), differentiable=False
        )

    args = replace(node.args, Ref, tensor)
    numbers = {number.name: number.captured for number in graph.numbers}
    args = replace(args, NumberRef, lambda ref: numbers[ref.name])
    args = replace(args, Device, lambda device: META)
    args = replace(args, Generator, lambda generator: Generator())
    args = replace(args, Graph, _stand_in)
    modes, grad = state.modes, state.grad_enabled
    state.modes, state.grad_enabled = state.no_modes, False
    try:
        result = node.op.call(*args)
    finally:
        state.modes, state.grad_enabled = modes, grad
    return result, {id(whole._storage): place for place, whole in found.items()}


def _stand_in(body: Graph) -> Callable[..., list[Tensor]]:
    """What gives the results of *body* without data."""

    def called(*given: Tensor) -> list[Tensor]:
        found = [body.values[number] for number in numbers(body.outputs)]
        return [
            Tensor._of(new_array(one.shape, one.dtype), tensor_type(one.dtype, META, not one.shape)) for one in found
        ]

    return called


def _name(value: Value) -> str:
    return f"%{value.name} ({value.dtype.name} {value.shape})"
