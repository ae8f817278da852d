"""The tangent of an op's result from the tangents of its operands, by its forward rule or its gradient formulas.

What an op declares is in `polyad.dispatch.forward`. An op that declares nothing but gradients gets its tangent from
them: a formula is linear in the gradient that arrives, and its own gradient with respect to that is the Jacobian times
a tangent. So an op with a gradient formula needs no second rule. Source: J. Townsend, "A new trick for calculating
Jacobian vector products", 2017; here for one op at a time, so that nothing is kept but that op's operands.

A tangent of None is zero. Rules run outside of the level that they serve: all its tensors are plain values to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.dtypes import FLOATING, can_cast
from ..base.state import state
from ..errors import AutogradError, DeviceError, DTypeError, ShapeError
from ..history.grad_mode import enable_grad
from ..ops.creation.factories import ones_like, zeros_like
from ..ops.pointwise.arithmetic import conjugate
from ..ops.reductions.sums import _sum, sum_to
from ..tensor import Tensor
from .entries import enter, pull_back
from .hooks import place_of

if TYPE_CHECKING:
    from ..dispatch.op import Op
    from .function import Function, FunctionCtx

__all__ = ["fitted", "has_rule", "push_forward", "push_function"]


def has_rule(op: Op) -> bool:
    """Whether tangents go through *op* by a rule of the op itself, rather than through the ops of its body."""
    return bool(op.formulas) or op.forward is not None


def push_forward(op: Op, values: tuple[Any, ...], tangents: list[Any], outs: tuple[Tensor, ...]) -> list[Any]:
    """The tangents of *outs*, the results of ``op(*values)``, each with its result's shape and dtype; None for zero.

    *tangents* has an entry for each operand: a tensor, None, or for a list of tensors a list of these.
    """
    rule = op.forward
    if rule is None or (rule.form == "symmetric" and not rule.holomorphic and _any_complex(tangents)):
        found: Any = _transposed(op, values, tangents, outs)
    elif rule.form == "symmetric":
        found = _symmetric(op, (*values, *outs), tangents)
    elif rule.form == "linear":
        found = op.call(*_replaced(values, tangents, rule.positions))
    elif rule.form == "multilinear":
        found = _product_rule(op, values, tangents, rule.positions)
    elif rule.form == "affine":
        found = _affine(op, values, tangents, rule.positions)
    elif rule.form == "reduction":
        found = _reduction(op, (*values, *outs), tangents, outs[0])
    else:
        assert rule.function is not None
        found = rule.function((*values, *outs), tangents)
    parts = found if isinstance(found, (tuple, list)) else [found]
    return [
        None if part is None or out._type.dtype.category < FLOATING else fitted(part, out)
        for part, out in zip(parts, outs, strict=True)
    ]


def fitted(tangent: Tensor, like: Tensor) -> Tensor:
    """*tangent* with the shape and dtype of *like*: broadcast, cast, of a real result its real part."""
    if tangent._type.dtype.is_complex and not like._type.dtype.is_complex:
        tangent = tangent.real
    if tangent._array.shape != like._array.shape:
        tangent = tangent.expand(like._array.shape)
    return tangent if tangent._type.dtype is like._type.dtype else tangent.to(like._type.dtype)


def _any_complex(tangents: list[Any]) -> bool:
    return any(isinstance(tangent, Tensor) and tangent._type.dtype.is_complex for tangent in tangents)


def _add(total: Tensor | None, part: Tensor) -> Tensor:
    return part if total is None else total + part


def _symmetric(op: Op, values: tuple[Any, ...], tangents: list[Any]) -> Tensor | None:
    total: Tensor | None = None
    for position, _, function, pick, _ in op.formulas:
        tangent: Any = tangents[position]
        if tangent is not None:
            total = _add(total, conjugate(function(conjugate(tangent), *pick(values))))
    return total


def _zero_of(value: Any) -> Any:
    """A tangent of zero for *value*, in its structure."""
    if isinstance(value, Tensor):
        return zeros_like(value.detach())
    if isinstance(value, (list, tuple)):
        return [_zero_of(item) for item in value]
    return None if value is None else type(value)(0)


def _replaced(values: tuple[Any, ...], tangents: list[Any], positions: Sequence[int]) -> list[Any]:
    changed = list(values)
    for position in positions:
        tangent, value = tangents[position], values[position]
        if isinstance(tangent, list):
            tangent = [_zero_of(v) if t is None else t for t, v in zip(tangent, value, strict=True)]
        changed[position] = _zero_of(value) if tangent is None else tangent
    return changed


def _product_rule(op: Op, values: tuple[Any, ...], tangents: list[Any], positions: Sequence[int]) -> Any:
    total: Tensor | None = None
    for position in positions:
        if tangents[position] is not None:
            total = _add(total, op.call(*values[:position], tangents[position], *values[position + 1 :]))
    return total


def _affine(op: Op, values: tuple[Any, ...], tangents: list[Any], positions: Sequence[int]) -> Any:
    x, weight, bias = positions
    of_x, of_weight, of_bias = tangents[x], tangents[weight], tangents[bias]
    total: Tensor | None = None
    changed = list(values)
    if of_x is not None:
        changed[x], changed[bias] = of_x, None
        total = op.call(*changed)
    if of_weight is not None or of_bias is not None:
        changed[x], changed[bias] = values[x], of_bias
        changed[weight] = _zero_of(values[weight]) if of_weight is None else of_weight
        total = _add(total, op.call(*changed))
    return total


def _reduction(op: Op, values: tuple[Any, ...], tangents: list[Any], out: Tensor) -> Tensor:
    ((position, _, function, pick, _),) = op.formulas
    tangent: Any = tangents[position]
    slope = conjugate(function(ones_like(out.detach()), *pick(values)))
    assert op.forward is not None
    assert op.forward.function is not None
    dims, keepdim = op.forward.function(values, tangents)
    return _sum(slope * tangent, dims, keepdim)


def _has_history(values: Sequence[Any]) -> bool:
    return any(
        _has_history(value) if isinstance(value, (list, tuple)) else getattr(value, "_node", None) is not None
        for value in values
    )


def _transposed(op: Op, values: tuple[Any, ...], tangents: list[Any], outs: tuple[Tensor, ...]) -> list[Any]:
    """By differentiating the gradient formulas with respect to the gradient that arrives."""
    create_graph = state.grad_enabled and (_has_history(values) or _has_history(tangents))
    smooth = [out._type.dtype.category >= FLOATING for out in outs]
    pulled: list[Tensor] = []
    weights: list[Tensor] = []
    with enable_grad():
        entries = [enter(zeros_like(out.detach()), op.name) if live else None for out, live in zip(outs, smooth)]
        gradient = entries if op.outputs else entries[0]
        for position, given, function, pick, _ in op.formulas:
            several = given == "several"
            at: Any = tangents[position]
            if at is None or (several and all(tangent is None for tangent in at)):
                continue
            result = function(gradient, *pick((*values, *outs)))
            for part, tangent in zip(result, at, strict=True) if several else ((result, at),):
                if part is None or tangent is None:
                    continue
                if part._array.shape != tangent._array.shape:
                    part = sum_to(part, tangent._array.shape)
                if part._type.dtype is not tangent._type.dtype:
                    part = part.to(tangent._type.dtype)
                pulled.append(part)
                weights.append(tangent)
        found = iter(pull_back(pulled, [entry for entry in entries if entry is not None], weights, create_graph))
    return [next(found) if live else None for live in smooth]


def push_function(
    function: type[Function], ctx: FunctionCtx, args: Sequence[Any], tangents: list[Any], results: Sequence[Any]
) -> list[Tensor | None]:
    """The tangents of *results*, which ``forward`` of a `polyad.autograd.Function` gave for *args*, by its ``jvp``.

    Raises RuntimeError for a wrong number of tangents, and for tangents that do not fit the results.
    """
    if ctx.materialize_grads:
        tangents = [
            _zero_of(arg) if tangent is None and isinstance(arg, Tensor) and arg.dtype.category >= FLOATING else tangent
            for arg, tangent in zip(args, tangents, strict=True)
        ]
    ctx._in_jvp = True
    try:
        returned = function.jvp(ctx, *tangents)
    finally:
        ctx._in_jvp = False
    found = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    said = f"{function.__name__}.jvp{place_of(function.jvp)}"
    if len(found) != len(results):
        raise AutogradError(
            f"{said}: it returned {len(found)} tangents for {len(results)} results of forward",
            fix="return a tangent (or None) for each result",
        )
    return [_checked(f"{said}: tangent {i}", tangent, like) for i, (tangent, like) in enumerate(zip(found, results))]


def _checked(said: str, tangent: Any, like: Any) -> Tensor | None:
    if tangent is None:
        return None
    if not isinstance(tangent, Tensor):
        raise AutogradError(f"{said} is {type(tangent).__name__}, not a tensor", fix="return tensors or None")
    operands = {"returned": tangent, "result": like}
    if not isinstance(like, Tensor) or like.dtype.category < FLOATING:
        raise AutogradError(
            f"{said} is for a result that has no derivative", operands=operands, fix="return None for it"
        )
    if tangent._array.shape != like._array.shape:
        raise ShapeError(
            f"{said} has another shape than the result",
            operands=operands,
            fix=f"return a tensor of shape {tuple(like.shape)}",
        )
    if tangent._type.device != like._type.device:
        raise DeviceError(
            f"{said} is on another device than the result", operands=operands, fix=f"move it to {like.device}"
        )
    if tangent.dtype.category < FLOATING or not can_cast(tangent.dtype, like.dtype):
        raise DTypeError(
            f"{said} has a dtype that no tangent of the result has",
            operands=operands,
            fix=f"return a {like.dtype.name} tensor",
        )
    return fitted(tangent, like)
