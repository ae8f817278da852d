"""How each op is carried out on a batch.

An op gets the first of these that there is:

    a rule of its own      a row of `RULES`, by the op's name; written in ops, on inner tensors
    by its structure       an op whose places matter to each other along no dimension, or along those that it names, is
                           the same with one dimension more (`polyad.dispatch.structure`). An op that does not say so
                           may mix elements: its shape tells nothing (``x / x.max()`` has the shape of x, too).
    its decomposition      a composite's body, run on the batched tensors; sample by sample if that reads data
    sample by sample       counted and warned of (`polyad.transforms.batching.loops`)

Most rules have one of three forms. *Aligned*: the batch is one more of the leading dimensions that the op
broadcasts, so every operand needs equally many of them behind the batch. *Shifted*: parameters that name dimensions
name the next ones. *Folded*: the op has a dimension of independent images, and the batch becomes part of that.

A rule is called as ``rule(level, op, values)`` with the level set aside; tensors among *values* are `Batched`, at least
one of them with a batch. It returns inner tensors with the batch in front. To add a rule, add a row to `RULES`, or call
`register` from a package of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...dispatch.effects import Effect
from ...dispatch.op import Op
from ...dispatch.plan import run_body
from ...dispatch.structure import ALL, Last, Pointwise
from ...ops.shaping.reshape import _reshape
from ...tensor import Tensor
from .batched import Batched, Unbatchable
from .loops import one_by_one

if TYPE_CHECKING:
    from .vmap_level import VmapLevel

Rule = Callable[["VmapLevel", Op, tuple[Any, ...]], Any]

RULES: dict[str, Rule] = {}
"""Ops with a rule of their own, by name."""

_rules: dict[Op, tuple[Rule, str]] = {}


def register(op: Op, rule: Rule) -> None:
    """Give *op* a batching rule of its own."""
    RULES[op.name] = rule
    _rules.pop(op, None)


def carry_out(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """The result of *op* on operands of *level*, as tensors of it."""
    if not _any_batched(values):
        if "generator" in op.params:
            drawn = draw(level, op, tuple([_inner(value) for value in values]))
            return tuple(level.lifted(drawn)) if op.outputs else level.lifted(drawn)
        return _wrapped(level, op.call(*[_inner(value) for value in values]), False)
    found = _rules.get(op)
    if found is None:
        found = _rules[op] = find(op)
    if "generator" in op.params:
        check_randomness(level, op)
    result = found[0](level, op, values)
    # What ran at the level is wrapped already.
    if result.__class__ is tuple:
        return result if result[0].__class__ is Batched and result[0]._level is level else _wrapped(level, result, True)
    return result if result.__class__ is Batched and result._level is level else level.wrap(result)


def find(op: Op) -> tuple[Rule, str]:
    """The rule of *op*, and where it comes from: "own", "structure", "decomposition" or "loop"."""
    own = RULES.get(op.name)
    if own is not None:
        return own, "own"
    structure = op.structure
    if isinstance(structure, Pointwise):
        return aligned() if structure.broadcasts else _of_one_shape, "structure"
    if isinstance(structure.dims, str) and structure.dims != ALL:
        return shifted(structure.dims), "structure"
    if isinstance(structure.dims, Last) and isinstance(structure.dims.count, int) and structure.dims.count:
        return aligned(*[structure.dims.count] * len(op.operands), spread=True), "structure"
    if op.body is not None:
        return decomposed, "decomposition"
    return one_by_one, "loop"


def _any_batched(values: Sequence[Any]) -> bool:
    for value in values:
        if value.__class__ is Batched:
            if value._batched:
                return True
        elif value.__class__ is list and _any_batched(value):
            return True
    return False


def _inner(value: Any) -> Any:
    if isinstance(value, Batched):
        return value._inner
    return [_inner(item) for item in value] if isinstance(value, list) else value


def _wrapped(level: VmapLevel, result: Any, batched: bool) -> Any:
    if isinstance(result, tuple):
        return tuple([level.wrap(part, batched) for part in result])
    return level.wrap(result, batched)


# -------------------------------------------------------------------------------------------------- forms of rules


def aligned(*cores: int, spread: bool = False) -> Rule:
    """The rule of an op that broadcasts the leading dimensions of its operands.

    *cores* says how many dimensions of each operand are not leading: 2 for a matrix; none by default. With *spread*
    every operand gets the batch, for ops whose operands must have equal leading dimensions, or that take a gradient for
    each sample from each.
    """

    def rule(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
        if len(values) == 1:
            return op.call(values[0]._inner)
        return op.call(*in_line(level, op, values, cores, spread), *values[len(op.operands) :])

    return rule


_align_and_expand = aligned(spread=True)


def _of_one_shape(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """The rule of an op that does not broadcast: what has no dimensions beside operands that have some is a number for
    each sample, which only the body can take.
    """
    tensors = [value for value in values if value.__class__ is Batched]
    if op.body is not None and len({tensor._array.ndim for tensor in tensors}) > 1:
        return decomposed(level, op, values)
    return _align_and_expand(level, op, values)


def in_line(level: VmapLevel, op: Op, values: tuple[Any, ...], cores: Sequence[int], spread: bool) -> list[Any]:
    """The operands' inner tensors with equally many leading dimensions behind the batch."""
    operands = values[: len(op.operands)]
    leading = []
    for position, operand in enumerate(operands):
        if operand.__class__ is Batched:
            leading.append(operand._array.ndim - (cores[position] if position < len(cores) else 0))
        else:
            leading.append(-1)  # a number, or absent
    most = max(leading)
    lined_up: list[Any] = []
    for operand, count in zip(operands, leading, strict=True):
        if count < 0:
            lined_up.append(operand)
            continue
        inner = level.spread(operand) if spread else operand._inner
        if count < most and (spread or operand._batched):
            for _ in range(most - count):
                inner = inner.unsqueeze(1)
        lined_up.append(inner)
    return lined_up


