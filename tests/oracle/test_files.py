"""Files go both ways between polyad, PyTorch, safetensors and NumPy."""

from __future__ import annotations

import argparse
import io
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

import polyad

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip


def same(ours: Any, theirs: Any) -> bool:
    """Whether two nested values are the same, tensors by dtype, shape and elements."""
    if isinstance(theirs, torch.Tensor):
        name = str(theirs.dtype).removeprefix("torch.")
        return str(ours.dtype).endswith(f".{name}") and ours.tolist() == theirs.tolist()
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list | tuple):
        return type(ours) is type(theirs) and all(same(*pair) for pair in zip(ours, theirs, strict=True))
    return bool(ours == theirs)


def tensors() -> dict[str, torch.Tensor]:
    """A tensor of each dtype, some not contiguous, empty or without dimensions."""
    found = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in DTYPES}
    return {
        **found,
        "transposed": found["float32"].t().clone().t(),
        "empty": torch.zeros(0, 3),
        "zero": torch.tensor(1),
    }


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pytorchs_files(tmp_path: Path, legacy: bool, mmap: bool, protocol: int) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.LSTM(2, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    value = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "tensors": tensors(),
             "rest": [1, -(2**80), 2.5, None, True, "text", b"bytes", (1, (2,)), {3: "three"}]}  # fmt: skip
    torch.save(value, tmp_path / "file", pickle_protocol=protocol, _use_new_zipfile_serialization=not legacy)
    assert same(polyad.load(tmp_path / "file", mmap=mmap), value)


def test_what_pytorch_saves_by_itself() -> None:
    for value in (torch.ones(3), torch.nn.Parameter(torch.ones(2)), [], {}, 3, "text", torch.ones(3)[1:]):
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        assert same(polyad.load(file), value)


def test_safetensors_both_ways(tmp_path: Path) -> None:
    given = {name: tensor.contiguous() for name, tensor in tensors().items() if name != "complex128"}
    safetensors.torch.save_file(given, tmp_path / "theirs")
    found = polyad.load(tmp_path / "theirs")
    assert same(dict(sorted(found.items())), dict(sorted(given.items())))
    polyad.save(found, tmp_path / "ours", format="safetensors")
    again = safetensors.torch.load_file(tmp_path / "ours")
    assert same(dict(sorted(found.items())), dict(sorted(again.items())))
    polyad.save({"nested": [found]}, tmp_path / "polyad")
    named = safetensors.torch.load_file(tmp_path / "polyad")
    assert same(found["float16"], named["nested.0.float16"])


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_npz(tmp_path: Path, write: Any) -> None:
    given = {name: tensor.numpy() for name, tensor in tensors().items() if name != "bfloat16"}
    write(tmp_path / "file.npz", **given)
    found = polyad.load(tmp_path / "file.npz")
    assert same(found, {name: torch.from_numpy(array) for name, array in given.items()})


def read_by_pytorch(value: Any, **options: Any) -> Any:
    file = io.BytesIO()
    polyad.save(value, file, format="torch")
    file.seek(0)
    return torch.load(file, weights_only=True, **options)


def test_pytorch_reads_tensors_of_every_dtype_and_layout(tmp_path: Path) -> None:
    for given in tensors().values():
        ours = polyad.tensor(given.tolist(), dtype=getattr(polyad, str(given.dtype).removeprefix("torch.")))
        ours = ours.reshape(given.shape)
        for view in (
            (ours, ours.t(), ours[:0], ours[1:], ours.expand(2, 2, 3)) if ours.ndim == 2 and len(ours) else (ours,)
        ):
            assert same(view, read_by_pytorch(view))
    polyad.save({"weight": polyad.ones(3, 4)}, tmp_path / "model.pt")
    assert torch.load(tmp_path / "model.pt", weights_only=True, mmap=True)["weight"].sum() == 12


def test_pytorch_reads_shared_memory() -> None:
    whole = polyad.arange(10.0)
    found = read_by_pytorch({"a": whole[2:5], "b": whole[4:8], "bits": whole[:4].view(polyad.int32)})
    found["a"][2] = 99
    assert found["b"][0] == 99
    assert found["bits"].dtype == torch.int32


def test_pytorch_reads_plain_types() -> None:
    value = {"size": polyad.Size([2]), "dtype": polyad.float16, "device": polyad.device("cuda:1"), "set": {1}, 3: b"b",
             "counter": Counter("aab"), "array": bytearray(b"x"), "complex": 1j, "large": -(2**80),
             "text": "é"}  # fmt: skip
    found = read_by_pytorch(value)
    assert (found["size"], found["dtype"], found["device"]) == (torch.Size([2]), torch.float16, torch.device("cuda:1"))
    assert all(found[key] == value[key] for key in ("set", 3, "counter", "array", "complex", "large", "text"))


