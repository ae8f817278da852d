"""Files of ONNX: the model of a path, of bytes or of an open file, with the tensors that it keeps in files beside it.

Invariants: of the files beside a model only those in its folder are read, and not through links that lead out of it;
nothing of a file is believed before it is compared with the file's size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from polyad.errors import ArgumentTypeError, SerializationError, safe_repr
from polyad.files import is_remote, opened

__all__ = ["read"]

FIX = "the file is damaged or no ONNX model: use another copy, or export it again"


def read(source: Any) -> onnx.ModelProto:
    """The model that *source* is or names, complete with its external tensors."""
    if isinstance(source, onnx.ModelProto):
        source = source.SerializeToString()  # a copy: loading takes the tensors out of it
    folder = None
    if isinstance(source, (bytes, bytearray, memoryview)):
        data, name = bytes(source), f"{len(source)} bytes"
    elif hasattr(source, "read"):
        data, name = source.read(), safe_repr(source)
    elif isinstance(source, (str, os.PathLike)):
        with opened(source, "onnx.load") as stream:
            data, name = stream.read(), os.fspath(source)
        if not is_remote(str(source)):
            folder = Path(os.path.realpath(source)).parent
    else:
        raise ArgumentTypeError(
            f"onnx.load: model is {type(source).__name__}",
            operands={"model": source},
            fix="pass a path, the bytes of a file, a file open for reading, or an onnx.ModelProto",
        )
    if not isinstance(data, bytes):
        raise ArgumentTypeError("onnx.load: the file is open for text", fix='open it with mode "rb"')
    model = _parsed(data, name)
    for graph in _graphs(model):
        _check_names(graph, name)
    for tensor in _external(model):
        _attach(tensor, folder)
    return model


def _parsed(data: bytes, name: str) -> onnx.ModelProto:
    try:
        model = onnx.ModelProto.FromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise SerializationError(
            f"onnx.load: {name}: it is not a message of ONNX's format", notes={"found": safe_repr(str(error))}, fix=FIX
        ) from error
    if not model.HasField("graph"):
        raise SerializationError(f"onnx.load: {name}: it holds no graph", fix=FIX)
    if not model.opset_import and not model.functions and model.graph.node:
        raise SerializationError(f"onnx.load: {name}: it does not say which operator set it uses", fix=FIX)
    return model


def _graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto | onnx.FunctionProto]:
    """The graphs of a model: its own, its functions, and those that nodes hold."""
    waiting: list[Any] = [model.graph, *model.functions]
    while waiting:
        graph = waiting.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    waiting.append(attribute.g)
                waiting.extend(attribute.graphs)


def _check_names(graph: onnx.GraphProto | onnx.FunctionProto, name: str) -> None:
    """Refuse names that are no text: protobuf gives them as bytes."""
    for node in graph.node:
        texts = [node.name, node.op_type, node.domain, *node.input, *node.output]
        texts += [text for attribute in node.attribute for text in (attribute.name, attribute.ref_attr_name)]
        if not all(isinstance(text, str) for text in texts):
            raise SerializationError(f"onnx.load: {name}: the names of a node are no UTF-8", fix=FIX)
    values = graph.input if isinstance(graph, onnx.FunctionProto) else [each.name for each in graph.input]
    tensors = [] if isinstance(graph, onnx.FunctionProto) else [each.name for each in graph.initializer]
    if not all(isinstance(text, str) for text in (graph.name, *values, *tensors)):
        raise SerializationError(f"onnx.load: {name}: the names of a graph are no UTF-8", fix=FIX)


def _external(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors of a model whose numbers are in other files."""
    for graph in _graphs(model):
        tensors = [] if isinstance(graph, onnx.FunctionProto) else list(graph.initializer)
        tensors += [attribute.t for node in graph.node for attribute in node.attribute if attribute.HasField("t")]
        yield from (each for each in tensors if each.data_location == onnx.TensorProto.EXTERNAL)


def _attach(tensor: onnx.TensorProto, folder: Path | None) -> None:
    """Read the numbers of a tensor from the file that it names, into the tensor."""
    where = f"onnx.load: tensor {safe_repr(tensor.name)}"
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise SerializationError(
            f"{where}: its numbers are in the file {safe_repr(location)} beside the model, which bytes do not have",
            fix="load the model by its path",
        )
    path = Path(os.path.realpath(folder / location))
    if not location or "\0" in location or folder not in path.parents:
        raise SerializationError(
            f"{where}: it names the file {safe_repr(location)}, which is not in the model's folder",
            fix="put the file beside the model; a model may not read other files",
        )
    try:
        start, length = int(entries.get("offset", 0)), int(entries["length"]) if "length" in entries else None
    except ValueError as error:
        raise SerializationError(f"{where}: offset and length of its numbers are no integers", fix=FIX) from error
    with opened(path, "onnx.load") as stream:
        size = os.fstat(stream.fileno()).st_size
        length = size - start if length is None else length
        if start < 0 or length < 0 or start + length > size:
            raise SerializationError(
                f"{where}: it wants bytes {start} to {start + length} of {safe_repr(location)}, which has {size}",
                fix="the file is cut short or not the model's own: copy both again",
            )
        stream.seek(start)
        tensor.raw_data = stream.read(length)
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]
