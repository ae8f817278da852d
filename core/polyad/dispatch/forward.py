"""Declaring forward rules: how a small change of an op's operands, their *tangents*, changes its result.

    symmetric(op, ...)          the Jacobian is its own transpose, as a diagonal matrix is; the rule is read off the
                                gradient formulas
    linear_in(op, name, ...)    linear in these operands together: the op applied to their tangents
    multilinear(op, name, ...)  linear in each of them: the sum of the op applied to one tangent at a time
    affine(op, x, weight, bias) a product of two operands, to which a third, which may be absent, is added
    reduction(op)               each element of the input counts for one element of the result alone, which the op's
                                structure says; the rule is read off the gradient formula
    by_body(op, ...)            a composite whose decomposition is carried out on values and tangents
    forward(op, rule)           a rule of its own

An op needs none of them: `polyad.autograd.forward_rules` derives a rule from gradient formulas (by differentiating
them), runs the body of a composite without formulas, and applies a view to the tangent. Declare a rule where it is
cheaper, beside the gradient:

    gradient(_mul, input=lambda g, other: _mul(g, conjugate(other)), other=lambda g, input: _mul(g, conjugate(input)))
    multilinear(_mul, "input", "other")

The parameters of a rule of its own name what it needs: the tangent of an operand as ``<name>_t`` (None where it has
none, a list for a list of tensors), an operand or parameter by its name, the result as ``out`` (or the names in
``outputs``). It is written in ops and returns the tangent of the result, or a tuple with the tangent of each result;
None stands for zero. A tangent is broadcast to the result's shape and cast to its dtype.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..compatibility.moved import missing
from .declared import ForwardRule, Op
from .op import op_of
from .structure import Reduction


def symmetric(*declared: Callable[..., Any], holomorphic: bool = True) -> None:
    """Say of ops that their Jacobians, broadcasting aside, equal their transposes.

    So it is of every pointwise op, whose Jacobian is diagonal, and of some others, such as softmax. Then a gradient
    formula, given a tangent for the gradient, computes the change of the result: both are products with the same
    matrix, one of them conjugated. Of complex operands it needs an op that is *holomorphic* or has real results; for
    the others it holds for real operands only.
    """
    for function in declared:
        op_of(function).forward = ForwardRule("symmetric", holomorphic=holomorphic)


def linear_in(declared: Callable[..., Any], *operands: str) -> None:
    """Say of an op that it is linear in *operands* taken together, the others and the parameters being held."""
    op = op_of(declared)
    op.forward = ForwardRule("linear", _positions(op, operands))


def multilinear(declared: Callable[..., Any], *operands: str) -> None:
    """Say of an op that it is linear in each of *operands*, all else being held."""
    op = op_of(declared)
    op.forward = ForwardRule("multilinear", _positions(op, operands))


def affine(declared: Callable[..., Any], input: str, weight: str, bias: str) -> None:
    """Say of an op that it is the sum of *bias*, which may be None, and of what is linear in *input* and *weight*."""
    op = op_of(declared)
    op.forward = ForwardRule("affine", _positions(op, (input, weight, bias)))


def reduction(declared: Callable[..., Any]) -> None:
    """Say of an op whose structure is a reduction: its gradient formula, given a gradient of ones, computes how much
    each element contributes to its element of the result.
    """
    op = op_of(declared)
    structure, count = op.structure, len(op.operands)
    if not isinstance(structure, Reduction):
        raise TypeError(f"forward rule of {op.name}: its structure is no reduction")

    def reduced(values: tuple[Any, ...], tangents: list[Any]) -> tuple[tuple[int, ...], bool]:
        params = values[count : count + len(op.params)]
        return structure.along(op, params, len(values[0]._array.shape)), structure.keepdim(op, params)

    op.forward = ForwardRule("reduction", function=reduced)


def by_body(*declared: Callable[..., Any]) -> None:
    """Say of composites with gradients that their tangents come from their bodies, which are computed beside them."""
    for function in declared:
        op = op_of(function)
        if op.kind != "composite":
            raise TypeError(f"forward rule of {op.name}: it has no body to run")
        op.forward = ForwardRule("body")


def forward(declared: Callable[..., Any], rule: Callable[..., Any]) -> None:
    """Declare an op's forward rule; see the module's docstring."""
    op = op_of(declared)
    op.forward = ForwardRule("own", function=_reader(op, rule))


def _positions(op: Op, operands: tuple[str, ...]) -> tuple[int, ...]:
    for name in operands:
        if name not in op.operands:
            raise TypeError(f"forward rule of {op.name}: {name!r} is no operand; operands are {tuple(op.operands)}")
    return tuple([op.names.index(name) for name in operands])


def _reader(op: Op, rule: Callable[..., Any]) -> Callable[[tuple[Any, ...], list[Any]], Any]:
    """*rule* as a function of (operands, parameters and results; tangents)."""
    operands, results = list(op.operands), op.outputs or ("out",)
    parts = []
    for want in inspect.signature(rule).parameters:
        if want.endswith("_t") and want[:-2] in operands:
            parts.append(f"t[{operands.index(want[:-2])}]")
        elif want in op.names:
            parts.append(f"v[{op.names.index(want)}]")
        elif want in results:
            parts.append(f"v[{len(op.names) + results.index(want)}]")
        else:
            raise TypeError(
                f"forward rule of {op.name}: it asks for {want!r}, which is none of "
                f"{(*[name + '_t' for name in operands], *op.names, *results)}"
            )
    read: Callable[[tuple[Any, ...], list[Any]], Any] = eval(f"lambda v, t: rule({', '.join(parts)})", {"rule": rule})
    return read


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
