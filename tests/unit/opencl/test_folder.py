"""Kept programs: a damaged file may cost no more than compiling, and PoCL's own folder goes with its process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("pyopencl", reason="PyOpenCL is not installed: pip install 'polyad[opencl]'")
from polyad_opencl.runtime import discovery, folder

PROGRAM = """
import polyad
x = polyad.tensor([1.0, 2.0, 3.0], device="opencl")
print((x * 2).tolist(), (x + x).tolist())
"""
RIGHT = "[2.0, 4.0, 6.0] [2.0, 4.0, 6.0]\n"


def start(cache, program=PROGRAM, **environment):
    settings = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**settings, "POLYAD_CACHE_DIR": str(cache), **environment},
    )  # fmt: skip


def outcome(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path / "cache"))
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


TWICE = """
import polyad
from polyad_opencl.runtime import folder, objects
of_file, read = objects.Linked.of_file, set()
def noted(*given):
    linked = of_file(*given)
    read.update(path.stat().st_ino for path in linked.place.rglob("*.so"))
    return linked
objects.Linked.of_file = noted
x = polyad.tensor([1.0, 4.0, 9.0], device="opencl")
print(x.sqrt().tolist(), x.neg().tolist(), (polyad.ones(70_000, device="opencl") * 2).sum().item())
from polyad_opencl.runtime.device import opened_devices
(device,) = opened_devices()
print(device.programs.compiled > 0, {path.stat().st_ino for path in folder.pocl_cache().rglob("*.so")} <= read)
"""


def test_code_of_launches_comes_back(opencl, tmp_path):
    """What PoCL compiled for launches lies in the files, and in the next process where PoCL looks."""
    if discovery.devices()[0].platform.name != discovery.POCL:
        pytest.skip("the device is not PoCL's")
    cache = tmp_path / "cache"
    values = "[1.0, 2.0, 3.0] [-1.0, -4.0, -9.0] 140000.0\n"
    assert outcome(start(cache, TWICE)) == (0, values + "True False\n", "")
    kept = {path: path.read_bytes() for path in cache.rglob("*.bin")}
    assert all(b"\x7fELF" in data for data in kept.values())
    assert outcome(start(cache, TWICE)) == (0, values + "False True\n", "")
    assert {path: path.read_bytes() for path in cache.rglob("*.bin")} == kept
