"""What ops say of themselves (`polyad.dispatch.structure`), against what they do.

Calls are taken from the samples of the conformance suite: `recorded` runs a sample, forwards and backwards, and keeps
every op that it comes to. `check_claim` then makes such a call again with one element of one operand changed, and looks
which elements of the results have changed, and how. Where a structure says it of more than one element, all elements of
an operand are changed at once; `draws` makes a call with another generator.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyad
from polyad.base.shapes_and_strides import broadcast_shapes, reduced_shape
from polyad.dispatch.op import Op
from polyad.dispatch.structure import (
    Contraction,
    Indexing,
    Last,
    Pointwise,
    Random,
    Reduction,
    Rowwise,
    Shaping,
    Structure,
)
from polyad.interop.numpy import polyad_dtype
from polyad.random import Generator
from polyad.tensor import Tensor
from polyad_conformance.calls import Paths, Target, draw, function_of, kwargs_of
from polyad_conformance.checks.gradients import at, differentiable, floating, gradient_dtypes, weights
from polyad_conformance.layouts import contiguous, place, to_host
from polyad_conformance.sample import Sample
from polyad_conformance.tolerance import eps, wide

PLACES = 2
"""How many elements of each operand are changed, one at a time."""

OTHER_SEED = 7
"""Of a generator that no sample has."""

MARK = {"f": 123.5, "c": 123.5 - 7j, "i": 113, "u": 113}
"""By kind of dtype, a number that no sample has and every dtype of the kind holds."""

Args = tuple[Any, ...]


# --------------------------------------------------------------------------------------------------------------- calls


class _Everything(Paths):
    """Notes every op, those that bodies are made of included."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[tuple[Op, Args]] = []

    def dispatch(self, op: Any, args: Args) -> Any:
        if isinstance(op, Op):
            # A generator is drawn from by the call: kept as it was before.
            kept = [copy.copy(value) if isinstance(value, Generator) else value for value in args]
            self.all.append((op, tuple(kept)))
        return super().dispatch(op, args)


def recorded(sample: Sample) -> list[tuple[Op, Args]]:
    """The ops that the sample comes to on cpu, with their operands and parameters, in its widest dtype."""
    target, ops = Target("cpu"), _Everything()
    dtypes = gradient_dtypes(sample)
    dtype = dtypes[-1] if dtypes else sample.dtypes[-1]
    args = draw(sample, dtype, 0)
    tensors, _, _ = place(args, (contiguous,), "cpu")
    kwargs, _ = kwargs_of(sample, dtype, "cpu", args)
    inputs = [at(tensors, path).requires_grad_() for path in differentiable(sample, dtype, args)]
    with target.unwatched(), ops:
        results = function_of(sample)(*tensors, **kwargs)
        if inputs:
            outputs = floating(results)
            incoming = weights(sample, dtype, 0, outputs, "cpu")
            polyad.autograd.grad([one for _, one in outputs], inputs, grad_outputs=incoming, allow_unused=True)
    return ops.all


def signature(op: Op, args: Args) -> str:
    """The same for calls of which one is enough: the op, its operands' dtypes and shapes, its parameters."""
    return f"{op.name} {[_described(value) for value in args]}"


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dtype.name, tuple(value.shape)
    return [_described(one) for one in value] if isinstance(value, (list, tuple)) else repr(type(value)), str(value)


