"""Trackers: what is written is read back, and what cannot be written ends no run."""

import io
import json
import socket
import sys
import warnings

import pytest
from rich.console import Console

import polyad as torch
from polyad import trackers
from polyad.errors import ArgumentError
from polyad.trackers import CSVTracker, TerminalTracker, Tracker, available, learning_curve, open_tracker, read_csv
from polyad.trackers.terminal import drawn
from polyad.trainer import Trainer


def test_values_are_read_back_from_the_file(tmp_path):
    tracker = CSVTracker(tmp_path, "run")
    tracker.log_hyperparams({"lr": 0.1, "device": object})
    tracker.log_metrics({"loss": 0.5}, step=1)
    tracker.log_metrics({"accuracy": 1 / 3}, step=1)
    CSVTracker(tmp_path, "run").log_metrics({"loss": float("nan"), "f, 1": 2.0}, step=2)
    rows = read_csv(tmp_path / "run" / "metrics.csv")
    assert rows[:2] == [{"step": 1, "loss": 0.5}, {"step": 1, "accuracy": 1 / 3}]
    assert rows[2]["f, 1"] == 2.0
    assert rows[2]["loss"] != rows[2]["loss"]
    assert json.loads((tmp_path / "run" / "hparams.json").read_text())["lr"] == 0.1


def test_a_line_that_was_cut_is_left_out(tmp_path):
    tracker = CSVTracker(tmp_path)
    tracker.log_metrics({"loss": 0.5}, step=1)
    with open(tracker.path, "a") as stream:
        stream.write("2,0.2e")
    assert read_csv(tracker.path) == [{"step": 1, "loss": 0.5}]
    CSVTracker(tmp_path).log_metrics({"loss": 0.25}, step=2)
    assert read_csv(tracker.path) == [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}]


def test_text_and_artifacts_are_kept(tmp_path):
    tracker = CSVTracker(tmp_path / "run")
    (tmp_path / "picture.bin").write_bytes(b"abc")
    tracker.log_artifact(tmp_path / "picture.bin", "sub/p.bin")
    tracker.log_text("sample", "a\nb", step=3)
    assert (tmp_path / "run/artifacts/sub/p.bin").read_bytes() == b"abc"
    assert json.loads((tmp_path / "run/text.jsonl").read_text()) == {"step": 3, "key": "sample", "text": "a\nb"}


def test_the_terminal_shows_values_and_a_curve():
    out = io.StringIO()
    tracker = TerminalTracker(Console(file=out, width=40))
    for step in range(3):
        tracker.log_metrics({"loss [a]": 3.0 - step}, step=step)
    tracker.finalize()
    assert "step 1  loss [a] 2\n" in out.getvalue()
    assert "loss [a]  █▅▁  3 -> 1" in out.getvalue()


@pytest.mark.parametrize(
    ("values", "curve"), [([1, 1], "▁▁"), ([float("nan")], ""), ([], ""), ([0] * 50 + [1] * 50, "▁▁██")]
)
def test_curves_of_odd_values(values, curve):
    assert drawn(values, width=4) == curve


def test_a_picture_is_written_where_matplotlib_is(tmp_path):
    pytest.importorskip("matplotlib")
    assert (
        learning_curve([{"step": 1, "a": 1.0}, {"step": 2, "b": 2.0}], tmp_path / "c.png", names=["b"])
        == "b  ▁  2 -> 2"
    )
    assert (tmp_path / "c.png").read_bytes()[:4] == b"\x89PNG"


def test_a_picture_may_have_panels_and_another_axis(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [{"epoch": n, "loss": 1.0 / n, "train": 0.5, "extra": 1.0} for n in (1, 2, 3)]
    text = learning_curve(rows, tmp_path / "c.png", x="epoch", panels={"loss": ["loss"], "share": ["train", "none"]})
    assert [line.split()[0] for line in text.splitlines()] == ["loss", "train"]
    first = (tmp_path / "c.png").read_bytes()
    learning_curve(rows, tmp_path / "c.png", names=["loss"])
    assert (tmp_path / "c.png").read_bytes() != first
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="learning_curve"):
        learning_curve(rows, tmp_path / "none" / "c.png")


