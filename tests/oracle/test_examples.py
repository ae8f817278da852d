"""The models of examples/ on both libraries, from the same file and with the same weights."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import polyad

EXAMPLES = Path(__file__).parents[2] / "examples"


def both(name: str, **sizes: int) -> list[Any]:
    """The namespace of examples/*name*.py for each library, with some numbers of its own replaced."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    found = []
    for library in ("polyad", "torch"):
        names: dict[str, Any] = {"__name__": name}
        exec(compile(text.replace("import polyad", f"import {library}").replace("from polyad", f"from {library}"),
                     f"{name}.py", "exec"), names)  # fmt: skip
        names.update(sizes)
        found.append(SimpleNamespace(**names))
    return found


def same_weights(ours: Any, theirs: Any) -> None:
    """Give polyad's model the other's weights, which shows that they have the same keys."""
    ours.load_state_dict({name: polyad.from_numpy(one.numpy()) for name, one in theirs.state_dict().items()})


def test_classify() -> None:
    pytest.importorskip("PIL")
    torch.manual_seed(0)
    ours, theirs = (module.EfficientNetLite0() for module in both("classify"))
    same_weights(ours, theirs)
    pixels = np.random.default_rng(0).standard_normal((2, 3, 96, 96), np.float32)
    for training in (True, False):  # in training the running means move, and then they are used
        mine = ours.train(training)(polyad.from_numpy(pixels))
        other = theirs.train(training)(torch.from_numpy(pixels))
        np.testing.assert_allclose(mine.tolist(), other.tolist(), atol=2e-3, rtol=1e-3)


def test_compare_sentences() -> None:
    torch.manual_seed(0)
    modules = both("compare_sentences", WIDTH=48, HEADS=4, LAYERS=3, WORDS=100, POSITIONS=32)
    ours, theirs = (module.MiniLM().eval() for module in modules)
    same_weights(ours, theirs)
    tokens = np.random.default_rng(0).integers(0, 100, (3, 20))
    mask = np.arange(20) < np.array([[20], [7], [1]])
    mine = ours.embed(polyad.from_numpy(tokens), polyad.from_numpy(mask))
    other = theirs.embed(torch.from_numpy(tokens), torch.from_numpy(mask))
    np.testing.assert_allclose(mine.tolist(), other.tolist(), atol=1e-5)


def test_generate() -> None:
    torch.manual_seed(0)
    modules = both("generate", WIDTH=48, INNER=80, LAYERS=4, HEADS=6, KEY_HEADS=2, WORDS=100, HEAD=8)
    models = [module.SmolLM2().eval() for module in modules]
    same_weights(*models)
    prompt = [5, 17, 42, 99, 3]
    mine, other = (list(module.generate(model, prompt, 20)) for module, model in zip(modules, models, strict=True))
    assert mine == other
    results = []
    for library, module, model in zip((polyad, torch), modules, models, strict=True):
        caches = [module.Cache(1, 8) for _ in model.blk]
        with library.inference_mode():
            results.append([model(library.tensor([prompt]), caches), model(library.tensor([[7]]), caches, 5)])
    for first, second in zip(*results, strict=True):
        np.testing.assert_allclose(first.tolist(), second.tolist(), atol=1e-4)