@dataclass
class _Call:
    """A call that can be made again, with other values in its operands.

    Attributes:
        op, args: of the call; tensors as arrays on the host.
    """

    op: Op
    args: list[Any]

    @classmethod
    def of(cls, op: Op, args: Args) -> _Call:
        return cls(op, [_on_host(value) for value in args])

    @property
    def params(self) -> Sequence[Any]:
        return self.args[len(self.op.operands) :]

    def arrays(self) -> Iterator[tuple[str, np.ndarray, Callable[[np.ndarray], _Call]]]:
        """The operands that are tensors, by name, each with what makes the call that has another in its place."""
        for position, name in enumerate(self.op.operands):
            value = self.args[position]
            if isinstance(value, np.ndarray):
                yield name, value, lambda other, position=position: self._with(position, other)
            elif isinstance(value, list):
                for number, one in enumerate(value):
                    if isinstance(one, np.ndarray):
                        yield (
                            f"{name}[{number}]",
                            one,
                            lambda other, position=position, value=value, number=number: self._with(
                                position, [*value[:number], other, *value[number + 1 :]]
                            ),
                        )

    def _with(self, position: int, value: Any) -> _Call:
        return _Call(self.op, [*self.args[:position], value, *self.args[position + 1 :]])

    def results(self) -> list[np.ndarray] | None:
        """What the call gives; None if it refuses its operands."""
        with warnings.catch_warnings(), np.errstate(all="ignore"), polyad.no_grad():
            warnings.simplefilter("ignore")
            try:
                results = self.op.call(*[_on_device(value) for value in self.args])
            except Exception:
                return None
        return [to_host(one) for one in (results if self.op.outputs else [results])]


def _on_host(value: Any) -> Any:
    if isinstance(value, Tensor):
        return to_host(value)
    return [_on_host(one) for one in value] if isinstance(value, list) else value


