"""What `export` makes: a model in memory, which can be run, changed and saved."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polyad as torch
from polyad.base.extras import needed
from polyad.graph import Graph
from polyad.graph.structure import leaves

from ..errors import OnnxExporterError
from .element_types import array_of, onnx_ir

__all__ = ["ONNXProgram"]

LARGEST_FILE = (1 << 31) - (1 << 20)
"""Of more bytes of weights than this no single file is written: the format's limit is 2 GB, and the rest needs room."""


class ONNXProgram:
    """A model in ONNX's form.

    Attributes:
        model: as onnx-ir's ``Model``, which may be changed.
        exported_program: the graph that it was made of.

    >>> import polyad as torch
    >>> program = torch.onnx.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),))
    >>> [value.name for value in program.model.graph.inputs], [node.op_type for node in program.model.graph]
    (['input'], ['Gemm'])
    >>> program.model_proto.graph.initializer[0].name
    'weight'
    """

    def __init__(self, model: Any, exported_program: Graph) -> None:
        self.model, self.exported_program = model, exported_program
        self._session: Any = None

    def __repr__(self) -> str:
        graph = self.model.graph
        opset = graph.opset_imports.get("")
        return f"<ONNX program {graph.name}: {len(graph.inputs)} inputs, {len(graph)} nodes, opset {opset}>"

    @property
    def model_proto(self) -> Any:
        """The model as the package onnx has it."""
        return onnx_ir().to_proto(self.model)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model in onnxruntime, on tensors nested as those of the export; gives a tensor for each output."""
        tensors = [leaf for _, leaf in leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        names = [value.name for value in self.model.graph.inputs if value.name not in self.model.graph.initializers]
        if len(tensors) != len(names):
            raise OnnxExporterError(
                f"ONNXProgram: {len(tensors)} tensors were given, the model has {len(names)} inputs",
                notes={"inputs": ", ".join(names)},
                fix="call it with arguments nested as those that it was exported with",
            )
        if self._session is None:
            self.initialize_inference_session()
        fed = {name: array_of(tensor) for name, tensor in zip(names, tensors, strict=True)}
        known = {one.name for one in self._session.get_inputs()}
        found = self._session.run(None, {name: array for name, array in fed.items() if name in known})
        return tuple([torch.from_numpy(array) if array.ndim else torch.tensor(array) for array in found])

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Make the session of onnxruntime that calls use; *initializer* makes one from a file or its bytes."""
        if initializer is None:
            runtime = needed("onnxruntime", "onnx,onnxruntime", "ONNXProgram: models are run by onnxruntime")
            options = runtime.SessionOptions()
            options.log_severity_level = 3

            def initializer(source: Any) -> Any:
                return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

        if self._weight() < LARGEST_FILE:
            self._session = initializer(self.model_proto.SerializeToString())
            return
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            self.save(path, external_data=True)
            self._session = initializer(path)

    def release(self) -> None:
        """Let go of the session."""
        self._session = None

    def _weight(self) -> int:
        return sum(value.const_value.nbytes for value in self.model.graph.initializers.values() if value.const_value)

    def apply_weights(self, state_dict: Mapping[str, Any]) -> None:
        """Replace weights by those of the same names. Raises RuntimeError for one that does not fit."""
        ir, known = onnx_ir(), self.model.graph.initializers
        for name, tensor in state_dict.items():
            if name not in known:
                continue
            value, held = known[name], ir.Tensor(array_of(tensor), name=name)
            if tuple(held.shape) != tuple(value.shape) or held.dtype != value.type.dtype:
                raise OnnxExporterError(
                    f"apply_weights: {name} does not fit: the model has {value.type.dtype} {tuple(value.shape)}",
                    operands={name: tensor},
                    fix="pass a tensor of that dtype and shape",
                )
            value.const_value = held
        self.release()

    def save(
        self,
        destination: str | os.PathLike[str],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file.

        With *external_data* weights are in a file ``<destination>.data`` beside it; so they are, whatever is asked
        for, where all together are more than the 2 GB that a single file holds. Without *include_initializers* weights
        are inputs of the model, and with *keep_initializers_as_inputs* they may be given.
        """
        ir, graph = onnx_ir(), self.model.graph
        path, kept, inputs = Path(destination), dict(graph.initializers), list(graph.inputs)
        if external_data is None:
            external_data = False
        apart = external_data or self._weight() > LARGEST_FILE
        try:
            if keep_initializers_as_inputs or not include_initializers:
                graph.inputs.extend(value for value in kept.values() if value not in inputs)
            if not include_initializers:
                graph.initializers.clear()
            ir.save(self.model, path, external_data=f"{path.name}.data" if apart and include_initializers else None)
        finally:
            graph.inputs[:] = inputs
            graph.initializers.update(kept)
