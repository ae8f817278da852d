"""Graphs for all sizes: `generalise` captures a call several times and finds what the captures have in common.

The example is captured first, then calls in which one size is another, for each symbol, then some in which all are. All
must make the same calls; the numbers that differ between them become expressions (unifying.py, fitting.py), and what
finds none is refused by name. Then the graph is held against each capture.

All but the first are captures without data (twins.py), the last of them at large sizes. A function that cannot be
called so, or does something else then, is called with the example's data, repeated or cut, so that indices stay valid.

A number that is divided and rounded is captured at more sizes, which its expression must predict. The smallest sizes,
0, 1 and 2, are captured too, as far as the range has them, and the graph held against them: where it does not hold,
the range begins behind, at the least size for which it does, or the graph is refused if the range was asked for.

Known limit: a decision that the program makes for sizes between those captured, or beyond, is not seen. The ends of a
symbol's range are captured, if it has any, so a range says up to where a graph holds.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace as exchanged
from typing import Any, Literal, TypeAlias

from ..base.state import warn_user
from ..errors import ArgumentError, ArgumentTypeError, BakedSize, PolyadError
from ..graph.expressions import Expression, SizeRef, evaluated, names_of, solved
from ..graph.graph import Graph
from ..graph.parsing import is_free
from ..graph.sizes import sizes_in_words
from ..graph.structure import leaves_of, replace
from ..history.grad_mode import no_grad
from ..random.generator import Generator
from ..tensor import Tensor
from .calls import Calls, Given, argument_lengths, called_ops, only_shows
from .capture import BakedValueWarning, Capture
from .holding import are_close, check_prediction, hold_against
from .resizing import resized, varied
from .twins import ASSUMED, Twins
from .unifying import Dims, Ranges, Unifying

__all__ = ["generalise"]

LARGEST_END = 4096
"""The end of a range is captured if it is no more than this, or than eight times the example."""
MOST_CAPTURES = 24

Group: TypeAlias = "list[tuple[str, int]]"


def generalise(
    function: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dims: Dims | Literal["auto"],
    ranges: Ranges | None = None,
    mode: Callable[..., Capture] = Capture,
) -> Graph:
    """The graph of *function* for all sizes of *dims*, which says by the names of tensors which of their dimensions are
    what: a name, the same for sizes that are the same, or an expression of names; or ``...`` for a dimension that is to
    be fixed if it has to. "auto" says this of all, and a warning tells of those by which the function decides.

    *ranges* has the least and the largest size of a name, None for no end. The function is called several times, with
    the example and with what is made of it; tensors that it writes to are as after one call. See `capture` for what a
    graph is, and `Capture` for what makes the *mode* that records.

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
    calls = Calls(function, (args, dict(kwargs or {})), mode)
    auto = isinstance(dims, str)
    if isinstance(dims, str):
        dims = {name: dict.fromkeys(range(tensor.dim()), ...) for name, tensor in calls.tensors.items()}
    if any(item is ... for sizes in dims.values() for item in sizes.values()):
        trying = _Trying(calls, dims, dict(ranges or {}))
        graph = trying.graph()
        if auto:
            trying.warn(graph)
        return graph
    return _Generalising(calls, dims, dict(ranges or {})).graph()


