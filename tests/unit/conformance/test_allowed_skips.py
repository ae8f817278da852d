"""Sessions fail on skips that are on no list."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import allowed_skips

TEST = """
import pytest

@pytest.mark.parametrize("reason", ["fork", "{reason}"])
def test_one(reason):
    pytest.skip(reason)

@pytest.mark.xfail(reason="known")
def test_two():
    assert False

def test_three():
    pass
"""
MODULE = 'import pytest\npytest.importorskip("{name}")\n'


def run(tmp_path, name="tests", *options):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "allowed_skips", f"--allowed-skips={name}"]
    path = Path(allowed_skips.__file__).parent
    done = subprocess.run(
        [*command, *options, "-c", "/dev/null", "."], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(path), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("-n1",)], ids=["one process", "a worker"])
def test_a_skip_that_is_on_no_list_fails_the_run(tmp_path, options) -> None:
    (tmp_path / "test_here.py").write_text(TEST.format(reason="fork in the road"))
    (tmp_path / "test_there.py").write_text(MODULE.format(name="nobodys_package"))
    code, said = run(tmp_path, "tests", *options)
    assert code == 1, said
    assert "skips that are on no list" in said
    assert "fork in the road\n    1 of the list 'tests': test_here.py::test_one[fork in the road]" in said
    assert "could not import 'nobodys_package'" in said
    assert "known" not in said.split("on no list")[1]
    assert "::test_one[fork]" not in said


def test_skips_that_are_on_the_list_pass(tmp_path) -> None:
    (tmp_path / "test_here.py").write_text(TEST.format(reason="flags of x86-64"))
    code, said = run(tmp_path)
    assert code == 0, said
    assert run(tmp_path, "nobody")[0] == 4


def test_each_entry_says_why() -> None:
    lists = tomllib.loads(allowed_skips.LISTS.read_text())
    for name, entries in lists.items():
        for entry in entries:
            assert entry["because"], (name, entry["reason"])
        assert not any(one.fullmatch("") for one in allowed_skips.allowed(name)), name
