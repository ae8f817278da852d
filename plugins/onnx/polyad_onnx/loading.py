"""The face of reading: `load`."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

from polyad.errors import PolyadError

if TYPE_CHECKING:
    import onnx

    from .importing import ONNXModule

__all__ = ["load"]


class PackageMissing(PolyadError, ImportError):
    """The onnx package, which reads the format, is not installed."""


def load(model: str | os.PathLike[str] | bytes | IO[bytes] | onnx.ModelProto, device: Any = None) -> ONNXModule:
    """The Module that computes an ONNX model; it trains where the model's operators have gradients.

    Args:
        model: a path or URL, the bytes of a file, a file open for reading, or a model of the onnx package. Tensors
            that a model keeps in other files are read from its folder, and from nowhere else.
        device: where the module shall be; the default device if None. It moves with ``.to(...)``.

    Raises:
        RuntimeError (SerializationError): it is no model of ONNX's, it is damaged, or of an unknown operator set.
        NotImplementedError: it holds operators or types that polyad does not compute; all of the operators are named.
        OSError: the file cannot be read.
        ImportError: the onnx package is not installed.

    >>> import onnx.parser
    >>> import polyad as torch, polyad.onnx
    >>> graph = "agraph (float[n, 2] x) => (float[n, 2] y) <float[2] w = {1, 2}> {y = Mul(x, w)}"
    >>> module = polyad.onnx.load(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph))
    >>> module(torch.ones(1, 2))
    tensor([[1., 2.]], grad_fn=<MulBackward0>)
    >>> list(module.state_dict())
    ['w']
    """
    try:
        from .importing import ONNXModule, read
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("onnx", "google"):
            raise
        raise PackageMissing(
            "onnx.load: the onnx package is not installed", fix="pip install 'polyad[onnx]'"
        ) from error
    try:
        return ONNXModule(read(model), device)
    except PolyadError as error:
        if isinstance(model, (str, os.PathLike)) and os.fspath(model) not in error.message:
            error.lines["file"] = os.fspath(model)
        raise