def _on_device(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return polyad.tensor(value)
    if isinstance(value, Generator):
        return copy.copy(value)
    return [_on_device(one) for one in value] if isinstance(value, list) else value


# ------------------------------------------------------------------------------------------------------------- changes


@dataclass
class _Change:
    """One element of one operand was changed.

    Attributes:
        call, structure: of what.
        operand: the array that was changed, as it was; index: where.
        value: what the element has become.
        before, after: the results.
        twice: gives the results if the element changes by twice as much; None if the call then refuses.
        what: the change in words.
    """

    call: _Call
    structure: Structure
    operand: np.ndarray
    index: tuple[int, ...]
    value: Any
    before: list[np.ndarray]
    after: list[np.ndarray]
    twice: Callable[[], list[np.ndarray] | None]
    what: str

    def changed(self) -> list[np.ndarray]:
        """By result, which elements differ by more than rounding."""
        return [_differ(one, other) for one, other in zip(self.before, self.after)]

    @property
    def shows(self) -> bool:
        """Whether a result has changed at all."""
        return any(changed.any() for changed in self.changed())


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    if one.shape != other.shape:
        return np.ones(one.shape, bool)
    if one.dtype.kind in "biu":
        return np.asarray(one != other)
    allowed = _rounding(one)
    return ~np.isclose(wide(one), wide(other), rtol=allowed, atol=allowed * _size(one), equal_nan=True)


def _rounding(result: np.ndarray) -> float:
    """How much of a result may be rounding: a wrong claim shows by more than that."""
    return 256 * eps(polyad_dtype(result.dtype))


def _size(result: np.ndarray) -> float:
    sizes = np.abs(wide(result))
    return float(np.max(sizes[np.isfinite(sizes)], initial=0.0))


def _changes(call: _Call, structure: Structure, before: list[np.ndarray]) -> Iterator[_Change]:
    """A few elements of each operand changed, each until it shows."""
    for name, operand, replaced in call.arrays():
        if isinstance(structure, (Indexing, Contraction)) and operand.dtype.kind in "biu":
            continue  # an index: it says where, and is no element of the sum
        for flat in sorted({(2 * number + 1) * operand.size // (2 * PLACES) for number in range(PLACES)}):
            if not operand.size:
                break
            index = tuple(int(one) for one in np.unravel_index(flat, operand.shape))
            # Of these each value may tell more: abs(x) is x where x is positive.
            every = isinstance(structure, (Shaping, Indexing, Contraction))
            for value in _others(operand[index], structure):
                after = replaced(_with(operand, index, value)).results()
                if after is None:
                    continue

                def twice(operand=operand, index=index, value=value, replaced=replaced) -> list[np.ndarray] | None:
                    with np.errstate(all="ignore"):
                        return replaced(_with(operand, index, value + (value - operand[index]))).results()

                what = f"{call.op.name}, which says that it is {structure}: with {name}{list(index)} changed"
                change = _Change(call, structure, operand, index, value, before, after, twice, what)
                yield change
                if change.shows and not every:
                    break


def _with(array: np.ndarray, index: tuple[int, ...], value: Any) -> np.ndarray:
    made = np.array(array)
    made[index] = value
    return made


def _others(value: Any, structure: Structure) -> list[Any]:
    """Values of the same dtype to try in the place of *value*."""
    dtype = value.dtype
    kind = "f" if dtype.kind == "V" else dtype.kind  # bfloat16
    if kind == "b":
        return [~value]
    if isinstance(structure, (Shaping, Indexing)):
        # Large and small ones of both signs, of which abs or clamp would make something else.
        tried: list[Any] = [MARK[kind], 0, *([value ^ 1] if kind in "iu" else [-MARK[kind], 2.0**-10])]
    elif kind in "iu":
        tried = [value ^ 1, 0]
    else:
        near = value + np.asarray(0.3125 + (0.25j if kind == "c" else 0)).astype(dtype)
        if isinstance(structure, Contraction):
            tried = [near, -value, MARK[kind]]
        elif isinstance(structure, Random):
            tried = [near]  # what is drawn for a rate that is no number may be drawn for ever
        else:
            tried = [near, -MARK[kind], 0, np.nan, np.inf]
    return [np.asarray(one).astype(dtype) for one in tried]


# -------------------------------------------------------------------------------------------------------------- claims


def _reach(change: _Change, result: np.ndarray) -> np.ndarray:
    """Which elements of a result the changed element may count for, by the dimensions that the structure names."""
    structure, shape, index = change.structure, change.operand.shape, change.index
    op, params = change.call.op, change.call.params
    places: list[Any] = [slice(None)] * result.ndim
    if isinstance(structure, Reduction):
        over = structure.along(op, params, len(shape))
        kept = structure.keepdim(op, params)
        left = [dim for dim in range(len(shape)) if kept or dim not in over]
        pairs = [(dim, to) for to, dim in enumerate(left) if dim not in over]
    elif isinstance(structure.dims, Last) and isinstance(structure.dims.count, int) and structure.dims.count:
        pairs = [(dim, dim) for dim in range(len(shape) - structure.dims.count)]
    else:
        over = structure.along(op, params, result.ndim)
        missing = result.ndim - len(shape)
        pairs = [(dim, dim + missing) for dim in range(len(shape)) if dim + missing not in over]
    reached = np.zeros(result.shape, bool)
    for dim, to in pairs:
        if to < 0 or to >= result.ndim:
            return reached
        if shape[dim] != 1:
            places[to] = slice(index[dim], index[dim] + 1)
    reached[tuple(places)] = True
    return reached


def _stays_within_reach(change: _Change) -> None:
    for number, (result, changed) in enumerate(zip(change.before, change.changed())):
        beyond = np.argwhere(changed & ~_reach(change, result))
        assert not len(beyond), f"{change.what}, result {number} changed at {beyond[0].tolist()}"


def _is_pointwise(change: _Change) -> None:
    structure = change.structure
    shapes = [array.shape for _, array, _ in change.call.arrays()]
    for result in change.before:
        if result.ndim or len(change.before) == 1:
            assert result.shape == broadcast_shapes(*shapes), f"{change.what}: {shapes} give {result.shape}"
    if isinstance(structure, Pointwise) and not structure.broadcasts:
        assert len({shape for shape in shapes if shape}) <= 1, f"{change.what}: its operands broadcast: {shapes}"
    _stays_within_reach(change)


COMBINATIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "argmax": np.argmax,
    "argmin": np.argmin, "any": np.any, "all": np.all,
}  # fmt: skip


def _reduces(change: _Change) -> None:
    structure, op, params = change.structure, change.call.op, change.call.params
    assert isinstance(structure, Reduction)
    over = structure.along(op, params, change.operand.ndim)
    kept = structure.keepdim(op, params)
    shape = reduced_shape(change.operand.shape, over, kept)
    assert all(result.shape == shape for result in change.before), f"{change.what}: {shape} is not the results' shape"
    _stays_within_reach(change)
    if structure.combine is None:
        return
    # Rows at the end, in one dimension: argmax takes no more.
    left = [dim for dim in range(change.operand.ndim) if dim not in over]
    rows = change.operand.transpose(*left, *[dim for dim in over if dim < change.operand.ndim])
    rows = wide(rows.reshape(*[change.operand.shape[dim] for dim in left], -1))
    expected = np.asarray(COMBINATIONS[structure.combine](rows, axis=-1)).reshape(shape)
    found = change.before[0]
    allowed = 0.0 if found.dtype.kind in "biu" else _rounding(found) * max(_size(found), _size(change.operand), 1)
    assert np.allclose(wide(found), expected, rtol=allowed, atol=allowed, equal_nan=True), (
        f"{change.what}: its rows do not combine by {structure.combine}"
    )


def _is_random(change: _Change) -> None:
    generators = [value for value in change.call.params if isinstance(value, Generator)]
    assert generators, f"{change.what}: no generator is given, so nothing is drawn"
    _is_pointwise(change)


def _is_linear_in_each(change: _Change) -> None:
    if change.structure.dims is not None:
        _stays_within_reach(change)
    _is_affine(change)


def _is_affine(change: _Change, exempt: Sequence[np.ndarray] | None = None) -> None:
    """Assert that a step of the element and a second one like it change the results alike, *exempt* places apart."""
    twice = change.twice()
    if twice is not None:
        _steps_are_alike(change.call, (change.before, change.after, twice), change.what, exempt)


def _steps_are_alike(
    call: _Call,
    steps: tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]],
    what: str,
    exempt: Sequence[np.ndarray] | None = None,
) -> None:
    arrays = [array for _, array, _ in call.arrays()]
    operations = sum(array.size for array in arrays)  # no fewer than the products in a sum
    for number, (before, after, further) in enumerate(zip(*steps, strict=True)):
        assert before.shape == after.shape == further.shape, f"{what}, result {number} has another shape"
        one, two, three = (1 * wide(result) for result in (before, after, further))  # booleans as 0 and 1
        looked = np.isfinite(one) if exempt is None else np.isfinite(one) & ~exempt[number]
        with np.errstate(all="ignore"):
            first, second = (two - one)[looked], (three - two)[looked]
        assert np.isfinite(first).all(), f"{what}, a finite result changes to one that is not"
        assert np.isfinite(second).all(), f"{what}, a finite result changes to one that is not"
        allowed = 0.0
        if before.dtype.kind not in "biu":
            size = max(_size(before), _size(after), _size(further), 1)
            # The steps of an operand are rounded too. Four roundings per operation: the middle result counts twice.
            coarsest = max(eps(polyad_dtype(one.dtype)) for one in (before, *arrays) if one.dtype.kind not in "biu")
            allowed = (256 + 4 * operations) * coarsest * size
        assert np.allclose(first, second, rtol=0, atol=allowed, equal_nan=True), (
            f"{what}, a result changes by {np.max(np.abs(first))}, by twice as much it changes by "
            f"{np.max(np.abs(second))} more"
        )


