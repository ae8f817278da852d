"""Shapes and dtypes of the nodes of a graph, from running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import polyad
from polyad import Tensor

from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements.

    Attributes:
        memory_format: of `polyad.contiguous_format`, `channels_last` and `channels_last_3d` the first that it lies in.
        is_quantized, qparams: False and empty: numbers are not quantized.
    """

    shape: polyad.Size
    dtype: polyad.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: polyad.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = (polyad.contiguous_format, polyad.channels_last, polyad.channels_last_3d)
_DIMENSIONS = {polyad.channels_last: 4, polyad.channels_last_3d: 5}


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    lies = None
    for form in _FORMATS if include_contiguity else ():
        if _DIMENSIONS.get(form, result.ndim) == result.ndim and result.is_contiguous(memory_format=form):
            lies = form
            break
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), lies, False, {})


class ShapeProp(Interpreter):
    """Runs a graph, and notes in each node's meta what came out: ``tensor_meta``, a `TensorMetadata` or containers of
    these, and ``type``.

    >>> import polyad as torch
    >>> from polyad.fx.passes.shape_prop import ShapeProp
    >>> module = torch.fx.symbolic_trace(torch.nn.Linear(4, 3))
    >>> _ = ShapeProp(module).propagate(torch.ones(2, 4))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in module.graph.nodes if node.op == "call_function"]
    [(2, 3)]

    On device "meta" nothing is computed: give it a module and tensors there.
    """

    def __init__(self, gm: GraphModule, fake_mode: None = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise polyad.errors.NotSupported(
                "ShapeProp: there is no fake mode", fix="run it on device meta: ShapeProp(module.to('meta'))"
            )

    def run_node(self, n: Node) -> Any:
        """The value of a node, whose shape is noted."""
        result = super().run_node(n)
        found = False

        def described(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        known = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = known
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module on *args*. Returns what it gives."""
        return super().run(*args)
