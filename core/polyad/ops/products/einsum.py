"""Einstein summation: `einsum`, and its step, the contraction of two tensors over labelled dimensions.

A call is planned once for its labels and shapes, and the plan is kept: each operand is prepared (diagonals of repeated
labels, sizes of 1 that broadcast dropped, labels that nobody else has summed), then operands are contracted two at a
time, the order chosen by the number of multiplications: the best order for up to `EXHAUSTIVE` operands, found over all
their subsets, and the cheapest next step beyond. A contraction is a ``gemm``, or a product of elements where
nothing is summed; transposes go to ``gemm`` as flags, so that operands are copied only where their dimensions
interleave.

Labels are ints inside this module: letters, numbers of the sublist format, and negative ones for the dimensions of an
ellipsis.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...base.dtypes import INTEGER, DType, int64, promote_types
from ...base.shapes_and_strides import Shape
from ...dispatch.op import function
from ...errors import ArgumentError, ArgumentTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import _mul
from ..reductions.sums import _sum
from ..shaping.diagonals import _diagonal
from ..shaping.reshape import _permute, _reshape, _squeeze
from .matmul import _gemm

Labels = tuple[int, ...]

EXHAUSTIVE = 7
"""Up to so many operands all orders of contraction are weighed; their subsets number 3 to this power."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""The letters for the numbers 0 to 51 of the sublist format, in order."""

_DOTS = -1
"""In parsed labels: the place of an ellipsis."""


class Preparation(NamedTuple):
    """What is done to an operand by itself: squeeze *ones*, take *diagonals* (pairs of dimensions, each diagonal
    becoming the last dimension), sum over *sums*.
    """

    ones: tuple[int, ...]
    diagonals: tuple[tuple[int, int], ...]
    sums: tuple[int, ...]


class Contraction(NamedTuple):
    """How two tensors are contracted: they are permuted and reshaped, multiplied, and the result is reshaped.

    None where there is nothing to do. *transposes* are the flags of ``gemm``; None where elements are multiplied.
    """

    left: int
    right: int
    permute_left: Labels | None
    shape_left: Shape | None
    permute_right: Labels | None
    shape_right: Shape | None
    transposes: tuple[bool, bool] | None
    shape: Shape | None


class Program(NamedTuple):
    """A planned call: preparations by operand, contractions (their operands are positions; each result is appended),
    and the last permutation.
    """

    prepare: tuple[Preparation | None, ...]
    contract: tuple[Contraction, ...]
    permute: Labels | None


# ---------------------------------------------------------------------------------------------------- parsing


def _failed(what: str, fix: str) -> ShapeError:
    return ShapeError(f"einsum: {what}", fix=fix)


def _term(text: str, where: str) -> Labels:
    """The labels of an operand's subscripts, `_DOTS` for the ellipsis."""
    labels: list[int] = []
    position = 0
    while position < len(text):
        letter = text[position]
        if letter == ".":
            if text[position : position + 3] != "..." or _DOTS in labels:
                raise _failed(
                    f"the '.' in {where} {text!r} belongs to no ellipsis, or to a second ellipsis", "write one ..."
                )
            labels.append(_DOTS)
            position += 3
            continue
        if letter not in LETTERS:
            raise _failed(f"{letter!r} in {where} {text!r} is no subscript", "subscripts are letters a-z and A-Z")
        labels.append(ord(letter))
        position += 1
    return tuple(labels)


