"""TorchScript archives: those of PyTorch, in ``tests/files/torchscript``, and polyad's own."""

import io
import pathlib
import zipfile

import numpy as np
import pytest

import polyad
from polyad import jit, nn
from polyad.testing import assert_close

FILES = pathlib.Path(__file__).parents[2] / "files" / "torchscript"
NAMES = sorted(path.stem for path in FILES.glob("*.pt"))


def flat(result):
    if isinstance(result, dict):
        return [array for key in sorted(result) for array in flat(result[key])]
    if isinstance(result, (list, tuple)):
        return [array for item in result for array in flat(item)]
    return [result.detach().numpy() if isinstance(result, polyad.Tensor) else np.asarray(result)]


def example(path):
    """The inputs and results that PyTorch put beside a program."""
    beside = {"example.npz": b""}
    module = jit.load(path, _extra_files=beside)
    arrays = np.load(io.BytesIO(beside["example.npz"]))
    inputs = {}
    for key in [key for key in arrays.files if key.startswith("input")]:
        place, *rest = key.split("_")[1:]
        value = polyad.from_numpy(arrays[key]) if arrays[key].shape else arrays[key].item()
        if rest:
            inputs.setdefault(int(place), []).append(value)
        else:
            inputs[int(place)] = value
    results = [arrays[key] for key in arrays.files if key.startswith("result")]
    return module, [inputs[place] for place in sorted(inputs)], results


@pytest.mark.parametrize("name", NAMES)
def test_programs_of_pytorch_compute_what_they_did_there(name):
    module, inputs, results = example(FILES / f"{name}.pt")
    found = flat(module(*inputs))
    assert [array.dtype for array in found] == [array.dtype for array in results]
    for one, other in zip(found, results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["mlp_scripted", "cnn_traced", "structured_scripted", "attributes_scripted", "lstm_traced"]
)
def test_what_was_loaded_can_be_saved_and_loaded_again(name):
    module, inputs, _ = example(FILES / f"{name}.pt")
    wanted = flat(jit.load(FILES / f"{name}.pt")(*inputs))
    again = jit.load(io.BytesIO(module.save_to_buffer()))
    assert list(again.state_dict()) == list(module.state_dict())
    for one, other in zip(flat(again(*inputs)), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_loaded_modules_are_modules():
    module, inputs, _ = example(FILES / "cnn_traced.pt")
    assert isinstance(module, jit.ScriptModule)
    assert (module.conv.weight.requires_grad, module.training, module.original_name) == (True, False, "CNN")
    assert [key for key in module.state_dict() if key.startswith("norm")] == [
        "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked",
    ]  # fmt: skip
    assert "def forward" in module.code
    assert "torch._convolution(" in module.conv.code
    before = module(*inputs)
    module(*inputs).sum().backward()
    polyad.optim.SGD(module.parameters(), 0.1).step()
    assert not polyad.equal(module(*inputs), before)


def test_memory_is_shared_as_it_was():
    module, inputs, results = example(FILES / "shared_traced.pt")
    assert module.encode.weight is module.decode.weight
    with polyad.no_grad():
        module.row.zero_()
    assert module.table[1].tolist() == [0.0, 0.0]
    assert not np.allclose(flat(module(*inputs))[0], results[0])


def test_other_methods_and_attributes_are_there():
    module, _, _ = example(FILES / "attributes_scripted.pt")
    assert module.scaled(polyad.ones(1), by=3.0).tolist() == [3.0]
    assert (module.sizes, module.note, module.mode.name, module.where) == ([2, 3], None, "MUL", polyad.device("cpu"))
    assert "counter" in module.state_dict()


@pytest.mark.parametrize("kind", ["path", "text", "file", "memory"])
def test_sources(kind, tmp_path):
    path = tmp_path / "model.pt"
    jit.trace(nn.Linear(2, 3), polyad.ones(1, 2)).save(str(path) if kind == "text" else path)
    source = {"path": path, "text": str(path), "memory": io.BytesIO(path.read_bytes())}.get(kind) or path.open("rb")
    assert jit.load(source)(polyad.ones(4, 2)).shape == (4, 3)


def test_bytes_beside_the_program_and_devices():
    traced = jit.trace(nn.Linear(2, 3), polyad.ones(1, 2))
    data = traced.save_to_buffer(_extra_files={"labels.txt": "cat", "raw": b"\xff\0"})
    beside = {"labels.txt": "", "raw": "", "none": "kept"}
    assert jit.load(io.BytesIO(data), map_location="meta", _extra_files=beside).weight.device.type == "meta"
    assert beside == {"labels.txt": b"cat", "raw": b"\xff\0", "none": "kept"}
    with pytest.raises(ValueError, match=r"map_location should be either None, string or torch\.device"):
        jit.load(io.BytesIO(data), map_location=3)
    with pytest.raises(TypeError, match="save: m is Linear"):
        jit.save(nn.Linear(2, 3), io.BytesIO())


def rewritten(name, *replacements):
    """A file of PyTorch's with changes in its texts."""
    file = io.BytesIO()
    with zipfile.ZipFile(FILES / f"{name}.pt") as old, zipfile.ZipFile(file, "w") as new:
        for one in old.infolist():
            data = old.read(one)
            for before, after in replacements if one.filename.endswith(".py") else ():
                data = data.replace(before.encode(), after.encode())
            new.writestr(one, data, one.compress_type)
    file.seek(0)
    return file


def test_all_operators_that_are_missing_are_named_before_anything_is_made():
    file = rewritten("mlp_traced", ("torch.softmax(", "torch.no_such(("), ("torch.no_such((", "torch.no_such("),
                     ("torch.relu(", "ops.other.relu("))  # fmt: skip
    with pytest.raises(NotImplementedError, match="calls 2 operators that polyad does not have") as error:
        jit.load(file)
    assert "missing  aten::no_such, other::relu" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "torch.jit.save(x, x)", "ops.polyad.save(x)", "__import__('os')", "torch.nn.functional.relu(x)", "eval('1')",
        "x.__class__", "x.tofile('f')", "self.forward.__globals__", "__torch__.MLP.forward.__code__", "open('f')",
        "CONSTANTS.c9", "CONSTANTS.__class__", "(lambda: x)()", "torch.__dict__", "ops.aten.__class__", "breakpoint()",
    ],
)  # fmt: skip
def test_no_name_leads_out_of_a_program(text):
    file = rewritten("mlp_traced", ("torch.relu(argument_1)", text))
    with pytest.raises((RuntimeError, NotImplementedError), match="load:"):
        jit.load(file)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("class MLP(Module):", "class MLP(Module:", "the text is no program"),
        ("  training : bool", "  training : Bool", "Unknown type name 'Bool'"),
        (".Linear", ".Missing", "Missing"),
        ("torch.relu(argument_1)", "torch.relu()", "relu"),
        ("class MLP(Module):", "x = 3\nclass MLP(Module):", "only functions and classes"),
        ("torch.relu(argument_1)", "3", "annotated as having type"),
    ],
)
def test_programs_that_break_the_rules_are_refused(before, after, what):
    with pytest.raises(RuntimeError, match="holds a program that cannot be run") as error:
        jit.load(rewritten("mlp_traced", (before, after)))
    assert what in str(error.value)


