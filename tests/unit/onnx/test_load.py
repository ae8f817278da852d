"""Models of ONNX as Modules: what becomes of their tensors, how they train, what is said of those that are wrong."""

import copy
import pickle

import numpy as np
import pytest

import polyad as torch
from polyad.errors import SerializationError

pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper, parser


def parsed(text, opset=17, extra=""):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}{extra}]> {text}')


def load(text, **options):
    return torch.onnx.load(parsed(text, **options))


def perceptron():
    rng = np.random.default_rng(0)
    tensors = {
        "encoder.0.weight": rng.standard_normal((8, 4)).astype(np.float32),
        "encoder.0.bias": np.zeros(8, np.float32),
        "head.weight": rng.standard_normal((2, 8)).astype(np.float32),
        "shape": np.array([0, -1]),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "encoder.0.weight", "encoder.0.bias"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Reshape", ["r", "shape"], ["s"]),
        helper.make_node("Gemm", ["s", "head.weight"], ["y"], transB=1, name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "perceptron",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(array, name) for name, array in tensors.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tensors


def test_tensors_of_the_file_are_parameters_under_their_names():
    model, tensors = perceptron()
    module = torch.onnx.load(model)
    assert set(module.state_dict()) == {"encoder.0.weight", "encoder.0.bias", "head.weight"}
    assert all(parameter.requires_grad for parameter in module.parameters())
    x = torch.randn(3, 4)
    w, v = torch.from_numpy(tensors["encoder.0.weight"]), torch.from_numpy(tensors["head.weight"])
    torch.testing.assert_close(module(x), torch.relu(x @ w.t()) @ v.t())


@pytest.mark.parametrize("how", ["path", "bytes", "file", "model"])
def test_ways_in(how, tmp_path):
    model, _ = perceptron()
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with open(path, "rb") as stream:
        source = {"path": path, "bytes": path.read_bytes(), "file": stream, "model": model}[how]
        module = torch.onnx.load(source)
    assert module(torch.ones(1, 4)).shape == (1, 2)
    assert model.graph.initializer[0].raw_data, "loading took the numbers out of the caller's model"


def test_a_loaded_model_trains():
    module = torch.onnx.load(perceptron()[0])
    x, target = torch.randn(16, 4), torch.randn(16, 2)
    optimizer = torch.optim.Adam(module.parameters(), 0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (module(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_state_is_loaded_copied_and_swapped():
    module = torch.onnx.load(perceptron()[0])
    other = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    x = torch.ones(2, 4)
    assert other(x).abs().sum() == 0
    assert module(x).abs().sum() > 0
    torch.testing.assert_close(torch.func.functional_call(other, module.state_dict(), (x,)), module(x))
    other.load_state_dict(module.state_dict())
    torch.testing.assert_close(other(x), module(x))


def test_a_module_is_pickled():
    module = torch.onnx.load(perceptron()[0])
    with torch.no_grad():
        module.head.weight.mul_(2)
    x = torch.randn(2, 4)
    torch.testing.assert_close(pickle.loads(pickle.dumps(module))(x), module(x))


def test_statistics_and_integers_are_buffers():
    module = load(
        "agraph (float[2, 3] x, int64[2] i) => (float[2, 3] y, int64[2] z) "
        "<float[3] scale = {1, 1, 1}, float[3] bias = {0, 0, 0}, float[3] mean = {1, 2, 3}, float[3] var = {4, 4, 4}, "
        "int64[4] table = {5, 6, 7, 8}> "
        "{y = BatchNormalization(x, scale, bias, mean, var)  z = Gather(table, i)}"
    )
    assert {name for name, _ in module.named_parameters()} == {"scale", "bias"}
    assert {name for name, _ in module.named_buffers()} - {"_device_of_module"} == {"mean", "var", "table"}
    y, z = module(torch.tensor([[1.0, 2, 3], [3, 4, 5]]), torch.tensor([1, -1]))
    torch.testing.assert_close(y, torch.tensor([[0.0] * 3, [1.0] * 3]), atol=1e-4, rtol=0)
    assert z.tolist() == [6, 8]


def test_names_that_no_module_can_have():
    names = ["forward", "a", "a.b", "..", "__class__", "training.x", "_parameters", "läuft/0:1"]
    total = " ".join(f"s{i} = Add({'x' if i == 0 else f's{i - 1}'}, w{i})" for i in range(len(names)))
    tensors = ", ".join(f"float[1] w{i} = {{{i}}}" for i in range(len(names)))
    model = parsed(f"agraph (float[1] x) => (float[1] s{len(names) - 1}) <{tensors}> {{{total}}}")
    for index, name in enumerate(names):
        model.graph.initializer[index].name = name
        model.graph.node[index].input[1] = name
    module = torch.onnx.load(model)
    assert module(torch.zeros(1)).item() == sum(range(len(names)))
    assert len(list(module.parameters())) == len(names)
    assert callable(module.forward)


def test_shape_arithmetic_needs_no_device():
    text = (
        "agraph (float[a, b, c] x) => (float[d, c] y) <int64[1] minus = {-1}, int64 two = {2}> "
        "{s = Shape(x) l = Gather(s, two) axes = Constant<value = int64[1] {0}>() u = Unsqueeze(l, axes) "
        "t = Concat<axis = 0>(minus, u) y = Reshape(x, t)}"
    )
    module = load(text)
    block, _ = module._plans[torch.device("cpu")]
    assert [step.proto.op_type for step in block.steps].count("Concat") == 1
    assert not module.state_dict()
    assert module(torch.ones(2, 3, 4)).shape == (6, 4)
    # On meta there are no numbers to ask for, and none are asked for.
    assert module.to("meta")(torch.ones(5, 3, 4, device="meta")).shape == (15, 4)


def test_inputs_by_name():
    module = load("agraph (float[2] a, float[2] b) => (float[2] y) {y = Sub(a, b)}")
    a, b = torch.ones(2), torch.zeros(2)
    assert module(b=a, a=b).tolist() == [-1, -1]
    with pytest.raises(TypeError, match="takes 2 input"):
        module(a)


def test_branches_and_loops_see_what_is_around_them():
    model = parsed(
        "agraph (bool c, float[1] x) => (float[1] y) <float[1] w = {3}> {y = If(c) <"
        "then_branch = t () => (float[1] p) {p = Mul(x, w)}, else_branch = e () => (float[1] q) {q = Add(x, w)}>}"
    )
    module = torch.onnx.load(model)
    x = torch.tensor([2.0])
    assert [module(torch.tensor(way), x).item() for way in (True, False)] == [6, 5]
    module(torch.tensor(True), x).backward()
    assert module.w.grad.item() == 2


def test_a_loop_gathers_what_each_turn_gives():
    model = parsed(
        "agraph (int64 n, float[1] x) => (float[1] last, float[k, 1] all) {"
        "yes = Constant<value = bool {1}>() "
        "last, all = Loop(n, yes, x) <body = b (int64 i, bool c, float[1] v) => (bool c2, float[1] w, float[1] each) "
        "{c2 = Identity(c) w = Add(v, v) each = Identity(w)}>"
        "}"
    )
    last, all_of_them = torch.onnx.load(model)(torch.tensor(3), torch.tensor([1.0]))
    assert (last.item(), all_of_them.flatten().tolist()) == (8, [2, 4, 8])


def test_functions_of_the_model_and_their_attributes():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "own": 1]>
        agraph (float[2] x) => (float[2] y) { y = own.scaled<by = 3.0>(x) }
        <domain: "own", opset_import: ["": 17]>
        scaled <by> (a) => (b) { k = Constant<value_float: float = @by>() b = Mul(a, k) }
    """)
    assert torch.onnx.load(model)(torch.ones(2)).tolist() == [3, 3]


def test_recursive_functions_are_refused():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "own": 1]>
        agraph (float[2] x) => (float[2] y) { y = own.f(x) }
        <domain: "own", opset_import: ["": 17, "own": 1]> f (a) => (b) { b = own.g(a) }
        <domain: "own", opset_import: ["": 17, "own": 1]> g (a) => (b) { b = own.f(a) }
    """)
    with pytest.raises(SerializationError, match=r"own\.f' calls itself"):
        torch.onnx.load(model)


def test_functions_that_double_are_refused_in_time(monkeypatch):
    from polyad.onnx.importing import planning

    monkeypatch.setattr(planning, "MOST_NODES", 1000)
    own = '<domain: "own", opset_import: ["": 17, "own": 1]>'
    functions = "".join(f"{own} f{i} (a) => (c) {{ b = own.f{i + 1}(a) c = own.f{i + 1}(b) }}\n" for i in range(40))
    functions += own + " f40 (a) => (c) { c = Neg(a) }"
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "own": 1]> agraph (float[2] x) => (float[2] y) { y = own.f0(x) }\n'
        + functions
    )
    with pytest.raises(SerializationError, match="more than 1000 nodes"):
        torch.onnx.load(model)


def test_all_missing_operators_are_named_at_once():
    model = parsed(
        "agraph (float[2] x) => (float[2] y) {a = their.One(x) b = Neg(a) y = their.Two(b)}", extra=', "their": 1'
    )
    with pytest.raises(NotImplementedError, match="2 node") as raised:
        torch.onnx.load(model)
    assert "their.One" in str(raised.value)
    assert "their.Two" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "opset", "words"),
    [
        ("agraph (float[2] x) => (float[2] y) {y = Neg(z)}", 17, "'z' is made by no node before it"),
        ("agraph (float[2] x) => (float[2] y) {a = Neg(y) y = Neg(a)}", 17, "'y' is made by no node before it"),
        ("agraph (float[2] x) => (float[2] y) {y = Neg(x) y = Abs(x)}", 17, "'y': another value"),
        ("agraph (float[2] x) => (float[2] y) {y = Neg(x)}", 999, "version 999 of ONNX's operator set"),
        ("agraph (float[2] x) => (float[2] y) {y = Neg(x)}", 0, "version 0 of ONNX's operator set"),
        ("agraph (float[2] x) => (float[2] y) {y = Cast(x)}", 17, "attribute to is missing"),
        ("agraph (float[2] x) => (float[2] y) {y = Gelu<approximate = 3>(x)}", 20, "approximate is INT, not STRING"),
    ],
)
def test_models_that_are_wrong(text, opset, words):
    with pytest.raises(SerializationError, match=words):
        load(text, opset=opset)


