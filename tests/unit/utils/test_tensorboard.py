"""`polyad.utils.tensorboard.SummaryWriter` has PyTorch's interface, and TensorBoard reads what it writes."""

from __future__ import annotations

import sys

import numpy
import pytest

import polyad
from polyad import nn
from polyad.utils.tensorboard import SummaryWriter


def test_without_tensorboardx_its_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"tensorboardX, which is not installed(.|\n)*'polyad\[tensorboard\]'"):
        SummaryWriter(tmp_path)


@pytest.fixture
def events(tmp_path):
    pytest.importorskip("tensorboardX")
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def read(folder=tmp_path):
        found = reader.EventAccumulator(str(folder), size_guidance=dict.fromkeys(reader.DEFAULT_SIZE_GUIDANCE, 0))
        return found.Reload()

    return read


def test_what_scripts_write(tmp_path, events):
    with SummaryWriter(log_dir=tmp_path, flush_secs=1) as writer:
        loss = polyad.tensor(0.25, requires_grad=True) * 2
        writer.add_scalar("loss", loss, 3)
        writer.add_scalar("half", polyad.tensor([0.5], dtype=polyad.bfloat16), global_step=polyad.tensor(4))
        writer.add_scalar("number", 1, 0, None, True, True)
        writer.add_histogram("weights", polyad.arange(10.0), 1, bins="auto")
        writer.add_image("picture", polyad.rand(3, 4, 5), 1)
        writer.add_images("pictures", polyad.rand(2, 3, 4, 5), 1)
        writer.add_image("pixels", polyad.zeros(4, 5, 3, dtype=polyad.uint8), dataformats="HWC")
        writer.add_image_with_boxes("boxes", polyad.rand(3, 8, 8), polyad.tensor([[1, 1, 5, 5]]), 1, None, 1, "CHW")
        writer.add_text("note", "a text", 2)
        writer.add_tensor("all", polyad.arange(6.0).reshape(2, 3), 5)
        writer.add_pr_curve("pr", polyad.tensor([1, 0, 1]), polyad.tensor([0.9, 0.1, 0.8]), 1)
        writer.add_embedding(polyad.rand(4, 3), metadata=list("abcd"))
        writer.add_mesh("mesh", polyad.rand(1, 3, 3))
        writer.add_graph(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), polyad.ones(1, 2))
        writer.flush()
        assert writer.log_dir == writer.get_logdir() == str(tmp_path)
    found = events()
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(3, 0.5)]
    assert [(event.step, event.value) for event in found.Scalars("half")] == [(4, 0.5)]
    assert found.Histograms("weights")[0].histogram_value.num == 10
    assert {name: found.Images(name)[0].width for name in ("picture", "pixels", "boxes")} == {
        "picture": 5, "pixels": 5, "boxes": 8,
    }  # fmt: skip
    from tensorboard.util import tensor_util

    assert tensor_util.make_ndarray(found.Tensors("all")[0].tensor_proto).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert "relu" in {node.op for node in found.Graph().node}


def test_hyper_parameters_and_groups_have_folders_of_their_own(tmp_path, events):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "width": polyad.tensor(3)}, {"accuracy": polyad.tensor(0.5)}, run_name="first")
        writer.add_scalars("losses", {"train": polyad.tensor(1.0), "val": 2.0}, 1)
        with pytest.raises(TypeError, match="must be dicts"):
            writer.add_hparams([("lr", 0.1)], {})
        with pytest.warns(UserWarning, match="not written"):
            writer.add_hparams({"lr": 0.1}, {}, {"lr": [0.1]})
    assert events(tmp_path / "first").Scalars("accuracy")[0].value == 0.5
    for name, value in (("train", 1.0), ("val", 2.0)):
        assert [event.value for event in events(tmp_path / f"losses_{name}").Scalars("losses")] == [value]


def test_two_writers_of_one_second_keep_their_files(tmp_path, events):
    for value in (1.0, 2.0):
        with SummaryWriter(tmp_path) as writer:
            writer.add_scalar("loss", value, int(value))
    assert [event.value for event in events().Scalars("loss")] == [1.0, 2.0]


def test_what_is_added_after_close_is_kept_too(tmp_path, events):
    writer = SummaryWriter(tmp_path)
    for step in (1, 2):
        writer.add_scalar("loss", float(step), step)
        writer.add_scalars("losses", {"train": step}, step)
        writer.close()
        writer.close()
    assert [event.value for event in events().Scalars("loss")] == [1.0, 2.0]
    assert [event.value for event in events(tmp_path / "losses_train").Scalars("losses")] == [1.0, 2.0]


def test_a_folder_of_its_own(tmp_path, events, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_lr") as writer:
        writer.add_scalar("loss", numpy.float32(1), 0)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("_lr")
    assert writer.log_dir == f"runs/{folder.name}"
