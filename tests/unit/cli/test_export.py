"""``polyad export`` and ``polyad inspect``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polyad
from polyad import export, jit, nn
from polyad.cli.main import main


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()
    batch = export.Dim("batch", max=64)
    path = tmp_path / "model.pt2"
    export.save(export.export(model, (polyad.randn(4, 3),), dynamic_shapes=({0: batch},)), path)
    return path


def test_a_program_is_told(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = saved.with_suffix(".svg")
    assert main(["inspect", str(saved), "--json", "--picture", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inputs"] == {"input": "float32 (batch, 3)"}
    assert found["sizes"] == {"batch": "VR[0, 64]"}
    assert found["ops"]["linear"] == 1
    assert found["parameters"] == {"tensors": 4, "elements": 24, "bytes": 96}
    assert picture.read_text().startswith("<svg")
    assert main(["inspect", str(saved), "--graph"]) == 0
    text = capsys.readouterr().out
    assert "parameters    4 tensors, 24 elements, 96 bytes" in text
    assert "= linear(%input, %0.weight, %0.bias)" in text
    saved.write_bytes(saved.read_bytes()[:-40])
    assert main(["inspect", str(saved)]) == 1
    assert str(saved) in capsys.readouterr().err


def test_a_program_is_written_in_other_formats(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, program = polyad.randn(4, 3), export.load(saved)
    assert main(["export", str(saved), "--to", "torchscript"]) == 0
    archive = saved.with_suffix(".pt")
    assert capsys.readouterr().out.strip() == str(archive)
    polyad.testing.assert_close(jit.load(archive)(x), program.module()(x))
    assert main(["export", str(archive), "--to", "polyad", "-o", str(saved.with_name("again.pt2"))]) == 1
    assert "say the shape of each with --example" in capsys.readouterr().err
    again = saved.with_name("again.pt2")
    assert main(["export", str(archive), "--to", "polyad", "-o", str(again), "--example", "4,3"]) == 0
    polyad.testing.assert_close(export.load(again).module()(x), program.module()(x))
    assert main(["export", str(saved), "--to", "polyad"]) == 1
    assert "is the file itself" in capsys.readouterr().err


def test_a_program_is_written_as_onnx(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    assert main(["export", str(saved), "--to", "onnx"]) == 0
    import onnx

    model = onnx.load(saved.with_suffix(".onnx"))
    (value,) = model.graph.input
    assert [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] == ["batch", 3]
