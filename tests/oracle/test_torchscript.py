"""PyTorch reads what polyad traces and scripts, and computes the same; polyad reads what this PyTorch writes."""

import importlib.util
import io
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import polyad

from . import torchscript_models as of_pytorch

NO_OPERATOR = {
    "classes_scripted": "PyTorch's text has no comprehension with two targets",
    "sorting_scripted": "unique gives one tensor or several",
}
"""Models whose scripted programs PyTorch does not read, with the reason."""


@contextmanager
def polyad_as_torch() -> Iterator[None]:
    """A block in which ``import torch`` gives polyad."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "torch"}
    for name in before:
        del sys.modules[name]
    sys.modules["torch"] = polyad
    sys.modules["torch.nn"], sys.modules["torch.nn.functional"] = polyad.nn, polyad.nn.functional
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
            del sys.modules[name]
        sys.modules.update(before)


@pytest.fixture(scope="module")
def of_polyad() -> Any:
    """The models, of polyad's layers."""
    path = pathlib.Path(of_pytorch.__file__)
    spec = importlib.util.spec_from_file_location("models_of_polyad", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["models_of_polyad"] = module
    with polyad_as_torch():
        spec.loader.exec_module(module)
    return module


def in_pytorch(value: Any) -> Any:
    """An input of polyad's as one of PyTorch's."""
    if isinstance(value, polyad.Tensor):
        return torch.from_numpy(value.numpy())
    return [in_pytorch(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", of_pytorch.MODELS)
def test_pytorch_reads_programs_of_polyad(of_polyad: Any, name: str) -> None:
    if name in NO_OPERATOR:
        pytest.xfail(NO_OPERATOR[name])
    program, given = of_polyad.made(name)
    wanted = of_polyad.flat(program(*given))
    written = of_polyad.made(name)[0].save_to_buffer()
    read = torch.jit.load(io.BytesIO(written))
    found = of_pytorch.flat(read(*map(in_pytorch, given)))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", of_pytorch.MODELS)
def test_polyad_reads_programs_of_this_pytorch(name: str) -> None:
    program, given = of_pytorch.made(name)
    wanted = of_pytorch.flat(program(*given))
    file = io.BytesIO()
    torch.jit.save(of_pytorch.made(name)[0], file)
    file.seek(0)

    def in_polyad(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return polyad.from_numpy(value.numpy())
        return [in_polyad(one) for one in value] if isinstance(value, list) else value

    found = of_pytorch.flat(polyad.jit.load(file)(*map(in_polyad, given)))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_traces_train_in_pytorch(of_polyad: Any) -> None:
    program, (x,) = of_polyad.made("cnn_traced")
    read = torch.jit.load(io.BytesIO(program.save_to_buffer()))
    read(in_pytorch(x)).sum().backward()
    program(x).sum().backward()
    gradients = dict(program.named_parameters())
    for name, parameter in read.named_parameters():
        np.testing.assert_allclose(parameter.grad.numpy(), gradients[name].grad.numpy(), rtol=1e-3, atol=1e-5)