def test_a_tracker_that_cannot_be_made_is_told_of_and_keeps_nothing(tmp_path):
    with pytest.warns(UserWarning, match="the tracker 'csv' cannot be used.*TypeError"):
        tracker = open_tracker("csv", no_such_option=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.log_metrics({"loss": 1.0}, step=1)
        tracker.log_image("a", None)
    assert not tracker.__dict__


@pytest.mark.parametrize("name", ["mlflow", "tensorboard", "trackio", "wandb"])
def test_a_tool_that_is_not_installed_is_told_of_with_its_extra(name, monkeypatch):
    module = {"tensorboard": "tensorboardX"}.get(name, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"not installed(.|\n)*pip install 'polyad\\[{name}\\]'"):
        getattr(trackers, {"mlflow": "MLflow", "tensorboard": "TensorBoard"}.get(name, name.title()) + "Tracker")("x")
    with pytest.warns(UserWarning, match=f"the tracker '{name}' cannot be used"):
        tracker = open_tracker(name, "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.log_metrics({"loss": 1.0}, step=1)
        tracker.log_graph(None)


def test_what_has_no_place_is_told_of_once():
    tracker = TerminalTracker(Console(file=io.StringIO()))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            tracker.log_image("a", [[0.0]])
            tracker.log_artifact("file")
    assert [str(one.message) for one in told] == [
        "TerminalTracker has no place for images: they are not kept",
        "TerminalTracker has no place for artifacts: they are not kept",
    ]


def test_a_tracker_that_fails_is_told_of_once_whoever_calls_it(tmp_path):
    (tmp_path / "file").write_text("")
    tracker = CSVTracker(tmp_path / "file")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(3):
            tracker.log_metrics({"loss": 1.0}, step=step)
            tracker.log_text("a", "b")
    assert len(told) == 1
    assert "CSVTracker failed, the run goes on without it: FileExistsError" in str(told[0].message)


def test_a_server_that_is_away_ends_no_run():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = found.getsockname()

    class Posted(Tracker):
        def log_metrics(self, metrics, step=None):
            socket.create_connection(address, timeout=5).close()

    layer, batch = torch.nn.Linear(1, 1), (torch.ones(2, 1), torch.ones(2, 1))
    trainer = Trainer(
        layer, torch.optim.SGD(layer.parameters(), lr=0.1), torch.nn.MSELoss(), logger=Posted(), log_every_n_steps=1,
        max_epochs=3, enable_checkpointing=False, enable_progress_bar=False,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="Posted failed.*ConnectionRefused") as told:
        trainer.fit([batch, batch])
    assert (trainer.global_step, len(told)) == (6, 1)


def test_a_model_is_listed_as_text_by_default(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout())
    tracker, before = CSVTracker(tmp_path), torch.get_rng_state()
    tracker.log_graph(model)
    tracker.log_graph(model, torch.ones(1, 2))
    modules, ops = map(json.loads, (tmp_path / "text.jsonl").read_text().splitlines())
    assert "Linear(in_features=2, out_features=3" in modules["text"]
    assert "batch_norm" in ops["text"]
    assert model.training
    assert model[1].num_batches_tracked.item() == 0
    assert bool((torch.get_rng_state() == before).all())


def test_a_run_that_goes_on_begins_with_the_rows_of_its_checkpoint(tmp_path):
    CSVTracker(tmp_path).log_metrics({"loss": 9.0}, step=1)  # an older run
    first = CSVTracker(tmp_path)
    assert first.state_dict() == {"rows": 1, "texts": 0}
    first.log_metrics({"loss": 3.0}, step=1)
    first.log_text("a", "b", step=1)
    state = first.state_dict()
    first.log_metrics({"loss": 2.0}, step=1)
    first.log_metrics({"other": 1.0}, step=2)
    first.log_text("a", "c", step=2)
    with open(first.path, "a") as stream:
        stream.write("3,")
    second = CSVTracker(tmp_path)
    second.load_state_dict(state)
    second.log_metrics({"loss": 1.0}, step=2)
    assert read_csv(second.path) == [{"step": step, "loss": loss} for step, loss in ((1, 9.0), (1, 3.0), (2, 1.0))]
    assert len((tmp_path / "text.jsonl").read_text().splitlines()) == 1
    second.load_state_dict({"rows": 50, "texts": 50})
    second.log_metrics({"loss": 0.5}, step=3)
    assert len(read_csv(second.path)) == 4


def test_an_unknown_name_is_refused():
    assert {"csv", "terminal"} <= set(available())
    with pytest.raises(ArgumentError, match="no tracker is called 'no-such'"):
        open_tracker("no-such")


def test_another_package_brings_a_tracker(tmp_path, monkeypatch):
    info = tmp_path / "kept-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kept\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[polyad.trackers]\nkept = kept_tracker:Kept\naway = kept_tracker:Away\n")
    (tmp_path / "kept_tracker.py").write_text(
        "class Kept(list):\n    pass\n"
        "class Away:\n    def __init__(self):\n        raise ConnectionError('no server')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert type(open_tracker("kept")).__name__ == "Kept"
    with pytest.warns(UserWarning, match="ConnectionError: no server"):
        open_tracker("away")