def test_strings_are_refused_by_name():
    with pytest.raises(NotImplementedError, match="'s': tensors of strings"):
        load("agraph (string[2] s) => (string[2] y) {y = Identity(s)}")


@pytest.mark.parametrize("data", [b"", b"\x08", b"hello", b"\xff" * 64])
def test_bytes_that_are_no_model(data):
    with pytest.raises(SerializationError):
        torch.onnx.load(data)


def test_errors_name_the_node_and_what_it_was_given():
    module = load("agraph (float[a, b] x, float[c, d] y) => (float[a, d] z) {h = Neg(x) z = MatMul(h, y)}")
    with pytest.raises(RuntimeError) as raised:
        module(torch.ones(2, 3), torch.ones(4, 5))
    for words in ("MatMul '-> z'", "(2, 3)", "(4, 5)"):
        assert words in str(raised.value)


GELU = "d = Div(x, root) e = Erf(d) f = Add(e, one) {} y = {}"
LAYER = "agraph (float[n, 3] x) => (float[n, m] y) <float[3, 4] w = {{{}}}, float[4] b = {{1, 2, 3, 4}}> {{{}}}"


def operators(module):
    block, _ = module._plans[torch.device("cpu")]
    return [step.operator for step in block.steps]


@pytest.mark.parametrize(
    ("first", "last"),
    [("g = Mul(x, f)", "Mul(g, half)"), ("g = Mul(half, f)", "Mul(g, x)"), ("g = Mul(x, half)", "Mul(f, g)")],
)
def test_gelu_is_one_step(first, last):
    numbers = "<float root = {1.41421356}, float one = {1}, float half = {0.5}>"
    module = load(f"agraph (float[n] x) => (float[n] y) {numbers} {{{GELU.format(first, last)}}}")
    assert operators(module) == ["Gelu"]
    x = torch.linspace(-3, 3, 50)
    torch.testing.assert_close(module(x), torch.nn.functional.gelu(x))


