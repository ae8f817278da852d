"""Dimensions of inputs that a traced program holds for one size of: which of them the program has to check.

A size that the graph holds fixed may be one for which the program fails by itself, as a linear layer does for another
number of features, or one by which nothing is decided after all. So the program is run for other sizes, and what it
gives is compared with what the function gives: where it gives something else, it must not be called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

from polyad.graph import Graph
from polyad.graph.structure import Ref, leaves_of, replace
from polyad.history.grad_mode import no_grad
from polyad.ops.creation.factories import arange
from polyad.random.generator import Generator
from polyad.tensor import Tensor
from polyad.testing import assert_close

__all__ = ["Fixed", "fixed_dims"]

Given: TypeAlias = "tuple[tuple[Any, ...], Mapping[str, Any]]"


class Fixed(NamedTuple):
    """A dimension of the argument's value *number*, for whose *size* alone the program does what the function does."""

    number: int
    dim: int
    size: int


def fixed_dims(
    function: Callable[..., Any],
    program: Callable[..., Any],
    given: Given,
    graph: Graph,
    undone: Callable[[], AbstractContextManager[None]],
) -> list[Fixed]:
    """The dimensions of the inputs of *graph* in which *program* must not be given another size.

    Args:
        given: the example's arguments.
        undone: makes a block after which modules and generators are as before.
    """
    numbers = [ref.number for ref in leaves_of(graph.arguments, Ref)]
    places = [
        Fixed(number, dim, size)
        for number in numbers
        for dim, size in enumerate(graph.values[number].sizes)
        if type(size) is int
    ]
    drawn = any(leaves_of(node.args, Generator) for node in graph)
    found: list[Fixed] = []
    for group in _groups(places):
        if found and not set(group).isdisjoint(found):
            continue
        for times, more in ((1, 1), (2, 0), (1, -1)):
            sizes = {(one.number, one.dim): times * one.size + more for one in group}
            if all(size >= 2 for size in sizes.values()):
                with undone(), no_grad(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if _differs(function, program, _resized(given, numbers, sizes), drawn):
                        found += group
                        break
    return found


def _groups(places: list[Fixed]) -> Iterator[list[Fixed]]:
    """Each dimension; then those of one size, which may have to agree, at one place and anywhere; then all."""
    yield from ([place] for place in places)
    seen: list[list[Fixed]] = []
    for kinds in ([one[1:] for one in places], [one.size for one in places], [None] * len(places)):
        for wanted in dict.fromkeys(kinds):
            group = [one for one, kind in zip(places, kinds, strict=True) if kind == wanted]
            if len(group) > 1 and group not in seen:
                seen.append(group)
                yield group


def _resized(given: Given, numbers: list[int], sizes: Mapping[tuple[int, int], int]) -> Callable[[], Given]:
    """What makes the arguments with other *sizes*, of the same data again and again."""

    def make() -> Given:
        left = iter(numbers)

        def new(tensor: Tensor) -> Tensor:
            number, tensor = next(left), tensor.detach().clone()
            for dim, old in enumerate(tensor.shape):
                size = sizes.get((number, dim), old)
                if not old:
                    tensor = tensor.new_zeros((*tensor.shape[:dim], size, *tensor.shape[dim + 1 :]))
                elif size != old:
                    tensor = tensor.index_select(dim, arange(size, device=tensor.device) % old)
            return tensor

        made: Given = replace(given, Tensor, new)
        return made

    return make


def _differs(function: Callable[..., Any], program: Callable[..., Any], make: Callable[[], Given], drawn: bool) -> bool:
    """Whether *program* gives something for arguments for which *function* gives something else, or fails.

    What it writes into the arguments counts too.
    """
    try:
        args, kwargs = make()
        found = leaves_of((program(*args, **kwargs), args, kwargs), Tensor)
    except Exception:
        return False
    try:
        args, kwargs = make()
        wanted = leaves_of((function(*args, **kwargs), args, kwargs), Tensor)
    except Exception:
        return True
    if [one.shape for one in found] != [one.shape for one in wanted]:
        return True
    try:
        for one, other in zip(found, wanted, strict=True) if not drawn else ():
            assert_close(one, other, equal_nan=True)
    except AssertionError:
        return True
    return False
