"""The formula of each op in C, shared by all dialects; ``{0}``, ``{1}``, ... are the arguments.

A formula in ``FUNCTION`` position (a bare name) is a math function whose spelling the dialect decides. Ops are named as
declared in `polyad.ops`; a test checks that. NaN passes through maximum, minimum and relu, which C's fmax would drop.

To add an op: its template here, and its math function in the dialects if they spell it differently.
"""

from __future__ import annotations

COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

MATH = {"exp", "log", "sqrt", "sin", "cos", "tanh"}
"""Ops that are one call of a math function of the same name."""

TEMPLATES: dict[str, str] = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "div": "({0} / {1})",
    "neg": "(-{0})",
    "abs": "({0} < 0 ? -{0} : {0})",
    "maximum": "(({0} > {1} || {0} != {0}) ? {0} : {1})",
    "minimum": "(({0} < {1} || {0} != {0}) ? {0} : {1})",
    "relu": "({0} < 0 ? 0 : {0})",
    "where": "({0} ? {1} : {2})",
    "cast": "(({type}){0})",
    **{op: f"({{0}} {symbol} {{1}})" for op, symbol in COMPARISONS.items()},
    **{op: f"{{{op}}}({{0}})" for op in MATH},
}
