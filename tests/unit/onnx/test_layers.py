"""Every layer, activation and loss: exported with an open batch, compared in onnxruntime at two sizes, and read again.

Each is tested at one opset; with POLYAD_ONNX_OPSETS="14,17,21,28", as ``nox -s onnx`` has it, at all of these.
"""

import os
import warnings

import pytest

import polyad as torch

from .layers import ALL, Layer

pytest.importorskip("onnx_ir")
pytest.importorskip("onnxruntime")

OPSETS = (14, 17, 18, 21, 24)
WANTED = [int(one) for one in os.environ.get("POLYAD_ONNX_OPSETS", "").split(",") if one]
CASES = [(name, opset) for place, name in enumerate(ALL) for opset in (WANTED or [OPSETS[place % len(OPSETS)]])]


def batch_axes(layer: Layer) -> tuple[dict[str, dict[int, str]], tuple[object, ...]]:
    """The dimensions that are the batch, found by two batches, and inputs of the one."""
    one, other = layer.inputs(3), layer.inputs(4)
    axes = {
        f"input_{place}": {dim: "batch" for dim in range(a.dim()) if a.shape[dim] != b.shape[dim]}
        for place, (a, b) in enumerate(zip(one, other, strict=True))
    }
    return axes, one


@pytest.mark.parametrize(("name", "opset"), CASES)
def test_a_layer_gives_the_same_in_onnxruntime_for_every_batch(name, opset):
    torch.manual_seed(0)
    layer = ALL[name]
    module = layer.make()
    axes, inputs = batch_axes(layer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.onnx.errors.OnnxExporterWarning)  # that results were not compared
        program = torch.onnx.export(module, inputs, input_names=list(axes), dynamic_axes=axes, opset_version=opset)
    assert program.model.graph.opset_imports[""] == opset
    again = torch.onnx.load(program.model_proto)(*inputs)
    for ours, theirs in zip(program(*inputs), again if isinstance(again, tuple) else (again,), strict=True):
        torch.testing.assert_close(theirs.detach(), ours, rtol=1e-3, atol=1e-5)
    shapes = [value.shape for value in program.model.graph.inputs]
    assert [[str(size) for size in shape] for shape in shapes] == [
        [axes[name].get(dim, str(size)) for dim, size in enumerate(tensor.shape)]
        for name, tensor in zip(axes, inputs, strict=True)
    ]