def shifted(param: str) -> Rule:
    """The rule of an op whose parameter *param* names a dimension or several, counted from the front. Operands are of
    the same rank, or broadcast to it.
    """

    def rule(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
        count = len(op.operands)
        at = op.params.index(param)
        params = list(values[count:])
        named = params[at]
        if named is None:  # all of them, but for the batch
            return (one_by_one if op.body is None else decomposed)(level, op, values)
        operands = [values[0]._inner] if count == 1 else in_line(level, op, values, (), True)
        if isinstance(named, tuple):
            params[at] = tuple([dim + 1 if dim >= 0 else dim for dim in named])
            return op.call(*operands, *params)
        params[at] = named + 1 if named >= 0 else named
        if any(operand.ndim for operand in values[:count] if isinstance(operand, Tensor)):
            return op.call(*operands, *params)
        # A sample without dimensions is a row of one element.
        operands = [operand.unsqueeze(1) if isinstance(operand, Tensor) else operand for operand in operands]
        result = op.call(*operands, *params)
        flat = [_reshape(part, (level.size,)) for part in (result if op.outputs else (result,))]
        return tuple(flat) if op.outputs else flat[0]

    return rule


def folded(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """The rule of an op whose operands and results begin with a dimension of images."""
    operands = [fold(level.spread(value)) if isinstance(value, Batched) else value for value in values]
    result = op.call(*operands)
    return tuple([unfold(level, part) for part in result]) if op.outputs else unfold(level, result)


def fold(inner: Tensor) -> Tensor:
    """*inner* with its first two dimensions as one."""
    first, second, *rest = inner._array.shape
    return _reshape(inner, (first * second, *rest))


def unfold(level: VmapLevel, result: Tensor, count: int | None = None) -> Tensor:
    """*result* with the batch and what it was folded with apart again."""
    first, *rest = result._array.shape
    return _reshape(result, (level.size, first // level.size if level.size else (count or 1), *rest))


def decomposed(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """The rule of a composite: its body, at the level. Sample by sample if the body reads data, or writes what differs
    between samples into what does not.
    """
    try:
        with level:
            result = run_body(op, values)
    except Unbatchable as error:
        if error.is_final:
            raise
        return one_by_one(level, op, values)
    if op.outputs:
        return tuple([level.lifted(part)._bare() for part in result])
    return level.lifted(result)._bare()


# -------------------------------------------------------------------------------------------------- random numbers


def draw(level: VmapLevel, op: Op, args: tuple[Any, ...]) -> Any:
    """A draw of random numbers that depends on no batched tensor."""
    check_randomness(level, op)
    if level.randomness == "same":
        return op.call(*args)
    if op.name in DRAWS:
        return DRAWS[op.name](level, *args)
    if op.params[:1] == ("shape",):
        return level.wrap(op.call((level.size, *args[0]), *args[1:]))
    # Of operands that are the same for all samples.
    operands = [_spread_out(level, operand) for operand in args[: len(op.operands)]]
    return carry_out(level, op, (*operands, *args[len(op.operands) :]))


def check_randomness(level: VmapLevel, op: Op | Effect) -> None:
    """Raise unless the level allows random numbers."""
    if level.randomness == "error":
        error = level.unbatchable(
            f"vmap: {level.function} draws random numbers ({op.name}), and randomness is 'error'",
            "pass randomness='different' (each sample its own) or 'same' (all samples the same)",
        )
        error.is_final = True
        raise error


def _spread_out(level: VmapLevel, value: Any) -> Any:
    return level.wrap(level.spread(level.lift(value))) if isinstance(value, Tensor) else value


def _permutations(level: VmapLevel, n: int, generator: Any, dtype: Any, device: Any) -> Any:
    from ...base.dtypes import int64
    from ...ops.random.sampling import _integers
    from ...ops.sorting.sort import argsort

    keys = _integers((level.size, n), 0, 2**63 - 1, generator, int64, device)
    return level.wrap(argsort(keys, 1, stable=True).to(dtype))


DRAWS: dict[str, Callable[..., Any]] = {"permutation": _permutations}
"""Draws whose elements depend on each other, by the op's name: for a batch they are no draw with a dimension more."""
