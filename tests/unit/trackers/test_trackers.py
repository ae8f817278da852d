"""Trackers: what is written is read back, and what cannot be written ends no run."""

import io
import json
import warnings

import pytest
from rich.console import Console

from polyad.errors import ArgumentError
from polyad.trackers import CSVTracker, TerminalTracker, Tracker, available, learning_curve, open_tracker, read_csv
from polyad.trackers.terminal import drawn


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


def test_a_tracker_that_cannot_be_made_is_told_of_and_keeps_nothing(tmp_path):
    with pytest.warns(UserWarning, match="the tracker 'csv' cannot be used.*TypeError"):
        tracker = open_tracker("csv", no_such_option=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.log_metrics({"loss": 1.0}, step=1)
    assert type(tracker) is Tracker


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