def _parse(equation: str) -> tuple[tuple[Labels, ...], Labels | None]:
    """The labels of each operand and of the output, which is None if the equation has no arrow."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = tuple([_term(text, f"operand {place}") for place, text in enumerate(inputs.split(","))])
    return terms, _term(output, "the output") if arrow else None


def _name(label: int) -> str:
    return chr(label) if label > 0 else "..."


def _numbered(subscripts: Any) -> Labels:
    """The labels of a list of the sublist format."""
    if not isinstance(subscripts, (list, tuple)):
        raise ArgumentTypeError(
            f"einsum: the subscripts are {safe_repr(subscripts)}, not a list",
            fix="give einsum(operand, [0, 1], ...), or an equation",
        )
    labels = []
    for subscript in subscripts:
        if subscript is Ellipsis:
            labels.append(_DOTS)
        elif isinstance(subscript, bool) or not isinstance(subscript, int):
            raise ArgumentTypeError(
                f"einsum: the subscript {safe_repr(subscript)} is no int", fix="number subscripts from 0 to 51"
            )
        elif not 0 <= subscript < len(LETTERS):
            raise ArgumentError(
                f"einsum: the subscript {subscript} is not in [0, 52)", fix="number subscripts from 0 to 51"
            )
        else:
            labels.append(ord(LETTERS[subscript]))
    if labels.count(_DOTS) > 1:
        raise _failed("a list of subscripts has more than one Ellipsis", "give one")
    return tuple(labels)


# ---------------------------------------------------------------------------------------------------- planning


def _with_dots(labels: Labels, ndim: int, operand: int) -> Labels:
    """The labels of each dimension, those of the ellipsis negative: -2 for its last, -3 for its last but one, ..."""
    named = len(labels) - (_DOTS in labels)
    if named > ndim or (named < ndim and _DOTS not in labels):
        raise _failed(
            f"operand {operand} has {ndim} dimensions, its subscripts {''.join(map(_name, labels))!r} are for {named}",
            "give a subscript for each dimension, or an ellipsis",
        )
    if _DOTS not in labels:
        return labels
    at = labels.index(_DOTS)
    return (*labels[:at], *range(-(ndim - named) - 1, -1), *labels[at + 1 :])


def _label_sizes(terms: Sequence[Labels], shapes: Sequence[Shape]) -> dict[int, int]:
    """The size of each label; sizes of 1 broadcast between operands."""
    sizes: dict[int, int] = {}
    for operand, (labels, shape) in enumerate(zip(terms, shapes, strict=True)):
        own: dict[int, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise _failed(
                    f"subscript {_name(label)} comes twice in operand {operand}, with sizes {own[label]} and {size}",
                    "a diagonal needs equal sizes",
                )
        for label, size in own.items():
            have = sizes.setdefault(label, size)
            if have == 1:
                sizes[label] = size
            elif size not in (1, have):
                raise _failed(
                    f"subscript {_name(label)} has size {size} in operand {operand}, but {have} before",
                    "sizes of one subscript must be equal or 1",
                )
    return sizes


def _output(terms: Sequence[Labels], given: Labels | None) -> Labels:
    dots = sorted({label for labels in terms for label in labels if label < 0})
    if given is None:
        every = [label for labels in terms for label in labels if label > 0]
        return (*dots, *sorted([label for label in set(every) if every.count(label) == 1]))
    seen = {label for labels in terms for label in labels}
    for label in given:
        if label != _DOTS and label not in seen:
            raise _failed(f"the output's subscript {_name(label)} is in no operand", "sum over it, or give it to one")
        if given.count(label) > 1:
            raise _failed(f"the output has subscript {_name(label)} more than once", "name each once")
    if _DOTS not in given:
        return given
    at = given.index(_DOTS)
    return (*given[:at], *dots, *given[at + 1 :])


@functools.lru_cache(maxsize=1024)
def _planned(equation: str, shapes: tuple[Shape, ...]) -> Program:
    terms, output = _parse(equation)
    if len(terms) != len(shapes):
        raise _failed(
            f"the equation {equation!r} is for {len(terms)} operands, {len(shapes)} are given",
            "separate the subscripts of operands by commas",
        )
    return plan(terms, output, shapes)


@functools.lru_cache(maxsize=1024)
def plan(given: tuple[Labels, ...], output: Labels | None, shapes: tuple[Shape, ...]) -> Program:
    """The program of contracting tensors of *shapes* whose dimensions are labelled *given*; see the module's docstring.

    Raises ShapeError where labels and shapes do not fit.
    """
    terms = [
        _with_dots(labels, len(shape), operand)
        for operand, (labels, shape) in enumerate(zip(given, shapes, strict=True))
    ]
    sizes = _label_sizes(terms, shapes)
    out = _output(terms, output)
    ones = [
        tuple([dim for dim, label in enumerate(labels) if shape[dim] == 1 != sizes[label]])
        for labels, shape in zip(terms, shapes, strict=True)
    ]
    terms = [
        tuple([label for dim, label in enumerate(labels) if dim not in dims])
        for labels, dims in zip(terms, ones, strict=True)
    ]
    prepared = [_prepare(at, terms, ones[at], out) for at in range(len(terms))]
    left = [labels for labels, _ in prepared]
    order = _order([frozenset(labels) for labels in left], sizes, frozenset(out))
    steps = []
    alive = set(range(len(left)))
    for a, b in order:
        alive -= {a, b}
        kept = set(out).union(*[left[place] for place in alive])
        step, labels = _contraction(a, b, left[a], left[b], kept, sizes, None if alive else out)
        alive.add(len(left))
        steps.append(step)
        left.append(labels)
    final = left[-1]
    permute = None if final == out else tuple([final.index(label) for label in out])
    return Program(tuple([preparation for _, preparation in prepared]), tuple(steps), permute)


def _prepare(at: int, terms: Sequence[Labels], ones: tuple[int, ...], out: Labels) -> tuple[Labels, Preparation | None]:
    """The labels of operand *at* after its preparation, which starts by squeezing *ones*; and the preparation."""
    labels = list(terms[at])
    diagonals = []
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            diagonals.append((first, second))
            labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
    others = set(out).union(*[terms[other] for other in range(len(terms)) if other != at])
    sums = tuple([dim for dim, label in enumerate(labels) if label not in others])
    labels = [label for label in labels if label in others]
    return tuple(labels), Preparation(ones, tuple(diagonals), sums) if ones or diagonals or sums else None


def _order(terms: list[frozenset[int]], sizes: dict[int, int], out: frozenset[int]) -> list[tuple[int, int]]:
    """The pairs to contract, by position; each result takes the next position."""
    count = len(terms)
    if count == 1:
        return []
    if count == 2:
        return [(0, 1)]
    return _best_order(terms, sizes, out) if count <= EXHAUSTIVE else _greedy_order(terms, sizes, out)


def _volume(labels: frozenset[int], sizes: dict[int, int]) -> int:
    return math.prod([sizes[label] for label in labels])


def _best_order(terms: list[frozenset[int]], sizes: dict[int, int], out: frozenset[int]) -> list[tuple[int, int]]:
    count = len(terms)
    full = (1 << count) - 1
    members = [[at for at in range(count) if subset >> at & 1] for subset in range(full + 1)]

    def kept(subset: int) -> frozenset[int]:
        """The labels that the contraction of *subset* has: those that somebody else needs."""
        if not subset & (subset - 1):
            return terms[members[subset][0]]
        inside = frozenset().union(*[terms[at] for at in members[subset]])
        return inside & out.union(*[terms[at] for at in members[full ^ subset]])

    labels = [frozenset[int]()] + [kept(subset) for subset in range(1, full + 1)]
    best: list[tuple[float, int]] = [(0.0, 0)] * (full + 1)
    for subset in range(1, full + 1):
        if not subset & (subset - 1):
            continue
        lowest = subset & -subset
        found: tuple[float, int] = (math.inf, 0)
        half = (subset - 1) & subset
        while half:
            if half & lowest:  # each split once
                rest = subset ^ half
                cost = best[half][0] + best[rest][0] + _volume(labels[half] | labels[rest], sizes)
                if cost < found[0]:
                    found = (cost, half)
            half = (half - 1) & subset
        best[subset] = found
    order: list[tuple[int, int]] = []

    def contract(subset: int) -> int:
        if not subset & (subset - 1):
            return members[subset][0]
        half = best[subset][1]
        order.append((contract(half), contract(subset ^ half)))
        return count + len(order) - 1

    contract(full)
    return order


def _greedy_order(terms: list[frozenset[int]], sizes: dict[int, int], out: frozenset[int]) -> list[tuple[int, int]]:
    """The step whose result is smallest against what it takes away, over and over; among equals the cheapest."""
    alive = dict(enumerate(terms))
    order = []
    while len(alive) > 1:
        uses: dict[int, int] = {}
        for labels in alive.values():
            for label in labels:
                uses[label] = uses.get(label, 0) + 1

        def score(pair: tuple[int, int], uses: dict[int, int] = uses) -> tuple[int, int]:
            a, b = alive[pair[0]], alive[pair[1]]
            gain = _volume(_rest(a, b, uses, out), sizes) - _volume(a, sizes) - _volume(b, sizes)
            return gain, _volume(a | b, sizes)

        places = sorted(alive)
        a, b = min(((a, b) for at, a in enumerate(places) for b in places[at + 1 :]), key=score)
        result = _rest(alive[a], alive[b], uses, out)
        order.append((a, b))
        del alive[a], alive[b]
        alive[len(terms) + len(order) - 1] = result
    return order


def _rest(a: frozenset[int], b: frozenset[int], uses: dict[int, int], out: frozenset[int]) -> frozenset[int]:
    return frozenset([label for label in a | b if label in out or uses[label] > (label in a) + (label in b)])


def _contraction(
    a: int, b: int, left: Labels, right: Labels, kept: set[int], sizes: dict[int, int], out: Labels | None
) -> tuple[Contraction, Labels]:
    """How the tensors at *a* and *b*, labelled *left* and *right*, are contracted, and the result's labels.

    *out* is the order of labels that is wanted, if this is the last step.
    """
    shared = [label for label in left if label in right]
    summed = [label for label in shared if label not in kept]
    if not summed:
        return _elementwise(a, b, left, right, sizes, out)
    batch = [label for label in shared if label in kept]
    if out is not None:
        # The free labels of the operand that comes first in the result are its rows.
        first = next((label for label in out if label not in batch), None)
        if first is not None and first in right:
            a, b, left, right = b, a, right, left
        batch.sort(key=out.index)
    rows = [label for label in left if label not in shared]
    columns = [label for label in right if label not in shared]

    def size(labels: list[int]) -> int:
        return math.prod([sizes[label] for label in labels])

    transposes = (bool(rows) and left[-1] in rows, bool(columns) and right[-1] not in columns)
    # The summed labels in the order in which the larger operand has them: the other operand may be copied.
    summed.sort(key=(left if size(rows) >= size(columns) else right).index)
    order_left = [*batch, *summed, *rows] if transposes[0] else [*batch, *rows, *summed]
    order_right = [*batch, *columns, *summed] if transposes[1] else [*batch, *summed, *columns]
    lead = [sizes[label] for label in batch]
    ends_left = (size(summed), size(rows)) if transposes[0] else (size(rows), size(summed))
    ends_right = (size(columns), size(summed)) if transposes[1] else (size(summed), size(columns))
    result = (*batch, *rows, *columns)
    result_shape = tuple([sizes[label] for label in result])
    step = Contraction(
        a,
        b,
        _permutation(left, order_left),
        None if len(rows) == len(summed) == 1 else (*lead, *ends_left),
        _permutation(right, order_right),
        None if len(columns) == len(summed) == 1 else (*lead, *ends_right),
        transposes,
        None if len(rows) == len(columns) == 1 else result_shape,
    )
    return step, result


def _elementwise(
    a: int, b: int, left: Labels, right: Labels, sizes: dict[int, int], out: Labels | None
) -> tuple[Contraction, Labels]:
    """A contraction that sums nothing: the operands are aligned and multiplied."""
    result = out if out is not None else (*left, *[label for label in right if label not in left])

    def aligned(labels: Labels) -> tuple[Labels | None, Shape | None]:
        order = [label for label in result if label in labels]
        # Ones are needed only behind the first label: broadcasting supplies those in front.
        behind = result[result.index(order[0]) :] if order else ()
        shape = tuple([sizes[label] if label in labels else 1 for label in behind])
        return _permutation(labels, order), None if len(shape) == len(order) else shape

    step = Contraction(a, b, *aligned(left), *aligned(right), None, None)
    return step, result


def _permutation(labels: Labels, order: Sequence[int]) -> Labels | None:
    dims = tuple([labels.index(label) for label in order])
    return None if dims == tuple(range(len(labels))) else dims


# ---------------------------------------------------------------------------------------------------- running


def run(program: Program, operands: Sequence[Tensor], dtype: DType) -> Tensor:
    """Contract *operands* as planned, in *dtype*: they are converted before anything is summed."""
    tensors: list[Any] = [
        given if todo is None else _prepared(given, todo)
        for given, todo in zip([operand.to(dtype) for operand in operands], program.prepare, strict=True)
    ]
    for step in program.contract:
        left, right = tensors[step.left], tensors[step.right]
        tensors[step.left] = tensors[step.right] = None  # frees intermediate results
        if step.permute_left is not None:
            left = _permute(left, step.permute_left)
        if step.shape_left is not None:
            left = _reshape(left, step.shape_left)
        if step.permute_right is not None:
            right = _permute(right, step.permute_right)
        if step.shape_right is not None:
            right = _reshape(right, step.shape_right)
        if step.transposes is None:
            result = _mul(left, right)
        else:
            result = _gemm(left, right, *step.transposes)
        if step.shape is not None:
            result = _reshape(result, step.shape)
        tensors.append(result)
    result = tensors[-1]
    return result if program.permute is None else _permute(result, program.permute)


def _dtype(program: Program, operands: Sequence[Tensor]) -> DType:
    """The dtype to compute in: the operands' common one, 0-d or not; int64 for integers if one is summed by itself."""
    dtype = operands[0]._type.dtype
    for operand in operands:
        if operand._type.dtype is not dtype:
            dtype = promote_types(dtype, operand._type.dtype)
    if dtype.category <= INTEGER and any(todo is not None and todo.sums for todo in program.prepare):
        return int64
    return dtype


