"""Files: paths that can be none, JSON that costs more than it should, and what killed writers leave."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import polyad
from polyad.datasets import MNIST, read_idx
from polyad.files import json_text, parsed, replacing, writing
from polyad.interop.npz import read_npz

# ------------------------------------------------------------------------------------------------------------- paths

READERS = {"load": polyad.load, "read_idx": read_idx, "read_npz": read_npz, "MNIST": MNIST}
WRITERS = {
    "save": lambda path: polyad.save(1, path),
    "Picture.save": lambda path: polyad.utils.viz.graph(polyad.ones(2, requires_grad=True).sum()).save(f"{path}.svg"),
    "profile.export_chrome_trace": lambda path: recorded().export_chrome_trace(path),
}


def recorded():
    with polyad.autograd.profiler.profile() as profile:
        polyad.ones(2)
    return profile


@pytest.mark.parametrize("name", [*READERS, *WRITERS])
@pytest.mark.parametrize(
    ("path", "why"), [("a\0b", "holds NUL"), ("a\ud800b", "cannot be written")], ids=["NUL", "text"]
)
def test_names_that_no_file_has(name, path, why):
    with pytest.raises(ValueError, match=why) as caught:
        (READERS | WRITERS)[name](path)
    assert str(caught.value).startswith(f"{name}: the path")
    assert caught.value.fix


@pytest.mark.parametrize("name", ["read_idx", "read_npz", "MNIST"])
@pytest.mark.parametrize("path", [None, 3, ["file"]], ids=repr)
def test_what_is_no_path(name, path):
    with pytest.raises(TypeError, match=f"{name}: path is {type(path).__name__}, not a path"):
        READERS[name](path)


@pytest.mark.parametrize("name", ["load", "save", "read_idx", "read_npz"])
def test_an_empty_path(name):
    with pytest.raises(FileNotFoundError, match=f"{name}: .*\n.*the path is empty"):
        (READERS | WRITERS)[name]("")


@pytest.mark.parametrize("name", [*WRITERS])
def test_folders_that_are_not_there(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"{name}: ") as caught:
        WRITERS[name](str(tmp_path / "none" / "file"))
    assert "the folder must exist" in caught.value.fix


@pytest.mark.skipif(os.name == "nt", reason="Windows counts characters, not bytes")
@pytest.mark.parametrize("name", ["\N{GRINNING FACE}" * 60, "é" * 127, "x" * 255])
def test_the_longest_names_that_a_file_may_have(tmp_path, name):
    polyad.save(1, tmp_path / name)
    assert polyad.load(tmp_path / name) == 1
    with pytest.raises(OSError, match="choose a shorter name"):
        polyad.save(1, tmp_path / (name + "x" * 200))


def test_errors_while_reading_name_the_file():
    if not os.path.exists("/proc/self/mem"):
        pytest.skip("no file here that opens and does not read")
    with pytest.raises(OSError, match="load: /proc/self/mem: "):
        polyad.load("/proc/self/mem")


# -------------------------------------------------------------------------------------------------------------- JSON


LIMITS = {"MOST_CONTAINERS": 10, "MOST_VALUES": 20, "MOST_NAMES": 5, "LONGEST_UNICODE": 50, "LONGEST": 2_000}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[" + b"[]," * 10 + b"0]", "more than 10 lists and objects"),
        (b"[" + b"0," * 20 + b"0]", "more than 20 values"),
        (b"[" + b'"",' * 50 + b"0]", "more than 20 values"),
        (b'{"":0' + b',"":0' * 5 + b"}", "more than 5 entries of objects"),
        (b'"' + b"x" * 50 + b'\xc3\xa9"', "more than 50 bytes and is not ASCII"),
        (b"x" * 2_001, "more than 2,000 bytes"),
    ],
    ids=["lists", "values", "strings", "names", "unicode", "length"],
)
def test_what_is_too_much_is_refused_before_it_is_parsed(text, why, monkeypatch):
    monkeypatch.setattr(json_text.json, "loads", None)
    for name, limit in LIMITS.items():
        assert getattr(json_text, name) > 1000 * limit
        monkeypatch.setattr(json_text, name, limit)
    with pytest.raises(ValueError, match=why):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[" * 401 + b"]" * 401, "nested more than 400 levels deep"),
        (b'{"a":' * 401 + b"0" + b"}" * 401, "nested more than 400 levels deep"),
        (b"9" * 1401, "number of more than 1400 digits"),
        (b"[1." + b"0" * 1401 + b"]", "number of more than 1400 digits"),
        (b'{"a": 1, "a": 2}', "occurs twice"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[1", "delimiter"),
        (b'"\xff"', "utf-8"),
    ],
    ids=range(8),
)
def test_what_is_no_json(text, why):
    with pytest.raises(ValueError, match=why):
        parsed(text)


def test_text_in_strings_does_not_count():
    text = b'{"a": "' + b"[{,999" * 800_000 + b'", "b\\\\": ["\\"[[[", "\\\\"], "c": ""}'
    assert parsed(text)["b\\"] == ['"[[[', "\\"]


def test_deep_nesting_is_refused_whatever_the_recursion_limit_is():
    # In a process of its own: where it is parsed, the stack overflows.
    code = "import sys; sys.setrecursionlimit(10**9); from polyad.files import parsed; parsed(b'[' * 10**6)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ValueError: it is nested more than 400 levels deep" in result.stderr


# ------------------------------------------------------------------------------------------------------ killed writers

WRITER = """
import sys, time, polyad
from polyad.files import replacing
with replacing(sys.argv[1], "save") as stream:
    stream.write(b"x" * 1000)
    stream.flush()
    print("writing", flush=True)
    if sys.argv[2] == "wait":
        sys.stdin.read()