def test_what_is_nearly_gelu_is_computed_as_it_stands():
    numbers = "<float root = {1.5}, float one = {1}, float half = {0.5}>"
    module = load(f"agraph (float[n] x) => (float[n] y) {numbers} {{{GELU.format('g = Mul(x, f)', 'Mul(g, half)')}}}")
    x = torch.linspace(-3, 3, 50)
    torch.testing.assert_close(module(x), x * (torch.erf(x / 1.5) + 1) * 0.5)


@pytest.mark.parametrize("turned", [False, True])
def test_product_and_vector_are_one_step(turned):
    weight = torch.randn(4, 3) if turned else torch.randn(3, 4)
    product = "t = Transpose<perm = [1, 0]>(w) h = MatMul(x, t)" if turned else "h = MatMul(x, w)"
    text = LAYER.format(", ".join(map(str, weight.flatten().tolist())), product + " y = Add(b, h)")
    module = load(text.replace("float[3, 4] w", "float[4, 3] w") if turned else text)
    assert operators(module) == ["Gemm"]
    x = torch.randn(2, 3)
    torch.testing.assert_close(module(x), x @ (weight.t() if turned else weight) + torch.tensor([1.0, 2, 3, 4]))
    module(x).sum().backward()
    assert module.w.grad.shape == weight.shape
    assert module.b.grad.tolist() == [2.0] * 4