def _prepared(operand: Tensor, todo: Preparation) -> Tensor:
    if todo.ones:
        operand = _squeeze(operand, todo.ones)
    for first, second in todo.diagonals:
        operand = _diagonal(operand, 0, first, second)
    return _sum(operand, todo.sums, False).to(operand._type.dtype) if todo.sums else operand


@function(method=False)
def einsum(*args: Any) -> Tensor:
    """Sums of products over labelled dimensions: ``einsum("ij,jk->ik", a, b)``, or ``einsum(a, [0, 1], b, [1, 2])``.

    Each operand's dimensions are named by letters; a letter that the output has not is summed over. A letter that comes
    twice in an operand takes the diagonal. ``...`` stands for any further dimensions, which broadcast. Without ``->``
    the output has the letters that come once, in alphabetical order. Several operands are contracted in the order that
    takes the fewest multiplications, in their common dtype; in int64 if they are integers and one of them is summed by
    itself. The result may be a view where nothing is computed.

    Raises RuntimeError when labels or sizes do not agree.

    >>> import polyad
    >>> a = polyad.arange(6).reshape(2, 3)
    >>> polyad.einsum("ij,kj->ik", a, a)
    tensor([[ 5, 14],
            [14, 50]])
    >>> polyad.einsum("ii->i", polyad.arange(4).reshape(2, 2))
    tensor([0, 3])
    """
    planned: Callable[..., Program]
    given: tuple[Any, ...]
    if args and isinstance(args[0], str):
        equation, operands = args[0], args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        _check_operands(operands)
        shapes = tuple([operand._array.shape for operand in operands])
        planned, given = _planned, (equation, shapes)
    else:
        operands = args[::2] if len(args) % 2 == 0 else args[:-1:2]
        _check_operands(operands)
        shapes = tuple([operand._array.shape for operand in operands])
        output = _numbered(args[-1]) if len(args) % 2 else None
        planned, given = plan, (tuple([_numbered(subscripts) for subscripts in args[1::2]]), output, shapes)
    try:
        program = planned(*given)
    except ShapeError as error:
        error.add_operands({f"operand {place}": operand for place, operand in enumerate(operands)})
        raise
    result = run(program, operands, _dtype(program, operands))
    # A view of its own, as PyTorch's: what is done to the result's record is not done to the operand's.
    return _permute(result, tuple(range(result.ndim))) if result is operands[0] else result


def _check_operands(operands: Sequence[Any]) -> None:
    if not operands:
        raise ArgumentError(
            "einsum: there is no operand", fix='give einsum("ij->i", operand), or einsum(operand, [0, 1], [0])'
        )
    for place, operand in enumerate(operands):
        check_tensor(operand, "einsum", f"operand {place}")
