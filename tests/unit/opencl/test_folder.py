"""Kept kernels: a damaged file, a folder of somebody else's, a full disk. None of them may cost more than compiling."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

pytest.importorskip("pyopencl", reason="PyOpenCL is not installed: pip install 'polyad[opencl]'")
from polyad_opencl.runtime import folder

PROGRAM = """
import polyad
x = polyad.tensor([1.0, 2.0, 3.0], device="opencl")
print((x * 2).tolist(), (x + x).tolist())
"""
RIGHT = "[2.0, 4.0, 6.0] [2.0, 4.0, 6.0]\n"


def start(cache, **environment):
    settings = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**settings, "POLYAD_CACHE_DIR": str(cache), **environment},
    )  # fmt: skip


def outcome(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path / "cache"))
    folder._warn.cache_clear()
    return tmp_path / "cache"


def test_damaged_files_are_compiled_anew(opencl, tmp_path):
    cache = tmp_path / "cache"
    # Two at once, into one empty folder.
    assert [outcome(process) for process in (start(cache), start(cache))] == [(0, RIGHT, "")] * 2
    files = sorted(cache.rglob("*.bin"))
    assert files
    assert not list(cache.rglob("*.part"))
    assert not list(cache.rglob("run-*"))  # PoCL's folders went with their processes
    good = [path.read_bytes() for path in files]
    damage = [lambda data: data[: len(data) // 2], lambda data: data[:-1], lambda data: b"",
              lambda data: data[:3000] + bytes([data[3000] ^ 4]) + data[3001:]]  # fmt: skip
    for number, path in enumerate(files):
        path.write_bytes(damage[number % len(damage)](path.read_bytes()))
    assert outcome(start(cache)) == (0, RIGHT, "")
    assert [path.stat().st_size for path in files] == [len(data) for data in good]


def test_what_is_read_is_what_was_written_or_nothing(cache):
    name = "ab" * 32
    assert folder.read(name) is None
    folder.write(name, b"contents")
    assert folder.read(name) == b"contents"
    path = cache / "opencl" / "ab" / f"{name}.bin"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place])
        assert folder.read(name) is None
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert folder.read(name) is None
    other = cache / "opencl" / "ab" / f"{'ab' * 31}ac.bin"
    other.write_bytes(whole)
    assert folder.read(other.stem) is None
    assert (cache / "opencl").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are POSIX's")
@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(cache, mode):
    (cache / "opencl").mkdir(parents=True)
    (cache / "opencl").chmod(mode)
    with pytest.warns(UserWarning, match=r"other users may write there.*Fix: chmod go-w .*opencl"):
        assert folder.cache_folder() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert folder.read("ab" * 32) is None  # said once
        folder.write("ab" * 32, b"contents")
    assert not list(cache.rglob("*.bin"))
    (cache / "opencl").chmod(0o755)
    assert folder.cache_folder() == cache / "opencl"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are POSIX's")
def test_a_folder_of_another_user_is_not_used(cache, monkeypatch):
    cache.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: cache.stat().st_uid + 1)
    with pytest.warns(UserWarning, match=r"belongs to another user.*set POLYAD_CACHE_DIR"):
        assert folder.cache_folder() is None


def test_a_full_disk_leaves_what_was_there(cache, monkeypatch):
    name = "cd" * 32
    folder.write(name, b"before")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.write(name, b"after")
    assert folder.read(name) == b"before"
    assert not list(cache.rglob("*.part"))


def test_folders_of_processes_that_were_killed_are_deleted(cache):
    if folder.fcntl is None:
        pytest.skip("locks are POSIX's")
    place = cache / "opencl" / "pocl"
    first = folder._fresh()
    assert first.parent == place
    left = place / "run-killed"
    left.mkdir()
    (left / "kernel.so").write_bytes(b"code")
    second = folder._fresh()
    assert not left.exists()
    assert first.is_dir()  # its process, this one, holds its lock
    assert second != first
