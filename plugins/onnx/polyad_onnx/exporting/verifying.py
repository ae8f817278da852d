"""Whether a model is what the program computes: by onnx's checker and shape inference, and by onnxruntime's results."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from typing import Any

import polyad as torch
from polyad.base.extras import needed

from ..errors import OnnxExporterError, OnnxExporterWarning
from .program import LARGEST_FILE, ONNXProgram

TOLERANCE = {torch.float64: (1e-6, 1e-8), torch.float32: (1e-3, 1e-4), torch.float16: (2e-2, 1e-2)}
"""How far results may be apart, relative and absolute: kernels add up in another order."""


def check(program: ONNXProgram) -> None:
    """Raise RuntimeError for a model that onnx's checker or its shape inference refuses."""
    onnx = needed("onnx", "onnx", "onnx.export: models are checked by onnx")
    if program._weight() >= LARGEST_FILE:
        return  # the checker takes no message of that size
    try:
        onnx.checker.check_model(program.model_proto, full_check=True)
    except Exception as error:
        raise OnnxExporterError(
            f"onnx.export: the checker refuses the model: {str(error).strip().splitlines()[0]}",
            notes={"said": str(error)[:2000]},
            fix="report this as a defect of polyad.onnx; verify=False writes the model anyway",
        ) from error


LACKING = ("NOT_IMPLEMENTED", "Unsupported model IR", "not currently registered", "No corresponding Numpy type")
"""What onnxruntime says of a valid model for which it has no kernels or types."""

DRAWN = {
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
    "Dropout",
}
"""Operators whose numbers are the runtime's own."""


def draws(program: ONNXProgram) -> bool:
    """Whether a model draws random numbers, so that results are others each time."""
    return any(node.op_type in DRAWN for node in program.model.graph.all_nodes())


def compare(program: ONNXProgram, given: Any, expected: Sequence[Any], what: str) -> None:
    """Raise RuntimeError if onnxruntime gives other results than *expected* for (args, kwargs) *given*; warn if it is
    not there, or cannot run such a model.
    """
    if importlib.util.find_spec("onnxruntime") is None:
        warnings.warn(
            "onnx.export: onnxruntime is not installed, so results were not compared; pip install onnxruntime",
            OnnxExporterWarning,
            stacklevel=4,
        )
        return
    try:
        found = program(*given[0], **given[1])
    except Exception as error:
        if not any(said in str(error) for said in LACKING):
            raise OnnxExporterError(
                f"onnx.export: onnxruntime does not run the model for {what}: {str(error)[:300]}",
                fix="report this as a defect of polyad.onnx; verify=False writes the model anyway",
            ) from error
        warnings.warn(
            f"onnx.export: onnxruntime cannot run this model, so results were not compared: {str(error)[:200]}",
            OnnxExporterWarning,
            stacklevel=4,
        )
        return
    names, drawn = [value.name for value in program.model.graph.outputs], draws(program)
    for name, ours, theirs in zip(names, expected, found, strict=True):
        _compare_output(name, what, ours.detach().cpu(), theirs, drawn)


def _compare_output(name: str, what: str, ours: Any, theirs: Any, drawn: bool) -> None:
    if tuple(ours.shape) != tuple(theirs.shape) or ours.dtype != theirs.dtype:
        raise OnnxExporterError(
            f"onnx.export: output {name} is another in onnxruntime, for {what}",
            operands={"polyad": ours, "onnxruntime": theirs},
            fix="report this as a defect of polyad.onnx; verify=False writes the model anyway",
        )
    relative, absolute = TOLERANCE.get(ours.dtype, (0.0, 0.0))
    if drawn or torch.allclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True):
        return
    wide = ours.to(torch.float64), theirs.to(torch.float64)
    raise OnnxExporterError(
        f"onnx.export: output {name} has other numbers in onnxruntime, for {what}: "
        f"they differ by up to {(wide[0] - wide[1]).abs().max().item():.3g}",
        operands={"polyad": ours, "onnxruntime": theirs},
        fix="report this as a defect of polyad.onnx; verify=False writes the model anyway",
    )
