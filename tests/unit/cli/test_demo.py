"""``polyad demo`` as a user runs it: what it writes, how it goes on, and how it ends when something is wrong."""

import gzip
import os
import re
import signal
import struct
import subprocess
import sys
import time

import pytest

import polyad
from polyad.cli import main
from polyad.demo import run


def demo(*arguments):
    return main(["demo", *map(str, arguments)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder and the output of a run of two epochs."""
    output = tmp_path_factory.mktemp("demo")
    result = subprocess.run(
        [sys.executable, "-m", "polyad", "demo", "--epochs", "2", "--output", str(output)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return output, result.stdout


def test_it_shows_rows_accuracy_and_a_checked_checkpoint(finished):
    output, text = finished
    rows = re.findall(r"^ +(\d+)  +([\d.]+)  +([\d.]+)  +([\d.]+)  +([\d.]+)$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["1", "2"]
    assert float(rows[1][1]) < float(rows[0][1])  # the loss falls
    held_out = float(rows[1][3])
    assert held_out > 0.9
    assert f"Held-out accuracy {held_out:.4f}" in text
    assert "360 of 360 predictions equal" in text
    assert re.search(r"Misread, \d+ in all:", text)
    assert re.search(r"\d, read \d", text)
    assert (output / "checkpoint.polyad").exists()


def test_text_that_goes_into_a_file_has_no_control_characters(finished):
    _, text = finished
    assert not re.search(r"[^\n\x20-\U0010ffff]", text)
    assert all(line == line.rstrip() for line in text.splitlines())


def test_the_curve_is_drawn_where_matplotlib_is(finished):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    output, text = finished
    assert (output / "learning-curve.png").read_bytes().startswith(b"\x89PNG")
    assert "learning-curve.png" in text


def test_without_matplotlib_it_says_so(finished, tmp_path, monkeypatch, capsys):
    output, _ = finished
    monkeypatch.setattr("polyad.trackers.can_draw", lambda: False)
    assert demo("--resume", output / "checkpoint.polyad", "--epochs", 2, "--output", tmp_path) == 0
    shown = capsys.readouterr().out
    assert "matplotlib is not installed (pip install 'polyad[plot]')" in shown
    assert "Nothing to train: 2 of 2 epochs are done" in shown
    assert not (tmp_path / "learning-curve.png").exists()


def test_a_resumed_run_equals_one_that_was_not_stopped(finished, tmp_path):
    whole = polyad.load(finished[0] / "checkpoint.polyad")
    assert demo("--epochs", 1, "--output", tmp_path) == 0
    assert demo("--epochs", 2, "--output", tmp_path, "--resume") == 0
    resumed = polyad.load(tmp_path / "checkpoint.polyad")
    for name, tensor in whole["model"].items():
        assert resumed["model"][name].tolist() == tensor.tolist(), name
    losses = [[entry["loss"] for entry in run["history"]] for run in (whole, resumed)]
    assert losses[0] == losses[1]
    assert resumed["epoch"] == 2


def test_a_run_resumed_in_the_middle_of_an_epoch_equals_one_that_was_not_stopped(
    finished, tmp_path, monkeypatch, capsys
):
    class Interrupting(run.Tally):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "seen" and value > 64 * 12 and (tmp_path / "checkpoint.polyad").exists():
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "Tally", Interrupting)
        assert demo("--epochs", 2, "--save-every", 5, "--output", tmp_path) == 130
    captured = capsys.readouterr()
    assert "The checkpoint of epoch 1, batch 10 is safe" in captured.err
    polyad.manual_seed(123)
    assert demo("--epochs", 2, "--save-every", 7, "--resume", "--output", tmp_path) == 0
    assert "after epoch 0, batch 10 of the next" in capsys.readouterr().out
    whole, resumed = polyad.load(finished[0] / "checkpoint.polyad"), polyad.load(tmp_path / "checkpoint.polyad")
    for name, tensor in whole["model"].items():
        assert resumed["model"][name].tolist() == tensor.tolist(), name
    for key in ("loss", "train", "held_out"):
        assert [entry[key] for entry in whole["history"]] == [entry[key] for entry in resumed["history"]]


def test_another_seed_gives_another_model(finished, tmp_path):
    assert demo("--epochs", 1, "--seed", 5, "--output", tmp_path) == 0
    other = polyad.load(tmp_path / "checkpoint.polyad")
    assert other["seed"] == 5
    first = polyad.load(finished[0] / "checkpoint.polyad")["history"][0]["loss"]
    assert other["history"][0]["loss"] != first


def test_resume_takes_its_options_from_the_checkpoint(finished, tmp_path, capsys):
    assert demo("--epochs", 1, "--seed", 3, "--batch-size", 128, "--lr", 0.01, "--output", tmp_path) == 0
    capsys.readouterr()
    assert demo("--epochs", 1, "--resume", "--output", tmp_path) == 0
    assert "batches of 128, Adam, lr 0.01, seed 3" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_leaves_the_last_checkpoint_intact_and_says_so(tmp_path):
    path = tmp_path / "checkpoint.polyad"
    process = subprocess.Popen(
        [sys.executable, "-m", "polyad", "demo", "--epochs", "500", "--output", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 120
    while not path.exists() and time.monotonic() < limit and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    saved = polyad.load(path)
    assert f"The checkpoint of epoch {saved['epoch']} is safe in {path}; go on with --resume." in errors
    assert "Traceback" not in errors
    assert os.listdir(tmp_path) == ["checkpoint.polyad"]


def interrupt(*_):
    raise KeyboardInterrupt


def test_ctrl_c_when_the_checkpoint_has_just_been_written(tmp_path, monkeypatch, capsys):
    from polyad.demo import run

    def written_then_interrupted(*args):
        write(*args)
        raise KeyboardInterrupt

    write = run.write_checkpoint
    monkeypatch.setattr(run, "write_checkpoint", written_then_interrupted)
    assert demo("--output", tmp_path) == 130
    assert "The checkpoint of epoch 1 is safe" in capsys.readouterr().err


def test_ctrl_c_before_the_first_epoch_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("polyad.demo.run.train_one_epoch", interrupt)
    assert demo("--output", tmp_path) == 130
    assert "No epoch was finished, so there is no checkpoint yet." in capsys.readouterr().err
    (tmp_path / "checkpoint.polyad").write_bytes(b"of an earlier run")
    assert demo("--output", tmp_path) == 130
    assert "is as it was before this run" in capsys.readouterr().err
    assert (tmp_path / "checkpoint.polyad").read_bytes() == b"of an earlier run"


def test_ctrl_c_while_saving_keeps_the_checkpoint_before(finished, tmp_path, monkeypatch, capsys):
    path = tmp_path / "checkpoint.polyad"
    path.write_bytes((finished[0] / "checkpoint.polyad").read_bytes())
    monkeypatch.setattr(os, "replace", interrupt)
    assert demo("--epochs", 3, "--resume", "--output", tmp_path) == 130
    assert path.read_bytes() == (finished[0] / "checkpoint.polyad").read_bytes()
    assert os.listdir(tmp_path) == ["checkpoint.polyad"]
    monkeypatch.undo()
    assert polyad.load(path)["epoch"] == 2
    assert "No epoch was finished" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------ bad options


def refused(capsys, *arguments):
    """What the demo says, on one screen, when it ends with exit code 2."""
    try:
        code = demo(*arguments)
    except SystemExit as error:
        code = error.code
    captured = capsys.readouterr()
    assert code == 2
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) < 24
    assert captured.err.strip()
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "nosuch"], "nosuch"),
        (["--device", "not a device"], "cannot read 'not a device'"),
        (["--epochs", "0"], "0 is not a whole number of at least 1"),
        (["--epochs", "many"], "many is not a whole number"),
        (["--batch-size", "-3"], "-3 is not a whole number of at least 1"),
        (["--lr", "nan"], "nan is not a number above 0"),
        (["--seed", "-1"], "-1 is not a whole number from 0"),
        (["--data", "cats"], "invalid choice: 'cats'"),
        (["--data", "fashion-mnist"], "add --root DIR"),
        (["--data", "fashion-mnist", "--root", "/no/such/folder"], "root /no/such/folder does not exist"),
        (["--root", "/tmp"], "leave --root out"),
        (["--resume", "no-such-file"], "no-such-file: no such file"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
    ids=" ".join,
)
def test_options_that_cannot_be_followed(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, *arguments)
    assert os.listdir(tmp_path) == []  # refused before anything was made


def test_resume_without_a_checkpoint_in_the_folder(capsys, tmp_path):
    assert "checkpoint.polyad: no such file" in refused(capsys, "--resume", "--output", tmp_path / "out")


def test_an_output_folder_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert "--output" in refused(capsys, "--output", tmp_path / "file")
    assert "--output" in refused(capsys, "--output", tmp_path / "file" / "below")
    if sys.platform == "linux":
        message = refused(capsys, "--output", "/sys/kernel/polyad-demo")
        assert "--output" in message
        assert "fix" in message


def test_a_disk_that_fills_up_while_training(capsys, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = refused(capsys, "--epochs", 1, "--output", tmp_path)
    assert "no space left on device" in message
    assert "free some space" in message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"weight": 1}, "is not a checkpoint of polyad demo"),
        ([1], "is not a checkpoint of polyad demo"),
        ({"demo": 1}, "without model"),
    ],
)
def test_files_that_are_no_checkpoint(capsys, tmp_path, value, message):
    polyad.save(value, tmp_path / "other")
    assert message in refused(capsys, "--resume", tmp_path / "other", "--output", tmp_path)


def test_checkpoints_that_are_damaged_or_of_another_program(capsys, tmp_path):
    (tmp_path / "damaged").write_bytes(b"PK\x03\x04" + bytes(100))
    assert "is a zip archive without an end: it is truncated" in refused(
        capsys, "--resume", tmp_path / "damaged", "--output", tmp_path
    )
    if os.name == "posix" and os.geteuid() != 0:
        (tmp_path / "damaged").chmod(0)
        assert "permission denied" in refused(capsys, "--resume", tmp_path / "damaged", "--output", tmp_path)


def test_checkpoints_of_another_model_or_data(capsys, finished, tmp_path):
    checkpoint = polyad.load(finished[0] / "checkpoint.polyad")
    checkpoint["model"]["classifier.weight"] = polyad.zeros(3, 3)
    polyad.save(checkpoint, tmp_path / "other")
    message = refused(capsys, "--resume", tmp_path / "other", "--output", tmp_path)
    assert "is a checkpoint of another model" in message
    message = refused(
        capsys, "--resume", finished[0] / "checkpoint.polyad", "--data", "fashion-mnist", "--output", tmp_path
    )
    assert "was trained on digits, not on fashion-mnist" in message


def test_a_loss_that_is_no_number_stops_the_run(capsys, tmp_path):
    assert demo("--lr", "1e30", "--output", tmp_path) == 1
    shown = capsys.readouterr()
    assert "epoch 1: training: the loss of batch" in shown.err
    assert re.search(r"first +batch_norm: it made an infinity", shown.err)
    assert "a smaller --lr than 1e+30" in shown.err
    assert "there is no checkpoint yet" in shown.err
    assert "predictions equal" not in shown.out
    assert not (tmp_path / "checkpoint.polyad").exists()


def test_predictions_of_what_is_no_number_stop_the_run(capsys, tmp_path, monkeypatch):
    # Batch statistics hide from training what is wrong with the running ones.
    train = run.train_one_epoch

    def spoil(model, *arguments):
        result = train(model, *arguments)
        with polyad.no_grad():
            model.features[1].running_var.fill_(float("nan"))
        return result

    monkeypatch.setattr(run, "train_one_epoch", spoil)
    assert demo("--epochs", "1", "--output", tmp_path) == 1
    assert "predicting: scores of the model are NaN or infinite" in capsys.readouterr().err
    assert not (tmp_path / "checkpoint.polyad").exists()


@pytest.mark.parametrize("part", ["model", "optimizer"])
def test_checkpoints_with_nan_are_not_trained_further(capsys, finished, tmp_path, part):
    checkpoint = polyad.load(finished[0] / "checkpoint.polyad")
    tensors = checkpoint["model"] if part == "model" else checkpoint["optimizer"]["state"][0]
    next(iter(tensors.values())).fill_(float("nan"))
    polyad.save(checkpoint, tmp_path / "spoilt")
    message = refused(capsys, "--resume", tmp_path / "spoilt", "--epochs", "3", "--output", tmp_path)
    assert f"holds NaN or infinities, in {part}[" in message


def test_fashion_mnist_from_small_files(tmp_path, capsys):
    for part, count in (("train", 64), ("t10k", 32)):
        for name, shape in (("images-idx3", (count, 28, 28)), ("labels-idx1", (count,))):
            size = count * 784 if len(shape) == 3 else count
            data = (
                bytes([0, 0, 8, len(shape)])
                + struct.pack(f">{len(shape)}I", *shape)
                + bytes(i % 10 for i in range(size))
            )
            (tmp_path / f"{part}-{name}-ubyte.gz").write_bytes(gzip.compress(data))
    assert demo("--data", "fashion-mnist", "--root", tmp_path, "--output", tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert "28 x 28 pixels: 64 to learn from, 32 held out" in shown
    assert "32 of 32 predictions equal" in shown