def twins() -> list[tuple[Any, Any]]:
    def make(nn: Any) -> list[Any]:
        return [
            nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(2, 2)),
            nn.LSTM(3, 4, 2, bidirectional=True),
            nn.TransformerEncoderLayer(8, 2, batch_first=True),
            nn.ParameterDict({"b": nn.Parameter(nn.Linear(2, 2).weight), "a": nn.Parameter(nn.Linear(1, 1).weight)}),
        ]

    return list(zip(make(polyad.nn), make(torch.nn), strict=True))


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True}), ("AdamW", {}), ("NAdam", {}), ("RAdam", {}),
    ("Adagrad", {}), ("Adadelta", {}), ("Adamax", {}), ("ASGD", {}), ("RMSprop", {"centered": True}), ("Rprop", {}),
    ("LBFGS", {"max_iter": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_states_go_both_ways_and_training_goes_on_alike(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    def step(library: Any, model: Any, optimizer: Any) -> None:
        inputs = library.tensor([[0.1, 0.2, 0.3], [0.5, -0.5, 1.0]], dtype=library.float64)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = model(inputs).square().sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    def make(library: Any) -> tuple[Any, Any]:
        nn = library.nn
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
        return model, getattr(library.optim, name)(model.parameters(), lr=0.05, **options)

    ours, theirs, again = make(polyad), make(torch), make(polyad)
    step(polyad, *ours)
    step(polyad, *ours)
    polyad.save([part.state_dict() for part in ours], tmp_path / "ours.pt")
    for part, state in zip(theirs, torch.load(tmp_path / "ours.pt", weights_only=True), strict=True):
        part.load_state_dict(state)
    step(torch, *theirs)
    torch.save([part.state_dict() for part in theirs], tmp_path / "theirs.pt")
    for part, state in zip(again, polyad.load(tmp_path / "theirs.pt"), strict=True):
        part.load_state_dict(state)
    step(polyad, *ours)
    for one, other, third in zip(ours[0].parameters(), theirs[0].parameters(), again[0].parameters(), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-8, atol=1e-12)
        np.testing.assert_array_equal(third.detach().numpy(), other.detach().numpy())
    mine, others = ours[1].state_dict()["state"], theirs[1].state_dict()["state"]
    assert {key: sorted(state) for key, state in mine.items()} == {key: sorted(state) for key, state in others.items()}


@pytest.mark.parametrize("place", range(4))
def test_states_of_models_go_both_ways(place: int, tmp_path: Path) -> None:
    ours, theirs = twins()[place]
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    polyad.save(ours.state_dict(), tmp_path / "ours.pt")
    state = torch.load(tmp_path / "ours.pt", weights_only=True)
    theirs.load_state_dict(state)
    assert state._metadata == theirs.state_dict()._metadata
    assert same(ours.state_dict(), theirs.state_dict())
    torch.save(theirs.state_dict(), tmp_path / "theirs.pt")
    assert str(ours.load_state_dict(polyad.load(tmp_path / "theirs.pt"))) == "<All keys matched successfully>"


WHOLE: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = [
    ("Linear", (3, 2), (4, 3)), ("Conv1d", (2, 4, 3), (1, 2, 8)), ("Conv2d", (2, 4, 3), (1, 2, 8, 8)),
    ("ConvTranspose2d", (2, 4, 3), (1, 2, 4, 4)), ("BatchNorm2d", (2,), (3, 2, 4, 4)), ("GroupNorm", (2, 4), (3, 4, 2)),
    ("LayerNorm", (4,), (3, 4)), ("InstanceNorm1d", (2,), (3, 2, 5)), ("LSTM", (3, 4), (5, 2, 3)),
    ("GRU", (3, 4), (5, 2, 3)), ("RNN", (3, 4), (5, 2, 3)), ("MaxPool2d", (2,), (1, 1, 4, 4)), ("PReLU", (), (3,)),
    ("AvgPool2d", (2,), (1, 1, 4, 4)), ("AdaptiveAvgPool2d", (1,), (1, 2, 4, 4)), ("GELU", (), (3,)),
    ("Dropout", (0.5,), (3,)), ("Softmax", (-1,), (2, 3)), ("Flatten", (), (2, 3, 4)),
    ("Upsample", (None, 2), (1, 1, 4)),
    ("Bilinear", (2, 3, 1), ()), ("TransformerEncoderLayer", (4, 2), (3, 2, 4)), ("RMSNorm", (4,), (2, 4)),
    ("ZeroPad2d", (1,), (1, 1, 2, 2)), ("PixelShuffle", (2,), (1, 4, 2, 2)), ("LeakyReLU", (0.1,), (3,)),
    ("SiLU", (), (3,)), ("Unfold", (2,), (1, 1, 3, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "shape"), WHOLE)
def test_whole_layers_of_pytorch(name: str, arguments: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    theirs = torch.nn.Sequential(getattr(torch.nn, name)(*arguments)).eval()
    file = io.BytesIO()
    torch.save({"model": theirs}, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="weights_only=False"):
        polyad.load(file)
    file.seek(0)
    ours = polyad.load(file, weights_only=False)["model"]
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.to("cpu").train().eval().zero_grad()
    if not shape:
        return
    given = np.random.default_rng(0).normal(size=shape).astype("f4")
    found, wanted = ours(polyad.from_numpy(given)), theirs(torch.from_numpy(given))
    found, wanted = (value[0] if isinstance(value, tuple) else value for value in (found, wanted))
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_daily_things_that_pytorch_saves() -> None:
    values = [np.float64(1.5), np.int64(2), np.arange(3), {1, 2}, deque([1], 2), defaultdict(list, a=[1]), slice(1, 2),
              Counter("aab"), range(3), Path("a/b"), argparse.Namespace(lr=0.1)]  # fmt: skip
    for protocol in range(2, 6):
        file = io.BytesIO()
        torch.save(values, file, pickle_protocol=protocol)
        file.seek(0)
        found = polyad.load(file, weights_only=False)
        for one, other in zip(found, values, strict=True):
            assert type(one) is type(other)
            assert str(one) == str(other)
    file = io.BytesIO()
    polyad.save(values, file, format="torch")
    file.seek(0)
    assert str(torch.load(file, weights_only=False)) == str(values)
