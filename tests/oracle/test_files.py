"""Files go both ways between polyad, PyTorch, safetensors and NumPy."""

from __future__ import annotations

import io
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
