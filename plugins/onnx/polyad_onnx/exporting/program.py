"""What `export` makes: a model in memory, which can be run, changed and saved."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import polyad as torch
from polyad.base.extras import needed
from polyad.files.writing import replacing
from polyad.graph import Graph
from polyad.graph.structure import leaves

from ..errors import OnnxExporterError
from .element_types import array_of, onnx_ir

__all__ = ["ONNXProgram"]

LARGEST_FILE = (1 << 31) - (1 << 20)
"""Of more bytes of weights than this no single file is written: the format's limit is 2 GB, and the rest needs room."""

LEAST_APART = 1024
"""Smaller weights stay in the model, in which shapes and the like are looked for."""

ALIGNMENT = 4096
"""Weights begin at multiples of this in their file, so that it can be mapped."""


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
        if self._session is None:
            self.initialize_inference_session()
        known = {one.name for one in self._session.get_inputs()}
        fed = {name: array for name, array in self._fed(args, kwargs).items() if name in known}
        return _tensors_of(self._session.run(None, fed))

    def _fed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays of the tensors among the arguments, by the names of inputs."""
        tensors = [leaf for _, leaf in leaves((args, dict(kwargs))) if isinstance(leaf, torch.Tensor)]
        names = [value.name for value in self.model.graph.inputs if value.name not in self.model.graph.initializers]
        if len(tensors) != len(names):
            raise OnnxExporterError(
                f"ONNXProgram: {len(tensors)} tensors were given, the model has {len(names)} inputs",
                notes={"inputs": ", ".join(names)},
                fix="call it with arguments nested as those that it was exported with",
            )
        return {name: array_of(tensor) for name, tensor in zip(names, tensors, strict=True)}

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

    def optimize(self) -> None:
        """Compute once what is computed twice, and leave out what nobody uses."""
        onnx_ir()
        from onnx_ir.passes import common

        for one in (common.CommonSubexpressionEliminationPass(), common.RemoveUnusedNodesPass()):
            one(self.model)
        self.release()

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Give open sizes other names, in all shapes of the model."""
        ir, names = onnx_ir(), {str(getattr(old, "value", old)): new for old, new in rename_mapping.items()}
        graph = self.model.graph
        for value in (*graph.inputs, *(value for node in graph.all_nodes() for value in node.outputs)):
            if value.shape is not None:
                value.shape = ir.Shape([
                    size if isinstance(size, int) else names.get(str(size.value), size.value) for size in value.shape
                ])  # fmt: skip
        self.release()

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model as onnx's own reference does, which is slow and plain."""
        reference = needed("onnx.reference", "onnx", "ONNXProgram: the reference is the onnx package's")
        found = reference.ReferenceEvaluator(self.model_proto).run(None, self._fed(args, kwargs))
        return _tensors_of(found)

    def compute_values(
        self, value_names: Sequence[str], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> tuple[Any, ...]:
        """What values within the model are for an input, by their names. Raises RuntimeError for an unknown name."""
        graph = self.model.graph
        known = {value.name: value for node in graph for value in node.outputs} | {
            one.name: one for one in graph.inputs
        }
        unknown = [name for name in value_names if name not in known]
        if unknown:
            raise OnnxExporterError(
                f"compute_values: the model has no value {unknown[0]!r}", fix="print(program.model) shows the names"
            )
        outputs = list(graph.outputs)
        graph.outputs[:] = [known[name] for name in value_names]
        try:
            self.release()
            return self(*args, **(kwargs or {}))
        finally:
            graph.outputs[:] = outputs
            self.release()

    def save(
        self,
        destination: str | os.PathLike[str] | IO[bytes],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a path, or to a file that is open for bytes.

        With *external_data* weights are in a file ``<destination>.data`` beside it; so they are, whatever is asked
        for, where all together are more than the 2 GB that a single file holds. Without *include_initializers* weights
        are inputs of the model, and with *keep_initializers_as_inputs* they may be given. A file is there whole or not
        at all. Raises RuntimeError for a model above 2 GB that is to be written to an open file.
        """
        graph = self.model.graph
        kept, inputs = dict(graph.initializers), list(graph.inputs)
        apart = include_initializers and (external_data or self._weight() > LARGEST_FILE)
        held = {name: value.const_value for name, value in kept.items()}
        try:
            if keep_initializers_as_inputs or not include_initializers:
                graph.inputs.extend(value for value in kept.values() if value not in inputs)
            if not include_initializers:
                graph.initializers.clear()
            if not isinstance(destination, (str, os.PathLike)):
                if apart:
                    raise OnnxExporterError(
                        "save: weights cannot be written beside an open file",
                        fix="pass a path, so that a file .data is",
                    )
                destination.write(self.model_proto.SerializeToString())
                return
            path = Path(destination)
            if apart:
                self._write_weights(path, list(kept.values()))
            with replacing(path, "onnx.export") as file:
                file.write(self.model_proto.SerializeToString())
        finally:
            graph.inputs[:] = inputs
            graph.initializers.update(kept)
            for name, value in kept.items():
                value.const_value = held[name]

    def _write_weights(self, path: Path, values: Sequence[Any]) -> None:
        """Write weights to the file beside *path*, each where systems can map it, and let the model name it."""
        ir, name = onnx_ir(), f"{path.name}.data"
        with replacing(path.with_name(name), "onnx.export") as file:
            place = 0
            for value in values:
                tensor = value.const_value
                if tensor.nbytes < LEAST_APART:
                    continue
                gap = -place % ALIGNMENT
                file.write(b"\0" * gap)
                place += gap
                file.write(tensor.tobytes())
                value.const_value = ir.ExternalTensor(
                    name, place, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=tensor.name, base_dir=path.parent
                )
                place += tensor.nbytes


def _tensors_of(arrays: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([torch.from_numpy(array) if array.ndim else torch.tensor(array) for array in arrays])