class _Generalising:
    """One function, with an example.

    Attributes:
        symbols: by name: the tensor's name and the dimension from which each is read, and the size in the example.
        captures: the graphs so far, each with the sizes for which it was captured.
        twins: what stood for tensors in captures without data.
        data: whether all captures are with data.
        apart: whether the example's sizes of 1 are left out: much is done otherwise for one element.
        bounded: whether the function may fail for larger sizes, as one does that cuts a table of limited length:
            smaller ones are captured.
        follows: for a symbol whose size is 1 where another's, or a number, is broadcast: that.
    """

    def __init__(
        self,
        calls: Calls,
        dims: Dims,
        ranges: Ranges,
        bounded: bool = False,
        follows: Mapping[str, str | int] | None = None,
    ) -> None:
        self.calls, self.ranges = calls, ranges
        self.bounded = bounded
        tensors = calls.tensors
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
        known = {*example, *[of for of in (follows or {}).values() if isinstance(of, int)]}
        self.follows = {name: of for name, of in (follows or {}).items() if name in example and of in known}
        self.captures: list[tuple[Graph, dict[str, int]]] = []
        self.twins: list[Twins] = []
        self.data = self.apart = False

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
        has_one = 1 in self.example.values() and not self.follows
        for self.data in (False, True):
            for self.apart in (False, True) if has_one else (False,):
                self.captures, self.twins = [], []
                try:
                    graph = self.made(few)
                    if self.apart and not few:
                        self.compare(graph)
                    return graph
                except Exception as error:
                    failed = error
            if not self.data and self.calls.works_without_data():
                break
        raise failed

    def made(self, few: bool) -> Graph:
        """The graph, by captures that are not yet there."""
        rows = self.rows()
        for sizes in rows[: len(self.example) + 1] if few else rows:
            self.capture(sizes)
        if len(rows) == 1 and not self.data:
            self.look_for_data()
        for large in [] if self.data or few else self.large():
            if large in rows:
                continue
            try:
                self.capture(large)
            except BakedSize:
                if not self.bounded:
                    raise
        by_data = not few and any(twins.sizes for twins in self.twins)
        while by_data and len(self.twins) < len(ASSUMED):
            self.capture(self.example)
        unifying = self.unifying()
        graph = unifying.graph()
        if by_data:
            self.check_empty(graph)
        if few:
            return graph
        for find in (self.spread, self.steps):
            for sizes in find(unifying.fitting.doubts):
                self.capture(sizes)
            if unifying.fitting.doubts:
                unifying = self.unifying()
                graph = unifying.graph()
        while (more := self.deciding(unifying.fitting.doubts)) is not None:
            self.capture(more)
            unifying = self.unifying()
            graph = unifying.graph()
        for at, (one, sizes) in enumerate(self.captures):
            found = {symbol.name: symbol.captured[at] for symbol in graph.symbols if symbol.data}
            hold_against(graph, one, {**sizes, **found})
        for at, symbol in enumerate(graph.symbols):
            if symbol.name in self.symbols and symbol.name not in self.follows:
                graph.symbols[at] = exchanged(symbol, least=self.least(graph, symbol.name))
        return graph

    # ------------------------------------------------------------------------------------------------ more captures

    def _between(self, name: str) -> tuple[int, int]:
        """The least and the largest size of a symbol that is captured, and more than 1."""
        sizes = [row[name] for _, row in self.captures if row[name] > 1] or [2]
        return min(sizes), max(sizes)

    def new(self, wanted: Mapping[str, list[int]]) -> list[dict[str, int]]:
        """Rows of sizes that are not captured: those *wanted* of each symbol, in another order for each."""
        known = [row for _, row in self.captures]
        found = []
        for at in range(max(map(len, wanted.values()), default=0)):
            row = self.followed(
                {
                    name: sizes[(at + 2 * k) % len(sizes)] if sizes else self.example[name]
                    for k, (name, sizes) in enumerate(wanted.items())
                }
            )
            if row not in known and row not in found:
                found.append(row)
        return found

    def spread(self, doubts: list[list[Any]]) -> list[dict[str, int]]:
        """Sizes that lie between those captured, odd ones and even ones, near the ends and near powers of two."""
        wanted: dict[str, list[int]] = {}
        for name, size in self.example.items() if doubts else ():
            least, most = self._between(name)
            powers = [(1 << k) + more for k in range(1, most.bit_length()) for more in (-1, 0, 1)]
            inside = [one for one in sorted({*powers, size + 2, size + 3}) if least < one < most]
            near = [one for one in inside if one <= 4 * size + 1][-6:]
            far = [one for one in inside if one > 4 * size + 1]
            wanted[name] = [*dict.fromkeys((*near[1::2], *near[::2], *far[:: max(1, len(far) // 3)][:4], most - 1))]
            wanted[name] = [one for one in wanted[name] if least < one < most]
        return self.new(wanted)

    def steps(self, doubts: list[list[Any]]) -> list[dict[str, int]]:
        """Sizes before and behind which what fits so far changes."""
        wanted: dict[str, list[int]] = {name: [] for name in self.example}
        for item in [found[0] for found in doubts if names_of(found[0]) <= self.example.keys()]:
            for name in names_of(item):
                least, most = self._between(name)
                values = [evaluated(item, {**self.example, name: size}) for size in range(least, min(most, 1024) + 1)]
                at = [least + k for k in range(1, len(values)) if values[k] != values[k - 1]]
                middle = len(at) // 2
                wanted[name] += [size for one in (*at[:1], *at[middle : middle + 1]) for size in (one - 1, one)]
        return self.new(wanted) if any(wanted.values()) else []

    def least(self, graph: Graph, name: str) -> int:
        """The least size from which *graph* holds: of the range, or more if that has no least size of its own."""
        asked = self.ranges.get(name, (0, None))[0]
        known = sorted({self.example[name], *[row[name] for _, row in self.captures]})
        for size in (2, 1, 0):
            if size < asked or size in known or size > max(known):
                continue
            failed = self.failure(graph, name, size)
            if failed is None:
                continue
            above = min(one for one in known if one > size)
            while above - size > 1:
                middle = (size + above) // 2
                if self.failure(graph, name, middle) is None:
                    above = middle
                else:
                    size = middle
            if asked:
                raise failed
            return above
        return asked

    def failure(self, graph: Graph, name: str, size: int) -> BakedSize | None:
        """Why *graph* does not hold where one symbol has another size; None if it does."""
        sizes = self.followed({**self.captures[0][1], name: size})
        count = len(self.captures), len(self.twins)
        try:
            self.capture(sizes)
            check_prediction(graph, self.captures[-1][0], sizes)
        except BakedSize as error:
            made = self.captures[-1][0] if len(self.captures) > count[0] else None
            if made is None or not self.same_but_shown(graph, made):
                return error
            try:
                self.compare(graph, sizes)
            except Exception:
                return error
        finally:
            del self.captures[count[0] :], self.twins[count[1] :]
        return None

    @staticmethod
    def same_but_shown(graph: Graph, captured: Graph) -> bool:
        """Whether two graphs have the same calls, but for those that show or copy, and draw no numbers."""
        one, other = [[node.name for node in nodes if not only_shows(node)] for nodes in (graph, captured)]
        return one == other and not any(leaves_of(node.args, Generator) for node in graph)

    def look_for_data(self) -> None:
        """Capture a function without symbols again, without data, and keep that if sizes follow from data."""
        with suppress(BakedSize):
            self.capture(self.example)
            if not self.twins[-1].sizes:
                self.twins.pop()
                self.captures.pop()

    def check_empty(self, graph: Graph) -> None:
        """Raise if the function does something else where nothing is found: it guards against that."""
        try:
            empty, _ = self.calls.without_data(self.calls.given, 0)
        except Exception:
            return
        found, wanted = [[node.name for node in one if not only_shows(node)] for one in (empty, graph)]
        if found != wanted:
            raise BakedSize(
                f"{graph.name}: it does something else where a size that follows from data, or a number it reads, is 0",
                fix="make the same calls whatever the data, or decide with polyad.cond",
            )

    def unifying(self) -> Unifying:
        return Unifying(self.captures, self.twins, self.symbols, self.dims, self.ranges)

    def large(self) -> list[dict[str, int]]:
        """Sizes that would take too much time and memory with data; none if the captures differ as it is. All symbols
        together must still be sizes of a tensor; a call that is repeated over time is so in Python, too. Those of
        several symbols lie far apart, and once in the other order, so that what follows one symbol fits no other.
        """
        first, others = self.captures[0][0], [graph for graph, _ in self.captures[1:]]
        if any(called_ops(other) != called_ops(first) for other in others):
            return []
        repeats = any(argument_lengths(other) != argument_lengths(first) for other in others)
        largest = 64 if repeats else int(2 ** (50 / (len(self.example) + 2))) // 2 * 2
        sizes = [int(largest * 0.83**at) // 2 * 2 + 1 for at in range(len(self.example))]
        found = []
        for order in (sizes,) if len(sizes) == 1 else (sizes, sizes[::-1]):
            limited = {}
            for name, size in zip(self.example, order, strict=True):
                most = self.ranges.get(name, (0, None))[1]
                limited[name] = size if most is None else min(most, size)
            found.append(self.followed(limited))
        return found

    def rows(self) -> list[dict[str, int]]:
        """The sizes to capture: of the example, with another size of each symbol, and with others of all."""
        choices = {
            name: self._choices(name, max(size, 2) if self.apart else size) for name, size in self.example.items()
        }
        first = {name: found[0] for name, found in choices.items()}
        rows = [first]
        rows += [{**first, name: found[1]} for name, found in choices.items() if len(found) > 1]
        for at in range(2, max(map(len, choices.values()), default=0)):
            rows.append(self.followed({name: found[min(at, len(found) - 1)] for name, found in choices.items()}))
        return rows

    def followed(self, sizes: dict[str, int]) -> dict[str, int]:
        """Sizes in which those that follow others do."""
        others = {name: sizes.get(of, of) if isinstance(of, str) else of for name, of in self.follows.items()}
        return {**sizes, **others}  # type: ignore[dict-item]

    def _choices(self, name: str, size: int) -> list[int]:
        """Sizes of a symbol: the example's; others; the ends of its range."""
        if name in self.follows:
            of = self.follows[name]
            other = self.example[of] if isinstance(of, str) else of
            return [size, 2 if other == size else other]
        least, most = self.ranges.get(name, (0, None))
        first = size if size or most == 0 else 2
        largest = max(first * 2 + 1, 5) if most is None else most
        wanted = [first + 1, first * 2 + 1, first + 2, first - 1, first - 2]
        if self.bounded:
            wanted = [*dict.fromkeys((first - 1, first // 2 + 1, first - 2)), first + 1, first + 2]
        others = [one for one in wanted if max(least, 2) <= one <= largest and one != first]
        found = [first, *others[: 2 if self.data or self.bounded else 1]]  # else there are large ones
        ends = [one for one in (least, most) if one is not None and 2 <= one <= max(LARGEST_END, 8 * size)]
        return [*found, *[one for one in ends if one not in found]]

    def compare(self, graph: Graph, sizes: Mapping[str, int] | None = None) -> None:
        """Raise if *graph* does not give what the function gives for the example, or for this cut to *sizes*."""
        calls = self.calls
        given = calls.given if sizes is None else self._inputs(sizes, data=True)
        results = []
        for called in (calls.function, graph):
            with calls.restored(), warnings.catch_warnings(), no_grad():
                warnings.simplefilter("ignore")
                args, kwargs = replace(given, Tensor, (lambda one: one.detach().clone()) if sizes is None else varied)
                results.append(leaves_of(called(*args, **kwargs), Tensor))
        drawn = any(leaves_of(node.args, Generator) for node in graph)
        for wanted, found in zip(*results, strict=True):
            if wanted.shape != found.shape or not (drawn or are_close(wanted, found)):
                at = sizes_in_words(sizes or self.example)
                raise BakedSize(
                    f"{graph.name}: for {at} it gives something else than for other sizes",
                    fix="pass an example without sizes of 1, or leave the dimension fixed",
                )

    def deciding(self, doubts: list[list[Any]]) -> dict[str, int] | None:
        """Sizes for which expressions that fit alike so far differ; None if there are none."""
        if len(self.captures) >= MOST_CAPTURES:
            return None
        for found in doubts:
            for more in range(1, 257):
                sizes = self.followed({name: size + more for name, size in self.example.items()})
                inside = all(self._within(name, size) for name, size in sizes.items())
                if inside and _differ(found, sizes):
                    return sizes
        return None

    def _within(self, name: str, size: int) -> bool:
        least, most = self.ranges.get(name, (0, None))
        return least <= size and (most is None or size <= most)

    def capture(self, sizes: dict[str, int]) -> None:
        """Capture the function at *sizes*."""
        calls = self.calls
        if sizes == self.example and not self.captures:
            self.captures.append((calls.first, sizes))
            return
        try:
            if self.captures and not self.data:
                graph, twins = calls.without_data(self._inputs(sizes), len(self.twins) + 1)
                self.twins.append(twins)
            else:
                with calls.restored(), warnings.catch_warnings():
                    warnings.simplefilter("ignore", BakedValueWarning)
                    graph = calls.with_data(self._inputs(sizes))
        except Exception as error:
            raise self._failed(sizes, error) from error
        self.captures.append((graph, sizes))

    def _failed(self, sizes: dict[str, int], error: Exception) -> BakedSize:
        said = error.message if isinstance(error, PolyadError) else f"{type(error).__name__}: {error}"
        runs = f"{self.calls.first.name}: it runs for {sizes_in_words(self.example)}"
        return BakedSize(
            f"{runs}, and fails for {sizes_in_words(sizes)}: {said}",
            fix="give sizes that must agree one name, give a range (max= of a Dim) up to where it runs, write a "
            "multiple as an expression, or leave the dimension fixed",
        )

    def _inputs(self, sizes: Mapping[str, int], data: bool = False) -> Given:
        made: dict[int, Tensor] = {}

        def new(tensor: Tensor) -> Tensor:
            dims = self.dims.get(self.calls.names[id(tensor)], {})
            if id(tensor) not in made:
                shape = {dim: evaluated(item, sizes) for dim, item in dims.items()}
                with_data = data or self.data or not self.captures
                source = tensor if with_data else tensor.detach().to("meta").requires_grad_(tensor.requires_grad)
                made[id(tensor)] = resized(source, shape) if dims else source
            return made[id(tensor)]

        return replace(self.calls.given, Tensor, new)  # type: ignore[no-any-return]


class _Trying:
    """A function of which some dimensions may be fixed, if the graph does not hold for others: marked ``...``.

    Each is tried alone, then, of those that fail, those of one size together, since they may have to agree; then those
    of size 1 with another, to which they may be broadcast.
    """

    def __init__(self, calls: Calls, dims: Dims, ranges: Ranges) -> None:
        self.calls, self.ranges = calls, ranges
        self.dims = {
            name: {dim: item for dim, item in sizes.items() if item is not ...} for name, sizes in dims.items()
        }
        self.open = [
            (name, dim)
            for name, sizes in dims.items()
            for dim, item in sizes.items()
            if item is ... and name in calls.tensors and calls.tensors[name].shape[dim]
        ]
        self.follows: dict[str, str | int] = {}
        self.reasons: dict[tuple[str, int], BakedSize] = {}

    def warn(self, graph: Graph) -> None:
        """Tell of dimensions that are fixed though the function takes other sizes: it does something else then."""
        fixed = {
            (value.name, dim) for value in graph.inputs for dim, size in enumerate(value.sizes) if type(size) is int
        }
        for (name, dim), error in self.reasons.items():
            if (name, dim) in fixed:
                line = f" ({error.lines['line']})" if "line" in error.lines else ""
                kept = f"{graph.name}: dim {dim} of {name} stays {self.size((name, dim))}"
                warn_user(
                    f"{kept}, since the function does something else for other sizes: {error.message}{line}",
                    BakedValueWarning,
                )

    def graph(self) -> Graph:
        found = [alone for group in self.ones() for alone in self.apart(group)]
        found += [[place] for place in self.open if place not in _places_of(found) and self.holds([[place]])]
        failed = [place for place in self.open if place not in _places_of(found)]
        sizes = {(self.size(place), place[1]) for place in failed}
        groups = [[place for place in failed if (self.size(place), place[1]) == one] for one in sorted(sizes)]
        groups += [[place for place in failed if self.size(place) == size] for size, _ in sorted(sizes)]
        for group in groups:
            if len(group) > 1 and not any(place in known for known in found for place in group) and self.holds([group]):
                found.append(group)
        graph = self.made(found)
        chosen: list[Group] = found if graph is not None else []
        for bounded in (False, True) if graph is None else ():
            for group in found:
                # In full: a size that is rounded, as by pooling, may be as good one larger, and not twice as large.
                larger = None if group in chosen else self.made([*chosen, group], bounded=bounded)
                if larger is not None:
                    chosen, graph = [*chosen, group], larger
        graph = self.with_broadcast(chosen, graph)
        return self.generalising([]).graph() if graph is None else graph

    def ones(self) -> list[Group]:
        """The dimensions of size 1 of several tensors at one place, such as a batch's, which may be one size."""
        places = {dim: [one for one in self.open if one[1] == dim and self.size(one) == 1] for _, dim in self.open}
        return [group for group in places.values() if len(group) > 1]

    def apart(self, group: list[tuple[str, int]]) -> list[Group]:
        """The sizes that dimensions of size 1 are: one each, if need be as large as the first or broadcast to it;
        or all the same; or none.
        """
        single, first = [[place] for place in group], _symbol(group)
        if not all(self.holds([one]) for one in single):
            return [group] if self.holds([group]) else []
        if self.made(single) is None:
            self.follows.update({_symbol(one): first for one in single[1:]})
            if self.made(single) is None:
                self.follows = {name: of for name, of in self.follows.items() if of != first}
                return [group] if self.holds([group]) else []
        return single

    def with_broadcast(self, chosen: list[Group], graph: Graph | None) -> Graph | None:
        """The graph in which sizes of 1 that are left may also be those to which they are broadcast."""
        for place in self.open:
            if self.size(place) != 1 or place in _places_of(chosen):
                continue
            own, others = _symbol([place]), {_symbol(group): self.size(group[0]) for group in chosen}
            sizes = {size for tensor in self.calls.tensors.values() for size in tensor.shape if size > 1}
            broadcast: list[str | int] = [*[name for name, size in others.items() if size > 1], *sorted(sizes)]
            for other in broadcast:
                self.follows[own] = other
                larger = self.made([*chosen, [place]])
                if larger is not None:
                    chosen, graph = [*chosen, [place]], larger
                    break
                del self.follows[own]
        return graph

    def size(self, place: tuple[str, int]) -> int:
        name, dim = place
        size: int = self.calls.tensors[name].shape[dim]
        return size

    def holds(self, groups: list[Group]) -> bool:
        """Whether there is a graph in which the dimensions of each group are of one size, and that is any."""
        return any(self.made(groups, few=True, bounded=bounded) is not None for bounded in (False, True))

    def made(self, groups: list[Group], few: bool = False, bounded: bool = False) -> Graph | None:
        try:
            return self.generalising(groups, bounded).graph(few)
        except Exception as error:
            if len(groups) == 1 and isinstance(error, BakedSize) and error.__cause__ is None:
                self.reasons.update(dict.fromkeys(groups[0], error))
            return None

    def generalising(self, groups: list[Group], bounded: bool = False) -> _Generalising:
        dims = {name: dict(sizes) for name, sizes in self.dims.items()}
        for group in groups:
            for name, dim in group:
                dims.setdefault(name, {})[dim] = _symbol(group)
        return _Generalising(self.calls, dims, self.ranges, bounded, self.follows)


def _places_of(groups: Iterable[Group]) -> list[tuple[str, int]]:
    return [place for group in groups for place in group]


def _symbol(group: Group) -> str:
    """The name of the size of a group: after its first dimension."""
    name, dim = group[0]
    return re.sub(r"\W+", "_", f"{name}_{dim}", flags=re.ASCII)


def _differ(found: Iterable[Any], sizes: Mapping[str, int]) -> bool:
    """Whether expressions of symbols of inputs differ for *sizes*."""
    known = [item for item in found if names_of(item) <= sizes.keys()]
    return len({evaluated(item, sizes) for item in known}) > 1