def test_other_files_are_told_apart(tmp_path):
    polyad.save({"a": polyad.ones(1)}, tmp_path / "weights.pt")
    with pytest.raises(RuntimeError, match="is no TorchScript archive"):
        jit.load(tmp_path / "weights.pt")
    with pytest.raises(RuntimeError, match=r"jit\.load"):
        polyad.load(FILES / "mlp_traced.pt")
    with pytest.raises(FileNotFoundError):
        jit.load(tmp_path / "none.pt")


def test_quantised_tensors_are_refused_by_name():
    file = io.BytesIO()
    with zipfile.ZipFile(FILES / "mlp_traced.pt") as old, zipfile.ZipFile(file, "w") as new:
        for one in old.infolist():
            new.writestr(one, old.read(one).replace(b"_rebuild_tensor_v2", b"_rebuild_qtensor"), one.compress_type)
    file.seek(0)
    with pytest.raises(RuntimeError, match="holds quantised tensors") as error:
        jit.load(file)
    assert "before it is quantised" in str(error.value)


def test_texts_that_unpack_to_more_than_they_say_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(FILES / "mlp_traced.pt") as old, zipfile.ZipFile(file, "w") as new:
        for one in old.infolist():
            data = old.read(one) + (b"#" * (1 << 26) if one.filename.endswith(".py") else b"")
            new.writestr(one, data, one.compress_type)
    file.seek(0)
    with pytest.raises(RuntimeError, match="are read at most"):
        jit.load(file)


def test_a_scripted_module_is_saved_with_what_it_uses():
    model = jit.script(_Scaled())
    again = jit.load(io.BytesIO(model.save_to_buffer()))
    x = polyad.ones(1, 2)
    for key, value in model(x, ["a", "b"]).items():
        assert_close(again(x, ["a", "b"])[key], value)
    assert again.factors == [1.0, 2.0]


class _Scaled(nn.Module):
    factors: list[float]

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.factors = [1.0, 2.0]

    def forward(self, x: polyad.Tensor, names: list[str]) -> dict[str, polyad.Tensor]:
        found: dict[str, polyad.Tensor] = {}
        for place, name in enumerate(names):
            factor = self.factors[place]
            found[name] = self.linear(x) * factor if factor > 1 else x
        return found


def boolean(x: polyad.Tensor) -> bool:
    return x.dtype == polyad.bool


def one_of_two(x: polyad.Tensor) -> bool:
    return x.dtype in [polyad.float16, polyad.bool]


def not_strided(x: polyad.Tensor) -> bool:
    return x.layout != polyad.strided


def like(x: polyad.Tensor) -> polyad.Tensor:
    dtype = x.dtype
    return polyad.zeros([2], dtype=dtype, layout=x.layout).to(dtype)


@pytest.mark.parametrize("program", [boolean, one_of_two, not_strided, like])
@pytest.mark.parametrize("x", [polyad.ones(2), polyad.ones(2).bool()], ids=["float32", "bool"])
def test_dtypes_and_layouts_compare_after_loading_as_before(program, x):
    loaded = jit.load(io.BytesIO(jit.script(program).save_to_buffer()))
    found, wanted = loaded(x), program(x)
    assert type(found) is type(wanted)
    assert flat(found)[0].dtype == flat(wanted)[0].dtype
    assert (flat(found)[0] == flat(wanted)[0]).all()


class Pairs(nn.Module):
    def forward(self, p: list[polyad.Tensor], q: list[polyad.Tensor]):
        total = polyad.zeros(2)
        with polyad.no_grad():
            for i, (a, b) in enumerate(zip(p, q)):
                total = total + i * a + b
        return total


def test_nested_targets_and_no_grad_are_read_again():
    scripted = jit.script(Pairs())
    assert "for i, (a, b, ) in" in scripted.code
    assert "ops.polyad" not in scripted.code
    loaded = jit.load(io.BytesIO(scripted.save_to_buffer()))
    p = [polyad.ones(2) * k for k in range(3)]
    found = loaded(p, [polyad.ones(2, requires_grad=True)] * 3)
    assert_close(found, polyad.full((2,), 8.0))
    assert not found.requires_grad
