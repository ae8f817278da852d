"""Operators one by one: which there are, and those that ONNX's own tests leave out, compared with onnxruntime."""

import numpy as np
import pytest

import polyad as torch

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, defs, helper, numpy_helper  # noqa: E402

from polyad.onnx.importing import ops  # noqa: E402
from polyad.onnx.importing.operators import supported  # noqa: E402

ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"
WITHOUT = {
    "CastMap": "maps",
    "CategoryMapper": "strings",
    "DictVectorizer": "maps",
    "Gradient": "derivatives inside of a graph",
    "RegexFullMatch": "strings",
    "StringConcat": "strings",
    "StringNormalizer": "strings",
    "StringSplit": "strings",
}


def test_every_operator_is_computed_or_listed():
    assert ops.__all__
    entries = set(supported())
    lacking = {
        schema.name
        for schema in defs.get_all_schemas()
        if (schema.domain, schema.name) not in entries
        and not (schema.has_function or schema.has_context_dependent_function)
    }
    assert lacking - {"Constant"} == set(WITHOUT)


def test_every_entry_is_an_operator_of_onnx():
    known = {(schema.domain, schema.name) for schema in defs.get_all_schemas_with_history()}
    assert [entry for entry in supported() if entry[0] != MICROSOFT and entry not in known] == []


def compare(node, x, outputs, opset=17, rtol=1e-4, inputs=None, held=(), atol=1e-5):
    """What onnxruntime makes of a node, and what polyad makes of it."""
    given = {"x": x, **(inputs or {})}
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
        if name not in held
    ]
    tensors = [numpy_helper.from_array(given.pop(name), name) for name in held]
    made = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    opsets = [helper.make_opsetid(*each) for each in (("", opset), (ML, 3), (MICROSOFT, 1))]
    model = helper.make_model(helper.make_graph([node], "g", values, made, tensors), opset_imports=opsets, ir_version=8)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)
    ours = torch.onnx.load(model)(*map(torch.from_numpy, given.values()))
    for one, other in zip(ours if isinstance(ours, tuple) else (ours,), wanted, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other, rtol=rtol, atol=atol)


def trees(count, depth, outputs, prefix, rng, modes=("BRANCH_LEQ",)):
    """The attributes of an ensemble of full trees with random features, bounds and leaves."""
    inner, total = 2**depth - 1, 2 ** (depth + 1) - 1
    numbers = range(total)
    each = {
        "nodes_nodeids": list(numbers) * count,
        "nodes_treeids": [tree for tree in range(count) for _ in numbers],
        "nodes_featureids": rng.integers(0, 3, total * count).tolist(),
        "nodes_values": rng.standard_normal(total * count).astype(np.float32).tolist(),
        "nodes_modes": [modes[i % len(modes)] if i < inner else "LEAF" for i in numbers] * count,
        "nodes_truenodeids": [2 * i + 1 if i < inner else 0 for i in numbers] * count,
        "nodes_falsenodeids": [2 * i + 2 if i < inner else 0 for i in numbers] * count,
        "nodes_missing_value_tracks_true": rng.integers(0, 2, total * count).tolist(),
    }
    leaves = [(tree, node) for tree in range(count) for node in range(inner, total)]
    each[f"{prefix}_treeids"] = [tree for tree, _ in leaves]
    each[f"{prefix}_nodeids"] = [node for _, node in leaves]
    each[f"{prefix}_ids"] = rng.integers(0, outputs, len(leaves)).tolist()
    each[f"{prefix}_weights"] = rng.random(len(leaves)).astype(np.float32).tolist()
    return each