def _is_linear_in_whole_operands(call: _Call, structure: Structure, before: list[np.ndarray]) -> None:
    """Assert that no product has two elements of one operand.

    With one, the results would bend where all elements of the operand change at once: what bends there is the sum of
    all mixed second differences, each by the steps of its two elements, which are at random and do not cancel.
    """
    rng = np.random.default_rng(0)
    for name, operand, replaced in call.arrays():
        if operand.dtype.kind in "biu" or not operand.size:
            continue
        step = rng.standard_normal(operand.shape)
        if operand.dtype.kind == "c":
            step = step + 1j * rng.standard_normal(operand.shape)
        step = step * max(_size(operand), 1)  # so that many elements change their sign
        stepped = [np.asarray(wide(operand) + many * step).astype(operand.dtype) for many in (1, 2)]
        after, twice = (replaced(one).results() for one in stepped)
        what = f"{call.op.name}, which says that it is {structure}: with all of {name} changed"
        assert after is not None, f"{what}, it refuses its operands"
        assert twice is not None, f"{what}, it refuses its operands"
        _steps_are_alike(call, (before, after, twice), what)


def _cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        return (array.real if array.dtype.kind == "c" and dtype.kind != "c" else array).astype(dtype)


def _become_the_value(change: _Change) -> bool:
    for after, changed in zip(change.after, change.changed()):
        value = _cast(change.value, after.dtype)
        if not np.array_equal(after[changed], np.full(int(changed.sum()), value), equal_nan=after.dtype.kind in "fc"):
            return False
    return True


