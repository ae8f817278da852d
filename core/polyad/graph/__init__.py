"""The graph: what a computation is, whoever wrote it down. `polyad.jit.capture` makes one of a call.

values.py      memory, tensors over it at one time, constants, numbers that are read
graph.py       calls in their order: `Node`, `Graph`
structure.py   tensors inside of nested lists, tuples and dicts
replay.py      the same calls again
whole.py       graphs that a backend compiles as a whole
text.py        how a graph prints

Invariants: a graph is not changed, a pass makes another. Each value is made before it is used, by one node or from
outside. A value that is used names the present version of its storage; each write makes the next.
"""

from __future__ import annotations

from .graph import Graph, Node
from .values import Constant, ModuleCall, Scalar, Storage, Value

__all__ = ["Constant", "Graph", "ModuleCall", "Node", "Scalar", "Storage", "Value"]