def test_a_value_that_is_wanted_elsewhere_is_still_made():
    text = LAYER.format(", ".join("1" * 12), "h = MatMul(x, w) y = Add(h, b)")
    module = load(text.replace("(float[n, m] y)", "(float[n, m] h, float[n, m] y)"))
    assert operators(module) == ["MatMul", "Add"]
    h, y = module(torch.ones(1, 3))
    assert (h.tolist(), y.tolist()) == ([[3.0] * 4], [[4.0, 5, 6, 7]])


# ------------------------------------------------------------------------------------------------- numbers elsewhere


def external(folder, location="weights.bin", **entries):
    model, _ = perceptron()
    tensor = model.graph.initializer[0]
    data = bytes(tensor.raw_data)
    (folder / "weights.bin").write_bytes(b"\0" * 16 + data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": 16, "length": len(data), **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_is_read(tmp_path):
    torch.testing.assert_close(
        torch.onnx.load(external(tmp_path))(torch.ones(1, 4)), torch.onnx.load(perceptron()[0])(torch.ones(1, 4))
    )


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"length": 10_000}, "which has 144"),
        ({"offset": 100}, "which has 144"),
        ({"offset": -4}, "wants bytes -4"),
        ({"offset": "zero"}, "no integers"),
        ({"length": 4}, "not those of a float tensor"),
        ({"location": "../weights.bin"}, "not in the model's folder"),
        ({"location": "/etc/passwd"}, "not in the model's folder"),
        ({"location": ""}, "not in the model's folder"),
    ],
)
def test_external_data_that_is_wrong(entries, words, tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(bytes(1000))
    path = external(folder, **entries)
    with pytest.raises(SerializationError, match=words) as raised:
        torch.onnx.load(path)
    assert str(path) in str(raised.value)


def test_links_do_not_lead_out_of_the_folder(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(1000))
    path = external(folder, location="link")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(SerializationError, match="not in the model's folder"):
        torch.onnx.load(path)


def test_bytes_have_no_files_beside_them(tmp_path):
    with pytest.raises(SerializationError, match="load the model by its path"):
        torch.onnx.load(external(tmp_path).read_bytes())


# ------------------------------------------------------------------------------------------------- quantised numbers


def test_an_int8_product_is_exact():
    module = load(
        "agraph (uint8[2, 700] a, int8[700, 3] b) => (int32[2, 3] y) <uint8 za = {200}, int8 zb = {-100}> "
        "{y = MatMulInteger(a, b, za, zb)}"
    )
    a = torch.randint(0, 256, (2, 700), dtype=torch.uint8)
    b = torch.randint(-128, 128, (700, 3), dtype=torch.int8)
    wanted = (a.numpy().astype(np.int64) - 200) @ (b.numpy().astype(np.int64) + 100)
    assert module(a, b).tolist() == wanted.tolist()


def test_a_prepared_weight_follows_what_is_loaded():
    module = load("agraph (uint8[1, 2] a) => (int32[1, 2] y) <int8[2, 2] w = {1, 2, 3, 4}> {y = MatMulInteger(a, w)}")
    a = torch.tensor([[1, 1]], dtype=torch.uint8)
    assert module(a).tolist() == [[4, 6]]
    module.load_state_dict({"w": torch.tensor([[1, 0], [0, 1]], dtype=torch.int8)})
    assert module(a).tolist() == [[1, 1]]


def test_half_an_int4_model():
    tensor = helper.make_tensor("w", TensorProto.INT4, [4], [-8, 7, 0, 3])
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["w", "s"], ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        [tensor, numpy_helper.from_array(np.array(0.5, np.float32), "s")],
    )
    module = torch.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    assert module().tolist() == [-4, 3.5, 0, 1.5]