def _moves(change: _Change) -> None:
    if change.call.op.kind == "view" and any(result.dtype != change.operand.dtype for result in change.before):
        return  # the same bytes under another name
    if change.structure.dims is not None:
        _stays_within_reach(change)
    assert _become_the_value(change), f"{change.what} to {change.value}, a result changes to something else"
    given = np.concatenate([array.reshape(-1) for _, array, _ in change.call.arrays()])
    for result in change.before:
        foreign = set(result.reshape(-1).tolist()) - set(_cast(given, result.dtype).tolist())
        foreign = {one for one in foreign if one == one}
        assert len(foreign) <= 1, f"{change.what}: more than one constant is added: {sorted(foreign, key=abs)[:2]}"


def _fetches_or_puts(change: _Change) -> None:
    arrays = [array for _, array, _ in change.call.arrays()]
    assert any(array.dtype.kind in "biu" for array in arrays), f"{change.what}: no operand names places"
    if change.structure.dims is not None:
        _stays_within_reach(change)
    assert isinstance(change.structure, Indexing)
    if not change.structure.writes:
        assert _become_the_value(change), f"{change.what} to {change.value}, a result changes to something else"
        return
    # Where elements meet, an extreme of them is the value or another element; a sum or a product is affine in it.
    elements = np.concatenate([change.value.reshape(-1), *[array.reshape(-1) for array in arrays]])
    _is_affine(change, [np.isin(after, _cast(elements, after.dtype)) for after in change.after])


CLAIMS: dict[type[Structure], Callable[[_Change], None]] = {
    Pointwise: _is_pointwise,
    Random: _is_random,
    Rowwise: _stays_within_reach,
    Reduction: _reduces,
    Contraction: _is_linear_in_each,
    Shaping: _moves,
    Indexing: _fetches_or_puts,
}
"""By structure. `Creation` and `Opaque` claim nothing of operands."""


def check_claim(op: Op, args: Args, structure: Structure | None = None) -> int:
    """Assert that *structure*, by default what *op* says of itself, is true of this call.

    Returns how many of the changes that were made showed in a result.
    """
    claimed = op.structure if structure is None else structure
    if type(claimed) not in CLAIMS:
        return 0
    call = _Call.of(op, args)
    before = call.results()
    if before is None:
        return 0
    shown = 0
    for change in _changes(call, claimed, before):
        CLAIMS[type(claimed)](change)
        shown += change.shows
    if isinstance(claimed, Contraction):
        _is_linear_in_whole_operands(call, claimed, before)
    return shown


def draws(op: Op, args: Args) -> bool:
    """Whether another generator gives another result for the operands of the call, or for operands of halves.

    The operands of samples often leave nothing to chance, so that there is one right result: probabilities 0 and 1.
    """
    call = _Call.of(op, args)
    halves = [np.full_like(one, 0.5) if isinstance(one, np.ndarray) else one for one in call.args]
    for given in (call.args, halves):
        others = [copy.copy(one).manual_seed(OTHER_SEED) if isinstance(one, Generator) else one for one in given]
        before, after = _Call(op, given).results(), _Call(op, others).results()
        if before is not None and after is not None and any(_differ(*pair).any() for pair in zip(before, after)):
            return True
    return False
