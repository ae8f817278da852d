"""Calls as graphs: `capture` records what a function does, as ops with abstract values; the `Graph` prints and replays.

capture.py     the mode that records
graph.py       the graph: values, nodes, replay
compiling.py   graphs that a backend compiles as a whole
listing.py     how a graph prints
structure.py   tensors inside of nested lists, tuples and dicts
"""

from .capture import BakedValueWarning, capture, trace
from .graph import Constant, Graph, ModuleCall, Node, Value

__all__ = ["BakedValueWarning", "Constant", "Graph", "ModuleCall", "Node", "Value", "capture", "trace"]