"""


def writer(path, what="wait"):
    """A process in the middle of writing *path*."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"writing\n"
    return process


def unfinished(folder):
    return [path for path in folder.iterdir() if path.name.endswith(".part")]


posix = pytest.mark.skipif(os.name == "nt", reason="without file locks, unfinished files stay for a day")


@posix
def test_what_a_killed_save_leaves_goes_with_the_next_save_to_the_folder(tmp_path):
    process = writer(tmp_path / "model")
    process.kill()
    process.communicate()
    assert len(unfinished(tmp_path)) == 1
    polyad.save(1, tmp_path / "other")
    assert unfinished(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@posix
def test_what_another_process_is_writing_stays(tmp_path):
    process = writer(tmp_path / "model")
    (before,) = unfinished(tmp_path)
    polyad.save(1, tmp_path / "other")
    polyad.save(1, tmp_path / "model")
    assert unfinished(tmp_path) == [before]
    process.send_signal(signal.SIGSTOP)  # one that does nothing is not dead
    polyad.save(1, tmp_path / "other")
    process.send_signal(signal.SIGCONT)
    assert unfinished(tmp_path) == [before]
    process.communicate(b"")
    assert process.returncode == 0
    assert (tmp_path / "model").read_bytes() == b"x" * 1000
    assert unfinished(tmp_path) == []


@posix
def test_what_this_process_is_writing_stays(tmp_path):
    with replacing(tmp_path / "a", "test") as stream:
        stream.write(b"1")
        polyad.save(1, tmp_path / "b")
        assert len(unfinished(tmp_path)) == 1
    assert (tmp_path / "a").read_bytes() == b"1"


@posix
def test_other_files_stay(tmp_path):
    mine, other = writing._host(), "0" * 8
    names = [".x.part", "a.part", f".a.{mine}.part", f"a.{mine}.01234567.part", f".a.{mine}.01234567.part.old"]
    recent = [f".a.{other}.01234567.part"]  # begun on another machine, whose locks may not be seen here
    for name in names + recent:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / f".folder.{mine}.01234567.part").mkdir()
    (tmp_path / f".link.{mine}.01234567.part").symlink_to(tmp_path / "a.part")
    os.mkfifo(tmp_path / f".pipe.{mine}.01234567.part")
    before = sorted(path.name for path in tmp_path.iterdir())
    polyad.save(1, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "new"])
    os.utime(tmp_path / recent[0], (0, 0))
    polyad.save(1, tmp_path / "new")
    assert not (tmp_path / recent[0]).exists()


@posix
def test_an_unfinished_file_that_is_taken_for_abandoned_is_begun_again(tmp_path, monkeypatch):
    # What another process may do between a writer's creating its file and locking it.
    real, taken = writing._lock, []

    def lock(descriptor):
        if not taken:
            taken.extend(unfinished(tmp_path))
            taken[0].unlink()
        return real(descriptor)

    monkeypatch.setattr(writing, "_lock", lock)
    polyad.save([1, 2], tmp_path / "model")
    assert len(taken) == 1
    assert polyad.load(tmp_path / "model") == [1, 2]
    assert unfinished(tmp_path) == []


SAVER = """
import pathlib, sys, polyad
folder, me, times = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("saving", flush=True)
for count in range(times):
    polyad.save(polyad.full((1000,), float(count)), folder / me)
    assert polyad.load(folder / me)[0] == count
"""


@posix
def test_processes_that_save_to_one_folder_do_not_disturb_each_other_and_some_are_killed(tmp_path):
    def saver(name, times):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(tmp_path), name, str(times)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout.readline() == "saving\n"
        return process

    lasting = [saver(name, 10) for name in ("a", "b")]
    doomed = [saver(f"k{number}", 10**6) for number in range(2)]
    for number, process in enumerate(doomed):
        time.sleep(0.1 + 0.05 * number)
        process.kill()
        process.communicate()
    for process in lasting:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    for name in ("a", "b"):
        assert polyad.load(tmp_path / name)[0] == 9
    polyad.save(1, tmp_path / "last")
    assert unfinished(tmp_path) == []


def test_folders_that_cannot_be_listed_are_no_hindrance(tmp_path, monkeypatch):
    def refused(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refused)
    polyad.save(1, tmp_path / "model")
    assert polyad.load(tmp_path / "model") == 1


def test_file_systems_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_lock", lambda descriptor: None)
    left = tmp_path / f".a.{writing._host()}.01234567.part"
    left.write_bytes(b"")
    polyad.save(1, tmp_path / "model")
    assert left.exists()
    os.utime(left, (0, 0))
    polyad.save(2, tmp_path / "model")
    assert not left.exists()
    assert polyad.load(pathlib.Path(tmp_path, "model")) == 2