@pytest.fixture
def samples():
    x = np.random.default_rng(3).standard_normal((40, 3)).astype(np.float32)
    x[3, 1] = np.nan
    return x


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regression_by_trees(aggregate, samples):
    attributes = trees(4, 3, 2, "target", np.random.default_rng(0), ("BRANCH_LEQ", "BRANCH_GT", "BRANCH_LT"))
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=2, aggregate_function=aggregate, **attributes
    )
    compare(node, samples, {"y": TensorProto.FLOAT})


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("classes", [3, 4])
def test_classification_by_trees(classes, transform, samples):
    attributes = trees(5, 2, classes, "class", np.random.default_rng(1))
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML, post_transform=transform,
        classlabels_int64s=[7, 8, 9, 10][:classes], **attributes,
    )  # fmt: skip
    compare(node, samples, {"label": TensorProto.INT64, "scores": TensorProto.FLOAT})


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_trees_that_speak_of_one_class(transform, samples):
    attributes = trees(5, 2, 1, "class", np.random.default_rng(2))
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML, post_transform=transform,
        classlabels_int64s=[0, 1], **attributes,
    )  # fmt: skip
    compare(node, samples, {"label": TensorProto.INT64, "scores": TensorProto.FLOAT})


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("probabilities", [False, True])
def test_classification_by_support_vectors(kernel, probabilities, samples):
    rng = np.random.default_rng(4)
    numbers = {"coefficients": rng.standard_normal(2 * 9), "support_vectors": rng.standard_normal(9 * 3)}
    numbers["rho"] = [0.1, -0.2, 0.3]
    if probabilities:
        numbers |= {"prob_a": [-1.0, -0.5, -2.0], "prob_b": [0.1, 0.0, -0.1]}
    node = helper.make_node(
        "SVMClassifier", ["x"], ["label", "scores"], domain=ML, kernel_type=kernel, kernel_params=[0.3, 0.1, 3.0],
        vectors_per_class=[2, 3, 4], classlabels_ints=[3, 4, 5],
        **{name: np.asarray(value, np.float32).tolist() for name, value in numbers.items()},
    )  # fmt: skip
    outputs = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    compare(node, np.nan_to_num(samples), outputs, rtol=1e-3)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("lengths", [None, [3, 5]])
def test_recurrences(operator, direction, lengths):
    rng = np.random.default_rng(5)
    gates, ways = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator], 1 + (direction == "bidirectional")
    arrays = {
        "w": rng.standard_normal((ways, gates * 4, 3)),
        "r": rng.standard_normal((ways, gates * 4, 4)),
        "b": rng.standard_normal((ways, 2 * gates * 4)),
    }
    inputs = {name: array.astype(np.float32) for name, array in arrays.items()}
    if lengths:
        inputs["n"] = np.array(lengths, np.int32)
    outputs = {"y": TensorProto.FLOAT, "h": TensorProto.FLOAT} | ({"c": TensorProto.FLOAT} if gates == 4 else {})
    more = {"linear_before_reset": 1} if operator == "GRU" else {}
    node = helper.make_node(operator, ["x", *inputs], list(outputs), hidden_size=4, direction=direction, **more)
    compare(node, rng.standard_normal((5, 2, 3)).astype(np.float32), outputs, inputs=inputs)


RESIZINGS = [
    (coordinates, scales)
    for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
    for scales in ((2.0, 3.0), (0.6, 0.75), (1.7, 0.5))
    # Here onnxruntime takes whole sizes, where ONNX's own tests take the product of size and scale.
    if coordinates != "align_corners" or scales == (2.0, 3.0)
]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(("coordinates", "scales"), RESIZINGS)
def test_resizing(mode, coordinates, scales):
    x = np.random.default_rng(6).standard_normal((1, 2, 7, 9)).astype(np.float32)
    node = helper.make_node(
        "Resize", ["x", "", "s"], ["y"], mode=mode, coordinate_transformation_mode=coordinates,
        nearest_mode="floor" if coordinates == "asymmetric" else "round_prefer_floor",
    )  # fmt: skip
    compare(node, x, {"y": TensorProto.FLOAT}, inputs={"s": np.array([1, 1, *scales], np.float32)}, rtol=1e-3)


@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]])
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_pooling(operator, pads, ceil):
    x = np.random.default_rng(7).standard_normal((2, 3, 9, 8)).astype(np.float32)
    more = {"count_include_pad": 1} if operator == "AveragePool" else {}
    node = helper.make_node(
        operator, ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 2], pads=pads, ceil_mode=ceil, **more
    )
    compare(node, x, {"y": TensorProto.FLOAT}, opset=18 if operator == "LpPool" else 17)


