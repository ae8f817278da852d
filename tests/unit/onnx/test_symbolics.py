"""What symbolic functions of libraries are written with."""

from __future__ import annotations

import numpy as np
import pytest

import polyad as torch
from polyad.library import custom_op
from polyad.onnx import symbolic_opset11 as opset11
from polyad.onnx.symbolic_helper import parse_args


def test_a_symbolic_function_is_given_what_its_descriptors_say() -> None:
    runtime = pytest.importorskip("onnxruntime")

    @custom_op("symbolics::row", mutates_args=())
    def row(x: torch.Tensor, at: int, factor: float) -> torch.Tensor:
        return x[at].unsqueeze(1) * factor

    row.register_fake(lambda x, at, factor: x[at].unsqueeze(1).clone())

    @parse_args("v", "i", "f")
    def symbolic(g, x, at, factor):
        wide = opset11.unsqueeze(g, opset11.select(g, x, 0, at), 0)
        column = opset11.unsqueeze(g, opset11.squeeze(g, wide, 0), 1)
        return g.op("Mul", column, g.op("Constant", value_t=torch.tensor(factor)))

    torch.onnx.register_custom_op_symbolic("symbolics::row", symbolic, 11)
    try:
        x = torch.randn(3, 4)
        program = torch.onnx.export(lambda x: row(x, 1, 2.0), (x,))
    finally:
        torch.onnx.unregister_custom_op_symbolic("symbolics::row", 11)
    session = runtime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert np.array_equal(found, (x[1].unsqueeze(1) * 2).numpy())


def test_descriptors_are_checked() -> None:
    with pytest.raises(ValueError, match="no descriptor 'q'"):
        parse_args("q")
    with pytest.raises(TypeError, match="2 arguments for 1"):
        parse_args("v")(lambda g, *args: args)(None, 1, 2)
    with pytest.raises(TypeError, match="descriptor 'i'"):
        parse_args("i")(lambda g, *args: args)(None, "x")
    assert parse_args("i", "fs")(lambda g, *args: args)(None, None, (1, 2)) == (None, [1.0, 2.0])
