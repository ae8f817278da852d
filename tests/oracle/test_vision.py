"""polyad.vision's models against PyTorch's, built from the same layers with the same weights."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import polyad

vision = pytest.importorskip("polyad.vision", reason="the plug-in vision is not installed")

FAMILIES = ("weights", "resnet")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same source, its layers PyTorch's: a copy of the folder in which ``polyad`` is ``torch``."""
    folder = tmp_path_factory.mktemp("models") / "models_on_torch"
    folder.mkdir()
    for source in FAMILIES:
        text = (importlib.resources.files(vision.models) / f"{source}.py").read_text()
        text = text.replace("import polyad\n", "import torch as polyad\n").replace(
            "from polyad import", "from torch import"
        )
        (folder / f"{source}.py").write_text(text)
    (folder / "__init__.py").write_text("")
    sys.path.insert(0, str(folder.parent))
    try:
        modules = [importlib.import_module(f"models_on_torch.{name}") for name in FAMILIES]
    finally:
        sys.path.remove(str(folder.parent))
    found = ModuleType("theirs")
    for module in modules:
        vars(found).update({name: getattr(module, name) for name in module.__all__ if name.islower()})
    return found


CASES = {
    "resnet18": 64, "resnet34": 32, "resnet50": 64, "resnext50_32x4d": 64, "wide_resnet50_2": 32,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_pytorch(theirs: Any, name: str) -> None:
    torch.manual_seed(0)
    expected = getattr(theirs, name)(num_classes=5).eval()
    model = vision.models.get_model(
        name, num_classes=5, weights={key: polyad.from_numpy(v.numpy()) for key, v in expected.state_dict().items()}
    ).eval()
    pictures = np.random.default_rng(0).normal(size=(2, 3, CASES[name], CASES[name])).astype(np.float32)
    with torch.no_grad():
        wanted = expected.double()(torch.from_numpy(pictures).double()).numpy()
        single = expected.float()(torch.from_numpy(pictures)).numpy()
    with polyad.no_grad():
        found = model(polyad.from_numpy(pictures)).numpy()
    # PyTorch's own distance from the numbers in float64 says what float32 does to this network.
    size = np.abs(wanted).max()
    allowed = 10 * np.abs(single - wanted).max() + 1e-6 * size
    assert size > 0
    assert np.abs(found - wanted).max() <= allowed
