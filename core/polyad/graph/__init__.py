"""The graph: what a computation is, whoever wrote it down. `polyad.jit.capture` makes one of a call.

values.py      memory, tensors over it at one time, constants, numbers that are read
graph.py       calls in their order: `Node`, `Graph`
structure.py   tensors inside of nested lists, tuples and dicts
expressions.py sizes that are computed from symbols
sizes.py       a graph for all sizes, at given sizes
replay.py      the same calls again
whole.py       graphs that a backend compiles as a whole
building.py    how a graph is written, by a tracer or from a text
passes/        graphs to graphs that do the same with less work
verify.py      whether a graph can be what it says
text.py        how a graph prints, and
parsing.py     how that is read; number_lines.py and size_lines.py do both for numbers and symbols

Invariants: a graph is not changed, a pass makes another. Each value is made before it is used, by one node or from
outside. A value that is used names the present version of its storage; each write makes the next.
"""

from __future__ import annotations

from .graph import Graph, Node
from .parsing import parse
from .passes import apply, optimize
from .values import Constant, Draw, ModuleCall, Number, Scalar, Storage, Symbol, Value
from .verify import verify

__all__ = [
    "Constant",
    "Draw",
    "Graph",
    "ModuleCall",
    "Node",
    "Number",
    "Scalar",
    "Storage",
    "Symbol",
    "Value",
    "apply",
    "optimize",
    "parse",
    "verify",
]
