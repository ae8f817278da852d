"""polyad as one of ONNX's backends: what `onnx.backend.test` and programs written against `onnx.backend.base` call.

>>> import onnx.parser
>>> import numpy as np
>>> from polyad.onnx import backend
>>> graph = "agraph (float[2] x) => (float[2] y) {y = Neg(x)}"
>>> model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {graph}')
>>> backend.run_model(model, [np.ones(2, np.float32)])
[array([-1., -1.], dtype=float32)]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

import polyad
from polyad import Tensor

from .importing import ONNXModule, read
from .importing.elements import ElementType, element_type, from_array, to_array

__all__ = ["PolyadBackend", "PolyadRep", "is_compatible", "prepare", "run_model", "supports_device"]


class PolyadRep(BackendRep):
    """A model that is ready to run on arrays."""

    def __init__(self, module: ONNXModule, model: onnx.ModelProto, device: Any) -> None:
        self.module = module
        self.device = device
        self.kinds = [_kind(value.type) for value in model.graph.output]

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """The outputs for *inputs*: arrays, lists of arrays for sequences, None for empty optional values."""
        given = list(inputs.values()) if isinstance(inputs, dict) else inputs
        given = given if isinstance(given, (list, tuple)) else [given]
        with polyad.no_grad():
            made = self.module(*[self._in(each) for each in given])
        outputs = made if isinstance(made, tuple) else (made,)
        return [self._out(each, kind) for each, kind in zip(outputs, self.kinds, strict=True)]

    def _in(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._in(each) for each in value]
        return None if value is None else from_array(np.asarray(value)).to(self.device)

    def _out(self, value: Any, kind: ElementType | None) -> Any:
        if isinstance(value, list):
            return [self._out(each, kind) for each in value]
        return to_array(value, kind) if isinstance(value, Tensor) else value


def _kind(declared: onnx.TypeProto) -> ElementType | None:
    """The type of elements that a graph says of an output, where it is one."""
    if declared.WhichOneof("value") != "tensor_type" or not declared.tensor_type.elem_type:
        return None
    return element_type(declared.tensor_type.elem_type, "an output")


class PolyadBackend(Backend):
    """The class that ONNX's test runner takes."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether polyad computes every operator of the model."""
        try:
            ONNXModule(read(model))
        except NotImplementedError:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PolyadRep:
        """The model, ready to run on *device*: ONNX's "CPU" and "CUDA", or any of polyad's."""
        place = polyad.device(device.lower())
        return PolyadRep(ONNXModule(read(model), place), model, place)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """The outputs of a model, called once."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> Any:
        """The outputs of one node, called once."""
        given = dict(zip([name for name in node.input if name], inputs, strict=True))
        values = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in given.items()
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", values, outputs)
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        opsets = [onnx.helper.make_opsetid(node.domain, version)]
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), list(given.values()), device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether *device* is one that polyad finds here."""
        try:
            polyad.empty(0, device=device.lower())
        except (RuntimeError, ValueError, ImportError):
            return False
        return True


is_compatible = PolyadBackend.is_compatible
prepare = PolyadBackend.prepare
run_model = PolyadBackend.run_model
supports_device = PolyadBackend.supports_device
