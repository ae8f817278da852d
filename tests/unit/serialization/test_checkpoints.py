"""Checkpoints in a folder: which stay, which is found, and what a killed run leaves behind."""

import os
import re
import threading

import pytest

import polyad
from fuzz import checkpoints
from polyad import nn
from polyad.errors import PolyadError
from polyad.serialization import CheckpointManager


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_manager_keeps_the_last_and_the_best(tmp_path, asynchronous):
    manager = CheckpointManager(tmp_path, keep=2, asynchronous=asynchronous)
    for step, score in enumerate([0.1, 0.9, 0.3, float("nan"), 0.5]):
        manager.save({"step": step, "w": polyad.full((3,), float(step))}, step, score)
    manager.wait()
    assert manager.steps() == [1, 3, 4]
    assert manager.load_latest()["step"] == 4
    assert manager.load_best()["w"].tolist() == [1, 1, 1]
    assert os.readlink(tmp_path / "latest.polyad") == "step-00000004.polyad"
    again = CheckpointManager(tmp_path, keep=2)
    again.save({"step": 5}, 5, 0.8)
    assert again.load_best()["step"] == 1
    again.save({"step": 6}, 6, 0.95)
    assert again.load_best()["step"] == 6
    assert again.steps() == [5, 6]


def test_the_smallest_score_and_every_few_steps(tmp_path):
    manager = CheckpointManager(tmp_path, keep=None, every=3, best_is="smallest")
    made = []
    for step in range(10):
        manager.step(lambda step=step: made.append(step) or {"step": step}, step, score=(step - 6) ** 2)
    assert made == manager.steps() == [0, 3, 6, 9]
    assert manager.load_best()["step"] == 6


def test_what_is_saved_asynchronously_is_of_the_moment_it_was_saved(tmp_path, monkeypatch):
    from polyad import serialization

    gate = threading.Event()
    save = serialization.save
    monkeypatch.setattr(serialization, "save", lambda *args, **options: (gate.wait(30), save(*args, **options)))
    model = nn.Linear(2, 2)
    tensor = polyad.zeros(2)
    manager = CheckpointManager(tmp_path, asynchronous=True)
    manager.save({"model": model.state_dict(), "x": [tensor], "y": tensor, "z": model(tensor)}, 0)
    tensor.add_(1)
    gate.set()
    found = manager.load_latest()
    assert found["x"][0].tolist() == [0, 0]
    found["y"].add_(5)
    assert found["x"][0].tolist() == [5, 5]


def test_what_goes_wrong_asynchronously_is_raised(tmp_path):
    manager = CheckpointManager(tmp_path, asynchronous=True)
    manager.save({"a": object()}, 0)
    with pytest.raises(TypeError, match=r"\['a'\] is of type"):
        manager.save({}, 1)
    manager.save({}, 2)
    assert manager.load_latest() == {}


def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path):
    manager = CheckpointManager(tmp_path)
    for step in range(3):
        manager.save({"step": step}, step)
    path = tmp_path / "step-00000002.polyad"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.warns(UserWarning, match=re.escape(str(path))):
        assert manager.load_latest()["step"] == 1
    polyad.save({"step": 7, "score": None, "object": 1}, tmp_path / "step-00000001.polyad")
    path.unlink()
    with pytest.warns(UserWarning, match="not the checkpoint of step 1"):
        assert manager.load_latest()["step"] == 0
    (tmp_path / "step-00000000.polyad").write_bytes(b"")
    with (
        pytest.raises(RuntimeError, match="not the checkpoint of step 1"),
        pytest.warns(UserWarning, match="passed over"),
    ):
        manager.load_latest()


