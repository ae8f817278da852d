"""Graphs for all sizes: `generalise` captures a call several times and finds what the captures have in common.

The example is captured first, then calls with inputs in which one size is another, for each symbol, then one in which
all are. Their data is the example's, repeated or cut, so that indices stay valid. All captures must make the same
calls; the numbers that differ between them become expressions (unifying.py, fitting.py), and what finds none is refused
by name. Then the graph is held against each capture.

A last capture is of large sizes, without data (probing.py), where a function can be called so.

Known limit: a decision that the program makes for sizes between those captured, or beyond, is not seen. The ends of a
symbol's range are captured, if it has any, so a range says up to where a graph holds.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from ..base.shapes_and_strides import Layout
from ..errors import ArgumentError, ArgumentTypeError, BakedSize, NoData, PolyadError, ShapeError
from ..graph.expressions import Expression, Repeat, SizeRef, evaluated, names_of, solved
from ..graph.graph import Graph, nodes_within
from ..graph.parsing import is_free
from ..graph.sizes import dense_strides, fixed, sizes_in_words
from ..graph.structure import leaves_of, replace
from ..graph.verify import verify
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from .capture import BakedValueWarning, capture, names_of_inputs
from .probing import captured_without_data, makes_the_same_calls
from .unifying import Dims, Ranges, Unifying

__all__ = ["generalise"]

LARGEST_END = 4096
"""The end of a range is captured if it is no more than this, or than eight times the example."""
MOST_CAPTURES = 12

Given: TypeAlias = "tuple[tuple[Any, ...], dict[str, Any]]"


def generalise(
    function: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dims: Dims | Literal["auto"],
    ranges: Ranges | None = None,
    capture: Callable[..., Graph] = capture,
) -> Graph:
    """The graph of *function* for all sizes of *dims*, which says by the names of tensors which of their dimensions are
    what: a name, the same for sizes that are the same, or an expression of names; or ``...`` for a dimension that is to
    be fixed if it has to. "auto" says this of all.

    *ranges* has the least and the largest size of a name, None for no end. The function is called several times, with
    the example and with what is made of it; tensors that it writes to are as after one call. See `capture` for what a
    graph is; another function in its place is called alike.

    Raises RuntimeError, naming the call and its line, where the function does something else for other sizes, or uses a
    number that no expression of the sizes gives.

    >>> import polyad
    >>> def rows(x):
    ...     return x.view(x.shape[0], -1) / x.shape[0]
    >>> graph = polyad.jit.generalise(rows, (polyad.ones(4, 2, 3),), dims={"x": {0: "batch"}})
    >>> graph(polyad.ones(7, 2, 3)).shape
    polyad.Size([7, 6])
    >>> graph.nodes[0].params["shape"]
    (batch, 6)
    """
    given = (args, dict(kwargs or {}))
    if dims == "auto":
        tensors = _tensors_by_name(function, given)
        dims = {name: dict.fromkeys(range(tensor.dim()), ...) for name, tensor in tensors.items()}
    if any(item is ... for sizes in dims.values() for item in sizes.values()):
        return _Trying(function, given, dims, dict(ranges or {})).graph()
    return _Generalising(function, given, dims, dict(ranges or {}), capture).graph()


def _tensors_by_name(function: Callable[..., Any], given: Given) -> dict[str, Tensor]:
    """The tensors among the arguments by name."""
    names = names_of_inputs(function, given)
    return {names[id(tensor)]: tensor for tensor in leaves_of(given, Tensor)}


class _Generalising:
    """One function, with an example.

    Attributes:
        names: of the tensors among the arguments, by id.
        symbols: by name: the tensor's name and the dimension from which each is read, and the size in the example.
        captures: the graphs so far, each with the sizes for which it was captured.
        probes: graphs of calls without data; originals: of their constants, by id.
        bounded: whether the function may fail for larger sizes, as one does that cuts a table of limited length:
            smaller ones are captured.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        given: Given,
        dims: Dims,
        ranges: Ranges,
        capture: Callable[..., Graph] = capture,
        bounded: bool = False,
    ) -> None:
        self.function, self.given, self.ranges, self.record = function, given, ranges, capture
        self.bounded = bounded
        self.names = names_of_inputs(function, given)
        tensors = _tensors_by_name(function, given)
        self.dims: dict[str, dict[int, Any]] = {}
        self.symbols: dict[str, tuple[str, int]] = {}
        example: dict[str, int] = {}
        for name, sizes in dims.items():
            if name not in tensors:
                raise ArgumentError(
                    f"generalise: dims has {name!r}, which is no tensor among the arguments",
                    notes={"tensors": ", ".join(tensors)},
                    fix="name tensors as the function's parameters are named",
                )
            self.dims[name] = {dim: self._item(tensors[name], name, dim, item) for dim, item in sizes.items()}
            for dim, item in self.dims[name].items():
                read = solved(item, tensors[name].shape[dim])
                if read is None:
                    raise ArgumentError(
                        f"generalise: dim {dim} of {name} is {tensors[name].shape[dim]} in the example, "
                        f"and is to be {item}",
                        fix="pass an example of such a size",
                    )
                self.symbols.setdefault(read[0], (name, dim))
                if example.setdefault(read[0], read[1]) != read[1]:
                    raise BakedSize(
                        f"generalise: {read[0]} is {example[read[0]]} and {read[1]} in the example",
                        operands={name: tensors[name]},
                        fix="pass an example in which it is one size, or use two names",
                    )
        self.example = example
        self.captures: list[tuple[Graph, dict[str, int]]] = []
        self.probes: list[tuple[Graph, dict[str, int]]] = []
        self.originals: dict[int, Tensor] = {}

    @staticmethod
    def _item(tensor: Tensor, name: str, dim: int, item: Any) -> Expression:
        if not 0 <= dim < tensor.dim():
            raise ArgumentError(
                f"generalise: {name} has no dim {dim}", operands={name: tensor}, fix="count dimensions from 0"
            )
        if isinstance(item, Expression):
            return item
        if not isinstance(item, str) or not is_free(item):
            raise ArgumentTypeError(
                f"generalise: dim {dim} of {name} is {item!r}, which is no name", fix="pass a name or an expression"
            )
        return SizeRef(item)

    # ------------------------------------------------------------------------------------------------ captures

    def graph(self, few: bool = False) -> Graph:
        """The graph; of *few* captures to see whether there may be one."""
        rows = self.rows()
        for sizes in rows[len(self.captures) : len(self.example) + 1 if few else len(rows)]:
            self.capture(sizes)
        unifying = self.unifying()
        graph = unifying.graph()
        if few:
            return graph
        if self.example and self.probe(graph):
            unifying = self.unifying()
            graph = unifying.graph()
        while (more := self.deciding(unifying.fitting.doubts)) is not None:
            self.capture(more)
            unifying = self.unifying()
            graph = unifying.graph()
        for captured, sizes in self.captures:
            _hold_against(graph, captured, sizes)
        return verify(graph)

    def unifying(self) -> Unifying:
        return Unifying([*self.captures, *self.probes], self.symbols, self.dims, self.ranges, self.originals)

    def probe(self, graph: Graph) -> bool:
        """Capture the function at large sizes, without data, if it can be called so; whether it could."""
        first, sizes = self.captures[0]
        # All symbols together must still be sizes of a tensor; a call that is repeated over time is so in Python, too.
        largest = int(2 ** (50 / (len(self.example) + 2))) // 2 * 2
        if any(leaves_of(node.args, Repeat) for node in nodes_within(graph)):
            largest = 64
        large = {}
        for at, name in enumerate(self.example):
            most = self.ranges.get(name, (0, None))[1]
            large[name] = largest + 2 * at + 1 if most is None else min(most, largest + 2 * at + 1)
        if large in [row for _, row in self.captures]:
            return False
        with warnings.catch_warnings(), _Kept(first, self.function):
            warnings.simplefilter("ignore")
            try:
                control, _ = captured_without_data(self.function, *self._inputs(sizes))
            except Exception:  # it needs data, or does what is not possible without
                return False
            if not makes_the_same_calls(first, control):
                return False
            try:
                probe, self.originals = captured_without_data(self.function, *self._inputs(large, without_data=True))
            except NoData:
                return False
            except Exception as error:
                if self.bounded:
                    return False
                raise self._failed(large, error) from error
        self.probes.append((probe, large))
        return True

    def rows(self) -> list[dict[str, int]]:
        """The sizes to capture: of the example, with another size of each symbol, and with others of all."""
        choices = {name: self._choices(name, size) for name, size in self.example.items()}
        first = {name: found[0] for name, found in choices.items()}
        rows = [first]
        rows += [{**first, name: found[1]} for name, found in choices.items() if len(found) > 1]
        for at in range(2, max(map(len, choices.values()), default=0)):
            rows.append({name: found[min(at, len(found) - 1)] for name, found in choices.items()})
        return rows

    def _choices(self, name: str, size: int) -> list[int]:
        """Sizes of a symbol: the example's, or two, as one is a special case; others; the ends of its range."""
        least, most = self.ranges.get(name, (0, None))
        first = size if size > 1 or most in (0, 1) else 2
        largest = max(first * 2 + 1, 5) if most is None else most
        wanted = [first + 1, first * 2 + 1, first + 2, first - 1, first - 2]
        if self.bounded:
            wanted = [*dict.fromkeys((first - 1, first // 2 + 1, first - 2)), first + 1, first + 2]
        others = [one for one in wanted if max(least, 2) <= one <= largest and one != first]
        found = [first, *others[:2]]
        ends = [one for one in (least, most) if one is not None and 2 <= one <= max(LARGEST_END, 8 * size)]
        return [*found, *[one for one in ends if one not in found]]

    def deciding(self, doubts: list[list[Any]]) -> dict[str, int] | None:
        """Sizes for which expressions that fit alike so far differ; None if there are none."""
        if len(self.captures) >= MOST_CAPTURES:
            return None
        for found in doubts:
            for more in range(1, 257):
                sizes = {name: size + more for name, size in self.example.items()}
                inside = all(self._within(name, size) for name, size in sizes.items())
                if inside and _differ(found, sizes):
                    return sizes
        return None

    def _within(self, name: str, size: int) -> bool:
        least, most = self.ranges.get(name, (0, None))
        return least <= size and (most is None or size <= most)

    def capture(self, sizes: dict[str, int]) -> None:
        """Capture the function at *sizes*."""
        args, kwargs = self._inputs(sizes)
        if not self.captures:
            graph = self.record(self.function, *args, **kwargs)
        else:
            with _Kept(self.captures[0][0], self.function), warnings.catch_warnings():
                warnings.simplefilter("ignore", BakedValueWarning)
                try:
                    graph = self.record(self.function, *args, **kwargs)
                except Exception as error:
                    raise self._failed(sizes, error) from error
        self.captures.append((graph, sizes))

    def _failed(self, sizes: dict[str, int], error: Exception) -> BakedSize:
        said = error.message if isinstance(error, PolyadError) else f"{type(error).__name__}: {error}"
        graph, first = self.captures[0]
        return BakedSize(
            f"{graph.name}: it runs for {sizes_in_words(first)}, and fails for {sizes_in_words(sizes)}: {said}",
            fix="give sizes that must agree one name, give a range (max= of a Dim) up to where it runs, write a "
            "multiple as an expression, or leave the dimension fixed",
        )

    def _inputs(self, sizes: dict[str, int], without_data: bool = False) -> Any:
        made: dict[int, Tensor] = {}

        def new(tensor: Tensor) -> Tensor:
            dims = self.dims.get(self.names[id(tensor)], {})
            if id(tensor) not in made:
                shape = {dim: evaluated(item, sizes) for dim, item in dims.items()}
                source = tensor.detach().to("meta").requires_grad_(tensor.requires_grad) if without_data else tensor
                made[id(tensor)] = _resized(source, shape) if dims else source
            return made[id(tensor)]

        return replace(self.given, Tensor, new)


class _Trying:
    """A function of which some dimensions may be fixed, if the graph does not hold for others: marked ``...``.

    Each is tried alone, then, of those that fail, those of one size together, since they may have to agree.
    """

    def __init__(self, function: Callable[..., Any], given: Given, dims: Dims, ranges: Ranges) -> None:
        self.function, self.given, self.ranges = function, given, ranges
        self.tensors = _tensors_by_name(function, given)
        self.dims = {
            name: {dim: item for dim, item in sizes.items() if item is not ...} for name, sizes in dims.items()
        }
        self.open = [
            (name, dim)
            for name, sizes in dims.items()
            for dim, item in sizes.items()
            if item is ... and name in self.tensors and self.tensors[name].shape[dim] > 1
        ]
        self.first = _Generalising(function, given, {}, {})
        self.first.capture({})

    def graph(self) -> Graph:
        found = [[place] for place in self.open if self.holds([[place]])]
        failed = [place for place in self.open if [place] not in found]
        sizes = {(self.tensors[name].shape[dim], dim) for name, dim in failed}
        groups = [[place for place in failed if (self.size(place), place[1]) == one] for one in sorted(sizes)]
        groups += [[place for place in failed if self.size(place) == size] for size, _ in sorted(sizes)]
        for group in groups:
            if len(group) > 1 and not any(place in known for known in found for place in group) and self.holds([group]):
                found.append(group)
        graph = self.made(found)
        if graph is not None:
            return graph
        chosen: list[list[tuple[str, int]]] = []
        for bounded in (False, True):
            for group in found:
                # In full: a size that is rounded, as by pooling, may be as good one larger, and not twice as large.
                larger = None if group in chosen else self.made([*chosen, group], bounded=bounded)
                if larger is not None:
                    chosen, graph = [*chosen, group], larger
        return self.generalising([]).graph() if graph is None else graph

    def size(self, place: tuple[str, int]) -> int:
        name, dim = place
        size: int = self.tensors[name].shape[dim]
        return size

    def holds(self, groups: list[list[tuple[str, int]]]) -> bool:
        """Whether there is a graph in which the dimensions of each group are of one size, and that is any."""
        return any(self.made(groups, few=True, bounded=bounded) is not None for bounded in (False, True))

    def made(self, groups: list[list[tuple[str, int]]], few: bool = False, bounded: bool = False) -> Graph | None:
        try:
            return self.generalising(groups, bounded).graph(few)
        except Exception:
            return None

    def generalising(self, groups: list[list[tuple[str, int]]], bounded: bool = False) -> _Generalising:
        dims = {name: dict(sizes) for name, sizes in self.dims.items()}
        for group in groups:
            name, dim = group[0]
            symbol = re.sub(r"\W+", "_", f"{name}_{dim}", flags=re.ASCII)
            for name, dim in group:
                dims.setdefault(name, {})[dim] = symbol
        found = _Generalising(self.function, self.given, dims, self.ranges, bounded=bounded)
        if all(size > 1 for size in found.example.values()):
            found.captures.append((self.first.captures[0][0], found.example))
        return found


def _differ(found: Iterable[Any], sizes: Mapping[str, int]) -> bool:
    """Whether expressions of symbols of inputs differ for *sizes*."""
    known = [item for item in found if names_of(item) <= sizes.keys()]
    return len({evaluated(item, sizes) for item in known}) > 1


def _resized(tensor: Tensor, shape: Mapping[int, int]) -> Tensor:
    """A tensor as *tensor* with other sizes, of the same data again and again; it lies in memory in the same order."""
    if all(tensor.shape[dim] == size for dim, size in shape.items()) and _is_dense(tensor):
        return tensor
    order = sorted(range(tensor.dim()), key=lambda dim: -tensor.stride(dim))
    with no_grad():
        new = tensor.detach()
        for dim, size in shape.items():
            old = max(tensor.shape[dim], 1)
            index = [at % old for at in range(size)]
            new = new.index_select(dim, _indices(index, tensor))
        new = new.permute(*order).clone().permute(*[order.index(dim) for dim in range(tensor.dim())])
    return new.requires_grad_() if tensor.requires_grad else new


def _indices(index: list[int], like: Tensor) -> Tensor:
    from ..functions import tensor

    made: Tensor = tensor(index, device=like.device)
    return made.long() if not index else made


def _is_dense(tensor: Tensor) -> bool:
    layout = Layout(tuple(tensor.shape), tensor.stride(), 0)
    return dense_strides(layout.shape, layout) is not None


class _Kept:
    """What a captured function changes, kept as it is: tensors that it writes to, gradients, generators, and what its
    module's attributes are.
    """

    def __init__(self, graph: Graph, function: Any) -> None:
        module = getattr(function, "__self__", function)
        self.modules = list(module.modules()) if hasattr(module, "named_modules") else []
        written = graph.after
        self.tensors = [one.tensor for one in graph.constants if one.value.storage.number in written]
        self.leaves = [one.tensor for one in graph.constants if one.tensor.requires_grad and one.tensor.is_leaf]
        self.generators = [generator for generator, _ in graph.ends]

    def __enter__(self) -> None:
        self.attributes = [dict(vars(module)) for module in self.modules]
        grads = [leaf.grad for leaf in self.leaves]
        held = [*self.tensors, *[grad for grad in grads if grad is not None]]
        with no_grad():
            self.contents = [(tensor, tensor.detach().clone()) for tensor in held]
        self.grads = grads
        self.places = [generator.drawn.advance(0) for generator in self.generators]

    def __exit__(self, *error: Any) -> None:
        for module, attributes in zip(self.modules, self.attributes, strict=True):
            vars(module).clear()
            vars(module).update(attributes)
        with no_grad():
            for tensor, content in self.contents:
                tensor.detach().copy_(content)
        for leaf, grad in zip(self.leaves, self.grads, strict=True):
            leaf.grad = grad
        for generator, (seed, offset) in zip(self.generators, self.places, strict=True):
            generator.drawn.move(seed, offset)


def _hold_against(graph: Graph, captured: Graph, sizes: Mapping[str, int]) -> None:
    """Raise if *graph* is not what was *captured* at *sizes*."""
    try:
        found = fixed(graph, sizes)
    except ShapeError as error:
        raise BakedSize(error.message, fix=error.fix, notes=error.lines) from error
    for value, other in zip(found.values, captured.values, strict=True):
        if value.layout != other.layout:
            raise BakedSize(
                f"{graph.name}: for {sizes_in_words(sizes)} %{value.name} is {tuple(other.layout)}, "
                f"not {tuple(value.layout)} as for other sizes",
                fix="make it contiguous(), or leave the dimension fixed by which the function decides",
            )
