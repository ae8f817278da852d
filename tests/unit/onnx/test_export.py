"""What `polyad.onnx.export` writes. It compares with onnxruntime itself, on the example and at other sizes."""

import io
import warnings

import pytest

import polyad as torch
from polyad import vision
from polyad._higher_order_ops import map as map_slices, scan
from polyad.library import custom_op

from .models import GPT, MobileNet, Tagger, Translation, UNet, VisionTransformer

nn = torch.nn
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnx_ir")
runtime = pytest.importorskip("onnxruntime")

errors = torch.onnx.errors


@pytest.fixture(autouse=True)
def compared():
    """Fail where results were not compared."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.OnnxExporterWarning)
        yield


def operators(program):
    return [node.op_type for node in program.model.graph]


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


# ------------------------------------------------------------------------------------------------ models

TOKENS = {0: "batch", 1: "length"}
MODELS = {
    "mlp": (mlp, lambda: (torch.randn(3, 4),), [{0: "batch"}]),
    "resnet": (vision.models.resnet18, lambda: (torch.randn(1, 3, 32, 32),), [{0: "batch", 2: "height", 3: "width"}]),
    "mobilenet": (MobileNet, lambda: (torch.randn(1, 3, 32, 32),), [{0: "batch"}]),
    "vit": (VisionTransformer, lambda: (torch.randn(2, 3, 16, 16),), [{0: "batch"}]),
    "gpt": (lambda: GPT(fused=False), lambda: (torch.randint(0, 17, (2, 8)),), [TOKENS]),
    "gpt, fused": (lambda: GPT(fused=True), lambda: (torch.randint(0, 17, (2, 8)),), [TOKENS]),
    "tagger": (Tagger, lambda: (torch.randint(0, 20, (2, 7)),), [TOKENS]),
    "u-net": (UNet, lambda: (torch.randn(1, 3, 9, 12),), [{0: "batch", 2: "height", 3: "width"}]),
    "translation": (
        Translation,
        lambda: (torch.randint(0, 20, (2, 7)), torch.randint(0, 20, (2, 5))),
        [{0: "batch", 1: "source"}, {0: "batch", 1: "target"}],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_the_same_at_all_sizes(name, tmp_path):
    make, inputs, axes = MODELS[name]
    model, args = make(), inputs()
    names = [f"input_{place}" for place in range(len(args))]
    path = tmp_path / "model.onnx"
    program = torch.onnx.export(model, args, path, input_names=names, dynamic_axes=dict(zip(names, axes, strict=True)))
    assert model.training  # as it was
    session = runtime.InferenceSession(path)
    found = session.run(None, {name: one.numpy() for name, one in zip(names, args, strict=True)})
    expected = model.eval()(*args).detach()
    torch.testing.assert_close(torch.from_numpy(found[0]), expected, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(program(*args)[0], expected, rtol=1e-3, atol=1e-4)


def test_names_are_the_paths_of_modules():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sequential(nn.ReLU(), nn.Flatten()))
    program = torch.onnx.export(model, (torch.randn(1, 1, 4, 4),))
    assert [node.name for node in program.model.graph] == ["0/Conv", "1.0/Relu", "1.1/Reshape"]
    assert list(program.model.graph.initializers)[:2] == ["0.weight", "0.bias"]


def test_normalisation_goes_into_the_convolution_before_it_unless_weights_are_to_stay():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval()
    with torch.no_grad():
        model[1].running_mean.copy_(torch.tensor([1.0, -2.0]))
        model[1].running_var.copy_(torch.tensor([4.0, 0.5]))
    x = torch.randn(1, 1, 4, 4)
    assert operators(torch.onnx.export(model, (x,))) == ["Conv"]
    program = torch.onnx.export(model, (x,), do_constant_folding=False)
    assert operators(program) == ["Conv", "BatchNormalization"]
    assert torch.equal(
        torch.from_numpy(program.model.graph.initializers["0.weight"].const_value.numpy()), model[0].weight
    )


def test_recurrent_layers_are_one_operator_each():
    program = torch.onnx.export(nn.LSTM(3, 4, 2), (torch.randn(5, 2, 3),), dynamic_axes={"input": [0, 1]})
    assert operators(program).count("LSTM") == 2
    assert not {"Loop", "Sigmoid"} & set(operators(program))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_other_dtypes(dtype):
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh()).to(dtype)
    program = torch.onnx.export(model, (torch.randn(3, 4, dtype=dtype),))
    assert program(torch.ones(3, 4, dtype=dtype))[0].dtype is dtype


def numbers(x):
    return x // 3, x % -4, x.sum(), x.float().mean(), x > 2, ~x, x.clamp(-1, 3), x & 6, x << 1, (x > 0).any()


def test_integers_and_truths():
    torch.onnx.export(numbers, (torch.arange(-5, 6),))
    torch.onnx.export(lambda x: (x & ~x, x.sum(), x + x, x.to(torch.int8)), (torch.tensor([True, False]),))


def test_nan_zero_sized_and_0d():
    odd = torch.tensor([float("nan"), float("inf"), -0.0, 3.0])
    torch.onnx.export(lambda x: (x.clamp(-1, 1), x.isnan(), x.nan_to_num(), x.sign(), x.relu(), x.max()), (odd,))
    torch.onnx.export(lambda x: (torch.cat([x, x]), x.sum(0), x.mean(0), (x > 0).all(0)), (torch.ones(0, 3),))
    torch.onnx.export(lambda x: (x + 1, x.exp(), x.reshape(1)), (torch.tensor(2.0),))


def test_nested_arguments_and_results():
    def f(d, scale, flag=True):
        return {"a": d["x"] + scale if flag else d["x"], "b": [d["y"][0] * 2, d["x"]]}

    program = torch.onnx.export(f, ({"x": torch.ones(2), "y": [torch.ones(3)]}, 2.0), kwargs={"flag": True})
    assert [value.name for value in program.model.graph.inputs] == ["d['x']", "d['y'][0]"]
    assert len(program.model.graph.outputs) == 3
    assert len(program({"x": torch.ones(2), "y": [torch.ones(3)]}, 2.0)) == 3


def test_one_tensor_in_two_places_is_two_inputs():
    x = torch.ones(2)
    program = torch.onnx.export(lambda a, b: a - b, (x, x), input_names=["a", "b"])
    assert program(torch.ones(2), torch.zeros(2))[0].tolist() == [1, 1]


# ------------------------------------------------------------------------------------------------ writes and views


def written(x):
    x = x.clone()
    x[0, 1:] = 5.0
    x[:, 0].mul_(2)
    turned = x.t()
    turned[1].add_(1)
    x[x > 3] = 0
    x.diagonal().fill_(7)
    x.view(-1)[::2].add_(3)
    x.unsqueeze(1)[:, 0, 1:3] -= 1
    return x, turned, x[1]


def written_rows(x):
    y = torch.zeros(x.shape[0] + 1, x.shape[1])
    y[1:] = x
    y[:, -1].mul_(x.shape[0])
    y.view(-1).add_(3)
    y[1:, 1:].t()[0] = 4
    return y.t()


def test_writes_reach_everything_that_shows_the_memory():
    torch.onnx.export(written, (torch.randn(3, 4),))
    torch.onnx.export(written_rows, (torch.randn(4, 3),), dynamic_axes={"x": {0: "batch"}})


def test_a_write_to_an_input_stays_within_the_model():
    x = torch.ones(3)
    program = torch.onnx.export(lambda x: x.add_(1) * 2, (x,))
    assert x.tolist() == [1, 1, 1]
    assert program(torch.ones(3))[0].tolist() == [4, 4, 4]


# ------------------------------------------------------------------------------------------------ control flow


def halved(x):
    return torch.while_loop(lambda n, count: n.sum() > 1, lambda n, count: (n / 2, count + 1), (x, torch.tensor(0)))


def chosen(x):
    scale = torch.tensor(3.0)
    return torch.cond(
        x.sum() > 0, lambda x: torch.nn.functional.gelu(x, approximate="tanh"), lambda x: -x * scale, (x,)
    )


def scanned(x, w):
    return scan(lambda level, row: (level + row * w, level * 2), torch.zeros(2), x, reverse=True)


FLOWS = {
    "while": (halved, lambda: (torch.tensor([8.0, 3.0]),), "Loop", {}),
    "if": (chosen, lambda: (torch.randn(4, 2),), "If", {"x": {0: "n"}}),
    "scan": (scanned, lambda: (torch.randn(5, 2), torch.randn(2)), "Scan", {"x": {0: "time"}}),
    "map": (lambda x, w: map_slices(lambda row: row * w, x), lambda: (torch.randn(5, 2), torch.randn(2)), "Scan", {}),
    "nested": (
        lambda x: torch.cond(x.sum() > 0, lambda x: halved(x)[0], lambda x: x + 1, (x,)),
        lambda: (torch.tensor([8.0, 3.0]),), "If", {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOWS)
def test_control_flow_goes_where_the_data_says(name):
    function, inputs, operator, axes = FLOWS[name]
    args = inputs()
    program = torch.onnx.export(function, args, dynamic_axes=axes)
    assert operator in operators(program)
    other = [-one for one in args]
    expected = function(*other)
    for ours, theirs in zip(expected if isinstance(expected, tuple) else (expected,), program(*other), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_sizes_that_follow_from_data_are_open():
    for function in (lambda x: x[x > 0], lambda x: x[:, x[0] > 0] + 1, lambda x: torch.nonzero(x > 0) * 2):
        program = torch.onnx.export(function, (torch.tensor([[1.0, -1.0, 2.0]]),))
        other = torch.tensor([[1.0, 3.0, 2.0]])
        assert torch.equal(program(other)[0], function(other))
        assert not any(
            isinstance(size, int) for size in program.model.graph.outputs[0].shape[-1:] if function(other).dim() == 1
        )


# ------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    "given",
    [
        {"dynamic_axes": {"input": {0: "batch"}}},
        {"dynamic_axes": {"input": [0]}},
        {"dynamic_shapes": {"input": {0: "batch"}}},
        {"dynamic_shapes": ({0: "batch"},)},
        {"dynamic_shapes": [("batch", None)]},
        {"dynamic_shapes": {"input": {0: torch.export.Dim("batch", min=1, max=64)}}},
        {"dynamic_shapes": {"input": {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}}},
        {"dynamic_shapes": ({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.STATIC},)},
    ],
)
def test_open_sizes_may_be_said_in_many_ways(given):
    program = torch.onnx.export(mlp(), (torch.randn(3, 4),), **given)
    assert [isinstance(size, int) for size in program.model.graph.inputs[0].shape] == [False, True]
    assert program(torch.randn(9, 4))[0].shape == (9, 2)


def test_training_mode_and_state():
    model, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).eval(), torch.randn(3, 4)
    before, drawn = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    program = torch.onnx.export(model, (x,), training=torch.onnx.TrainingMode.TRAINING)
    assert "Dropout" in operators(program)
    assert not model.training
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(torch.equal(before[name], one) for name, one in model.state_dict().items())
    assert "Dropout" not in operators(torch.onnx.export(model.train(), (x,)))
    assert model.training


def test_layers_as_functions():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.LayerNorm(4), nn.LayerNorm(4))
    program = torch.onnx.export(
        model, (torch.randn(3, 4),), dynamic_axes={"input": {0: "b"}}, export_modules_as_functions=True
    )
    assert operators(program) == ["Linear", "Sequential", "LayerNorm", "LayerNorm"]
    assert sorted(name for _, name, _ in program.model.functions) == ["LayerNorm", "Linear", "ReLU", "Sequential"]
    program = torch.onnx.export(model, (torch.randn(3, 4),), export_modules_as_functions={nn.LayerNorm})
    assert operators(program) == ["Gemm", "Gemm", "Relu", "LayerNorm", "LayerNorm"]


def test_weights_may_be_inputs_or_given():
    model, x = mlp(), torch.randn(3, 4)
    file = io.BytesIO()
    torch.onnx.export(model, (x,), file, export_params=False)
    without = onnx.load_from_string(file.getvalue())
    assert not without.graph.initializer
    assert [one.name for one in without.graph.input][:3] == ["input", "0.weight", "0.bias"]
    file = io.BytesIO()
    torch.onnx.export(model, (x,), file, keep_initializers_as_inputs=True, input_names=["x", "first"])
    both = onnx.load_from_string(file.getvalue())
    assert both.graph.initializer[0].name == "first"
    session = runtime.InferenceSession(file.getvalue())
    found = session.run(None, {"x": x.numpy(), "first": torch.zeros(8, 4).numpy()})
    with torch.no_grad():
        model[0].weight.zero_()
    torch.testing.assert_close(torch.from_numpy(found[0]), model(x).detach())


def test_external_data(tmp_path, monkeypatch):
    model, x = nn.Linear(64, 64), torch.randn(2, 64)
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, (x,), path, external_data=True)
    assert (tmp_path / "model.onnx.data").stat().st_size == 64 * 64 * 4
    assert path.stat().st_size < 2000
    found = runtime.InferenceSession(path).run(None, {"input": x.numpy()})
    torch.testing.assert_close(torch.from_numpy(found[0]), model(x).detach())
    # What is too large for one file is written so whatever is asked for.
    monkeypatch.setattr("polyad.onnx.exporting.program.LARGEST_FILE", 1000)
    program = torch.onnx.export(model, (x,), tmp_path / "large.onnx")
    assert (tmp_path / "large.onnx.data").exists()
    torch.testing.assert_close(program(x)[0], model(x).detach())
    with pytest.raises(errors.OnnxExporterError, match="open file"):
        program.save(io.BytesIO())


def test_what_is_returned_can_be_asked(tmp_path, capsys):
    model, x = mlp(), torch.randn(3, 4)
    program = torch.onnx.export(
        model, (x,), dynamic_axes={"input": {0: "batch"}}, verbose=True, report=True, dump_exported_program=True,
        artifacts_dir=tmp_path,
    )  # fmt: skip
    assert "Gemm" in capsys.readouterr().out
    assert "| Gemm | 2 |" in (tmp_path / "onnx_export.md").read_text()
    assert torch.graph.parse((tmp_path / "exported_program.graph").read_text(), program.exported_program.state)
    torch.testing.assert_close(program.call_reference(x)[0], model(x).detach())
    (inner,) = program.compute_values(["1/Relu_output"], (x,))
    torch.testing.assert_close(inner, model[1](model[0](x)).detach())
    program.rename_axes({"batch": "rows"})
    assert str(program.model.graph.outputs[0].shape[0].value) == "rows"
    program.apply_weights({name: torch.zeros_like(one) for name, one in model.state_dict().items()})
    assert not program(x)[0].any()
    program.optimize()
    assert torch.onnx.export(model, (x,), tmp_path / "m.onnx", dynamo=False) is None


def test_graphs_and_functions_are_models_too():
    graph = torch.jit.capture(lambda x: x * 2 + 1, torch.ones(3))
    assert operators(torch.onnx.export(graph, (torch.ones(3),))) == ["Mul", "Add"]

    batch = torch.export.Dim("batch", min=1, max=32)
    exported = torch.export.export(nn.Linear(4, 2), (torch.randn(3, 4),), dynamic_shapes={"input": {0: batch}})
    program = torch.onnx.export(exported)
    assert str(program.model.graph.inputs[0].shape[0]) == "batch"
    assert program(torch.ones(7, 4))[0].shape == (7, 2)

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

    assert operators(torch.onnx.export(lambda x: Square.apply(x), (torch.ones(3),))) == ["Mul"]


def test_the_model_may_ask_whether_it_is_exported():
    seen = []
    torch.onnx.export(lambda x: seen.append(torch.onnx.is_in_onnx_export()) or x + 1, (torch.ones(2),))
    assert set(seen) == {True}
    assert not torch.onnx.is_in_onnx_export()


# ------------------------------------------------------------------------------------------------ the user's own ops


@custom_op("onnx_tests::twice", mutates_args=())
def twice(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


twice.register_fake(lambda x, factor: torch.empty_like(x))


def test_ops_of_the_user_need_a_translation():
    def model(x):
        return twice(x, 2.0) + 1

    with pytest.raises(errors.UnsupportedOperatorError, match="onnx_tests::twice"):
        torch.onnx.export(model, (torch.ones(2),))
    table = {"onnx_tests::twice": lambda g, x, factor: g.op("Mul", x, torch.tensor(factor))}
    assert operators(torch.onnx.export(model, (torch.ones(2),), custom_translation_table=table)) == ["Mul", "Add"]
    torch.onnx.register_custom_op_symbolic(
        "onnx_tests::twice", lambda g, x, factor: g.op("their.domain::Twice", x, factor_f=factor, kind_s="plain"), 14
    )
    try:
        program = torch.onnx.export(model, (torch.ones(2),), custom_opsets={"their.domain": 3}, verify=False)
    finally:
        torch.onnx.unregister_custom_op_symbolic("onnx_tests::twice", 14)
    node = program.model_proto.graph.node[0]
    assert (node.op_type, node.domain) == ("Twice", "their.domain")
    assert {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute} == {
        "factor": 2.0,
        "kind": b"plain",
    }
    assert program.model.graph.opset_imports["their.domain"] == 3


# ------------------------------------------------------------------------------------------------ what is refused


def test_ops_without_a_form_are_named_at_once_with_their_modules():
    class Factors(nn.Module):
        def forward(self, x):
            return torch.linalg.svdvals(x) + torch.linalg.eigvalsh(x)

    with pytest.raises(errors.UnsupportedOperatorError, match=r"2 ops have no form.*linalg_eigh, linalg_svd") as raised:
        torch.onnx.export(nn.Sequential(nn.Linear(3, 3), Factors()), (torch.randn(3, 3),))
    assert str(raised.value).count("in 1 (") == 2


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"opset_version": 13}, ValueError, "14 to"),
        ({"opset_version": 999}, ValueError, "14 to"),
        ({"opset_version": "18"}, TypeError, "no int"),
        ({"dynamic_axes": {"y": {0: "batch"}}}, ValueError, "neither an input nor an output"),
        ({"dynamic_axes": {"input": {5: "batch"}}}, ValueError, "has no dim 5"),
        ({"dynamic_axes": {"input": {1: "width"}}}, RuntimeError, "width"),
        ({"dynamic_axes": {"input": [1]}}, RuntimeError, "dim 1 of input was to be open"),
        ({"dynamic_shapes": {"other": {0: "batch"}}}, ValueError, "no argument with tensors"),
        ({"input_names": ["a", "a"]}, ValueError, "twice"),
        ({"profile": True}, NotImplementedError, "profile"),
        ({"operator_export_type": 2}, NotImplementedError, "ATen"),
    ],
)
def test_wrong_arguments(given, error, match):
    with pytest.raises(error, match=match):
        torch.onnx.export(mlp(), (torch.randn(3, 4),), **given)


def test_an_op_that_is_too_new_for_an_opset_is_written_in_others_or_refused():
    def bits(x):
        return x & 3

    assert operators(torch.onnx.export(bits, (torch.arange(4),), opset_version=18)) == ["BitwiseAnd"]
    with pytest.raises(errors.UnsupportedOperatorError, match="opset 17: bitwise_and"):
        torch.onnx.export(bits, (torch.arange(4),), opset_version=17)
    x = torch.randn(2, 3)
    assert operators(torch.onnx.export(nn.GELU(), (x,), opset_version=20)) == ["Gelu"]
    assert "Erf" in operators(torch.onnx.export(nn.GELU(), (x,), opset_version=14))


def test_a_model_that_is_wrong_is_noticed():
    table = {"relu": lambda g, x: g.op("Abs", x)}
    with pytest.raises(errors.OnnxExporterError, match="other numbers in onnxruntime"):
        torch.onnx.export(nn.ReLU(), (torch.randn(3, 4),), custom_translation_table=table)
    program = torch.onnx.export(nn.ReLU(), (torch.randn(3, 4),), custom_translation_table=table, verify=False)
    assert operators(program) == ["Abs"]


def test_a_buffer_that_is_counted_and_returned():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count += 1
            return x * 2, self.count

    model, file = Counting(), io.BytesIO()
    torch.onnx.export(model, (torch.ones(3, 2),), file, dynamic_axes={"x": {0: "rows"}})
    assert model.count.tolist() == [0]
    _, count = runtime.InferenceSession(file.getvalue()).run(None, {"x": torch.ones(5, 2).numpy()})
    assert count.tolist() == [1]


class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.unfold(0, 3, 2),
        lambda x: x.unfold(0, 3, 2).sum(0) * x.shape[0],
        lambda x: x[x.shape[0] - 1],
        lambda x: x.select(0, x.shape[0] // 2),
        lambda x: x + torch.full((1,), x.shape[0]),
        lambda x: nn.functional.pad(x, (1, 1), value=float(x.shape[0])),
        lambda x: torch.eye(x.shape[0], x.shape[0] + 1).T @ x,
        lambda x: x.T @ torch.linspace(-1, x.shape[0], x.shape[0]),
    ],
)
def test_numbers_that_follow_from_an_open_size_are_computed_from_it(function):
    program = torch.onnx.export(Applied(function), (torch.randn(6, 3),), dynamo=True, dynamic_shapes={"x": {0: "n"}})
    session = runtime.InferenceSession(program.model_proto.SerializeToString())
    for count in (3, 6, 7, 12):
        x = torch.randn(count, 3)
        (found,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(found), function(x))
