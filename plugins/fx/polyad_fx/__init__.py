"""Programs as graphs that can be edited: PyTorch's ``torch.fx``, shown as ``polyad.fx``.

node.py                a call, with its users
graph.py               the calls in order: made, moved, erased, checked
codegen.py, names.py   the Python function that is written from a graph
graph_module.py        the module whose forward it is
proxy.py               what stands for a value while a program is traced
_symbolic_trace.py     the tracer
intercepting.py        what reaches it
interpreter.py         running a graph node by node, and making another of it
subgraph_rewriter.py   replacing a pattern
operator_schemas.py    arguments as signatures have them
passes/                shapes of nodes, modules split in parts, pictures
experimental/          `make_fx`: the ops that a call makes, as a graph

>>> import polyad as torch
>>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) * 2)
>>> for node in module.graph.find_nodes(op="call_function", target=torch.relu):
...     node.target = torch.sigmoid
>>> _ = module.recompile()
>>> module(torch.zeros(1))
tensor([1.])
"""

from importlib import import_module
from typing import Any

from polyad.compatibility.absent import lacking

from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

_absent = lacking(__name__)

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]


def __getattr__(name: str) -> Any:
    """The modules that nobody has imported yet."""
    return import_module(f"{__name__}.{name}") if name in ("experimental", "passes") else _absent(name)
