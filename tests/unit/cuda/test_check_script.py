"""benchmarks/gpu_check.sh with tools that only tell how they were called."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "gpu_check.sh"

PYTHON = """#!/bin/sh
if [ "$2" = venv ]; then
    mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
else
    echo "called with $*"
    case "$*" in *" torch "*) exit {torch} ;; *doctor*) exit 3 ;; esac
fi
"""


@pytest.fixture
def checked(tmp_path):
    """What the script says with a driver that knows *cuda*, and whether it ended well."""

    def run(cuda, torch=0):
        tools, results = tmp_path / "tools", tmp_path / "results"
        tools.mkdir()
        driver = f"echo 'Driver Version: 1  CUDA Version: {cuda} |'" if cuda else "echo 'no devices'; exit 9"
        for name, text in (("nvidia-smi", f"#!/bin/sh\n{driver}\n"), ("python3", PYTHON.format(torch=torch))):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        done = subprocess.run(
            ["sh", SCRIPT, results], cwd=SCRIPT.parents[1], env={"PATH": f"{tools}:/usr/bin:/bin"}, timeout=60,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize(("cuda", "extra"), [("12.8", "cuda12"), ("13.0", "cuda13")])
def test_the_extra_follows_the_driver_and_all_parts_run(checked, cuda, extra):
    code, said = checked(cuda)
    assert code == 0
    assert f"[{extra},test] torch --extra-index-url" in said
    assert "doctor: exit 3 in" in said, "a part that fails is told"
    for part in ("demo", "speed", "conformance", "libraries", "storage", "leaks"):
        assert f"\n{part}: exit 0 in" in said


def test_where_pytorch_cannot_be_installed_the_rest_goes_on(checked):
    code, said = checked("12.8", torch=1)
    assert code == 0
    assert "install: exit 1" in said
    assert "install-alone: exit 0" in said
    assert "\nstorage: exit 0" in said


def test_without_a_driver_nothing_is_installed(checked):
    code, said = checked("")
    assert code == 1
    assert "no devices\nthere is no driver" in said
    assert "install" not in said


def test_the_check_for_leaks_counts_what_is_left(device):
    script = SCRIPT.with_name("gpu_leaks.py")
    done = subprocess.run(
        [sys.executable, script, "--steps", "100"], timeout=120, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "100 steps: +0 bytes on the device" in done.stdout