def test_a_manager_without_checkpoints(tmp_path):
    manager = CheckpointManager(tmp_path / "new" / "folder")
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        manager.load_latest()
    with pytest.raises(FileNotFoundError, match="no best"):
        manager.load_best()
    for arguments in ({"keep": 0}, {"every": 0}, {"keep": 2.5}, {"best_is": "first"}):
        with pytest.raises(ValueError, match="CheckpointManager"):
            CheckpointManager(tmp_path, **arguments)
    with pytest.raises(ValueError, match="step is -1"):
        manager.save({}, -1)
    with pytest.raises(TypeError, match="asynchronous is str, not a bool"):
        CheckpointManager(tmp_path, asynchronous="no")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        CheckpointManager(tmp_path / "file" / "folder")


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda manager: manager.step(3, dict), "CheckpointManager.step: make is int, not a function"),
        (lambda manager: manager.step({}, 3), "CheckpointManager.step: make is dict, not a function"),
        (lambda manager: manager.step(dict, "3"), "CheckpointManager.step: step is '3', not an int"),
        (lambda manager: manager.step(dict, 3.5), "CheckpointManager.step: step is 3.5, not an int"),
        (lambda manager: manager.save(3, {}), r"CheckpointManager.save: step is \{\}, not an int"),
        (lambda manager: manager.save({}, 3, "0.5"), "CheckpointManager.save: score is str, not a real number"),
        (lambda manager: manager.save({}, 3, [1]), "CheckpointManager.save: score is list, not a real number"),
        (lambda manager: manager.save({}, 3, 1j), "CheckpointManager.save: score is complex, not a real number"),
        (lambda manager: manager.load("3"), "CheckpointManager.load: step is '3', not an int"),
        (lambda manager: manager.load(None), "CheckpointManager.load: step is None, not an int"),
        (lambda manager: manager.load(-1), "CheckpointManager.load: step is -1, not an int"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, call, what):
    manager = CheckpointManager(tmp_path)
    with pytest.raises(PolyadError, match=what):
        call(manager)
    assert manager.steps() == []


# ------------------------------------------------------------------------------------------------------- killed writers


class Killed(BaseException):
    pass


@pytest.mark.parametrize("link", ["latest", "best"])
def test_a_run_killed_before_its_links_are_set_loses_nothing(tmp_path, monkeypatch, link):
    manager = CheckpointManager(tmp_path, keep=1)
    manager.save({"step": 0}, 0, score=0.5)
    set_link = CheckpointManager._link

    def killed(self, name, target):
        if name == link:
            raise Killed
        set_link(self, name, target)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointManager, "_link", killed)
        with pytest.raises(Killed):
            manager.save({"step": 1}, 1, score=0.9)
    again = CheckpointManager(tmp_path, keep=1)
    assert (again.load_latest()["step"], again.load_best()["step"]) == (1, 1)
    again.save({"step": 2}, 2, score=0.1)
    assert (again.load_latest()["step"], again.load_best()["step"]) == (2, 1)
    assert sorted(os.listdir(tmp_path)) == [
        "best.polyad", "latest.polyad", "step-00000001.polyad", "step-00000002.polyad"
    ]  # fmt: skip
    assert os.readlink(tmp_path / "best.polyad") == "step-00000001.polyad"


def test_a_best_that_was_never_linked_is_found(tmp_path, monkeypatch):
    manager = CheckpointManager(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointManager, "_link", lambda *_: None)
        manager.save({"step": 0}, 0, score=1.0)
    assert CheckpointManager(tmp_path).load_best()["step"] == 0


def test_a_step_that_is_saved_again_has_its_new_score(tmp_path):
    manager = CheckpointManager(tmp_path, keep=None)
    for step, score in ((0, 0.5), (1, 0.9), (1, 0.1)):
        manager.save({"step": step}, step, score)
    assert manager.load_best()["step"] == 0
    for step in (0, 1):
        manager.save({"step": step}, step)
    with pytest.raises(FileNotFoundError, match="no best"):
        manager.load_best()
    assert not (tmp_path / "best.polyad").is_symlink()


def test_a_best_that_cannot_be_read_is_told(tmp_path):
    manager = CheckpointManager(tmp_path)
    for step, score in ((0, 0.5), (1, 0.9)):
        manager.save({"step": step, "w": polyad.ones(9)}, step, score)
    path = tmp_path / "step-00000001.polyad"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(RuntimeError, match="truncated"):
        manager.load_best()
    again = CheckpointManager(tmp_path)
    again.save({"step": 2}, 2, score=0.1)
    assert again.load_best()["step"] == 0


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_runs_leave_checkpoints_that_can_be_read():
    """A slice: `python -m fuzz.checkpoints` does it 200 times."""
    findings = []
    checkpoints.kills(4, findings.append)
    assert findings == []