@pytest.mark.parametrize("operator", ["ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_reductions_at_each_opset(operator, opset):
    x = np.random.default_rng(8).standard_normal((2, 3, 4)).astype(np.float32)
    if opset < 18:
        node = helper.make_node(operator, ["x"], ["y"], axes=[-1, 0], keepdims=0)
        compare(node, x, {"y": TensorProto.FLOAT}, opset=opset)
    else:
        node = helper.make_node(operator, ["x", "a"], ["y"], keepdims=0)
        compare(node, x, {"y": TensorProto.FLOAT}, opset=opset, inputs={"a": np.array([-1, 0])})


# ------------------------------------------------------------------------------------------------- com.microsoft


def scales(*numbers):
    """Scales and zero points, as inputs in turn."""
    return [np.array(each, np.float32 if index % 2 == 0 else np.uint8) for index, each in enumerate(numbers)]


def integers(*shape, dtype=np.uint8):
    info = np.iinfo(dtype)
    return np.random.default_rng(9).integers(info.min, info.max + 1, shape).astype(dtype)


UINT8, FLOAT = TensorProto.UINT8, TensorProto.FLOAT
A_S, A_Z, B_S, B_Z, C_S, C_Z = scales(0.02, 120, 0.03, 100, 0.05, 128)
RANDOM = np.random.default_rng(10)
MATRIX = RANDOM.standard_normal((4, 6)).astype(np.float32)
WEIGHT = integers(6, 5, dtype=np.int8)
PACKED = integers(5, 2, 8)
QUANTISED = {
    "QLinearAdd": ([integers(2, 3), A_S, A_Z, integers(2, 3), B_S, B_Z, C_S, C_Z], {}, UINT8),
    "QLinearMul": ([integers(2, 3), A_S, A_Z, integers(2, 3), B_S, B_Z, C_S, C_Z], {}, UINT8),
    "QLinearSigmoid": ([integers(2, 30), A_S, A_Z, np.float32(1 / 256), np.uint8(0)], {}, UINT8),
    "QLinearLeakyRelu": ([integers(2, 30), A_S, A_Z, B_S, B_Z], {"alpha": 0.2}, UINT8),
    "QLinearGlobalAveragePool": ([integers(2, 3, 4, 5), A_S, A_Z, B_S, B_Z], {"channels_last": 0}, UINT8),
    "QLinearConcat": ([C_S, C_Z, integers(2, 3), A_S, A_Z, integers(2, 5), B_S, B_Z], {"axis": 1}, UINT8),
    "QGemm": (
        [integers(4, 6), A_S, A_Z, integers(6, 5), B_S, B_Z, integers(5, dtype=np.int32) % 99, C_S, C_Z],
        {},
        UINT8,
    ),
    "DynamicQuantizeMatMul": ([MATRIX, WEIGHT, np.float32(0.1), np.int8(3)], {}, FLOAT),
    "MatMulIntegerToFloat": ([integers(4, 6), WEIGHT, A_S, np.float32(0.1), A_Z, np.int8(3)], {}, FLOAT),
    "MatMulNBits": (
        [RANDOM.standard_normal((3, 32)).astype(np.float32), PACKED, RANDOM.random((5, 2)).astype(np.float32)],
        {"K": 32, "N": 5, "bits": 4, "block_size": 16},
        FLOAT,
    ),
    "Gelu": ([MATRIX], {}, FLOAT),
    "BiasGelu": ([MATRIX, MATRIX[0]], {}, FLOAT),
    "FastGelu": ([MATRIX, MATRIX[0]], {}, FLOAT),
    "QuickGelu": ([MATRIX], {"alpha": 1.5}, FLOAT),
    "FusedMatMul": ([MATRIX, MATRIX + 1], {"transB": 1, "alpha": 0.5}, FLOAT),
    "SkipLayerNormalization": ([MATRIX[None], MATRIX[None] + 1, MATRIX[0], MATRIX[1]], {"epsilon": 1e-5}, FLOAT),
    "FusedConv": ([MATRIX[None, None], MATRIX[None, None, :2, :3]], {"activation": "Relu"}, FLOAT),
}


@pytest.mark.parametrize("operator", QUANTISED)
def test_operators_of_onnxruntime(operator):
    arrays, attributes, kind = QUANTISED[operator]
    inputs = {f"i{index}": np.asarray(array) for index, array in enumerate(arrays)}
    first, *rest = inputs
    node = helper.make_node(operator, ["x", *rest], ["y"], domain=MICROSOFT, **attributes)
    x = inputs.pop(first)
    # Where a sum lies between two integers, the two may round apart.
    compare(node, x, {"y": kind}, inputs=inputs, held=rest if kind == UINT8 else (), atol=1 if kind == UINT8 else 1e-4)
