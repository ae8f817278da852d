"""polyad in place of PyTorch: what ``import torch`` gives, here, in child processes, and after it was taken back."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyad
from polyad import as_torch
from polyad.as_torch import __main__ as command
from polyad.cli import main


@pytest.fixture
def standing_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(as_torch, "_pytorch", lambda: None)  # whether PyTorch is here or not
    as_torch.install()
    yield
    as_torch.uninstall()


def test_modules_are_the_same_objects(standing_in: None) -> None:
    import torch
    import torch.nn.functional
    import torch.optim.lr_scheduler
    from torch.utils.data import DataLoader

    assert torch is polyad
    assert torch.nn.functional is polyad.nn.functional
    assert torch.optim.lr_scheduler.StepLR is polyad.optim.lr_scheduler.StepLR
    assert DataLoader is polyad.utils.data.DataLoader
    assert torch.nn.__spec__.name == "polyad.nn"
    assert torch.__version__ == polyad.__version__
    assert torch.version.polyad == importlib.metadata.version("polyad")
    assert torch.__name__ == "torch"
    assert torch.torch is torch


def test_attributes_that_load_late_are_found_under_the_other_name(standing_in: None) -> None:
    """`polyad.__name__` is "torch" then: what is loaded by it must stay polyad's, and functions functions."""
    polyad.__dict__.pop("FloatTensor", None)
    assert polyad.FloatTensor([1.0]).tolist() == [1.0]
    assert polyad.tensor([1.0]).tolist() == [1.0]


def test_questions_about_the_distribution(standing_in: None) -> None:
    assert importlib.metadata.version("torch") == polyad.torch_api_version
    assert importlib.metadata.packages_distributions()["torch"] == ["torch"]
    assert importlib.util.find_spec("torch") is not None
    assert importlib.util.find_spec("torch.nn") is not None
    assert importlib.util.find_spec("torch.no_such_part") is None
    assert importlib.metadata.version("numpy")


def test_what_polyad_lacks_is_not_there(standing_in: None) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"torch\.no_such_part"):
        importlib.import_module("torch.no_such_part")


def test_it_is_taken_back() -> None:
    assert not as_torch.is_installed()
    as_torch.install()
    as_torch.install()
    assert importlib.import_module("torch.nn") is polyad.nn
    as_torch.uninstall()
    as_torch.uninstall()
    assert polyad.__name__ == "polyad"
    assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
    assert not [finder for finder in sys.meta_path if type(finder).__module__ == "polyad.as_torch.finding"]


def test_another_torch_that_is_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    other = types.ModuleType("torch")
    other.__file__ = "/elsewhere/torch/__init__.py"
    monkeypatch.setitem(sys.modules, "torch", other)
    with pytest.raises(ImportError, match=r"another torch is imported\n    torch  /elsewhere/torch/__init__\.py"):
        as_torch.install()
    assert not as_torch.is_installed()


def test_parts_that_a_failed_import_has_left_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.version", types.ModuleType("torch.version"))
    with pytest.raises(ImportError, match=r"imported in part\n    torch\.version"):
        as_torch.install()
    assert not as_torch.is_installed()


def test_threads_install_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = threading.Barrier(8)

    def pytorch() -> None:  # where a thread that waits would let the others in
        time.sleep(0.01)

    def install() -> None:
        barrier.wait()
        as_torch.install()

    monkeypatch.setattr(as_torch, "_pytorch", pytorch)
    threads = [threading.Thread(target=install) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(type(finder).__module__ == "polyad.as_torch.finding" for finder in sys.meta_path) == 1
    finally:
        as_torch.uninstall()


def test_what_was_made_before_is_what_torch_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = polyad.nn.Linear(2, 1)
    monkeypatch.setattr(as_torch, "_pytorch", lambda: None)
    as_torch.install()
    try:
        import torch

        assert isinstance(before, torch.nn.Linear)
        before(torch.ones(1, 2)).sum().backward()
        assert before.weight.grad.tolist() == [[1.0, 1.0]]
    finally:
        as_torch.uninstall()


def test_pytorch_that_is_installed_is_left_alone_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("real = True")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.warns(UserWarning, match="PyTorch is installed too"):
        as_torch.install()
    try:
        assert importlib.import_module("torch") is polyad
    finally:
        as_torch.uninstall()
    assert importlib.import_module("torch").real
    del sys.modules["torch"]


PROGRAM = """
import subprocess, sys, torch
print(sys.argv[1:], torch.nn.Linear.__module__)
child = "import sys, torch; print(torch.__name__, 'sitecustomize ran' if hasattr(sys, 'own') else '')"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout)
"""


def test_a_program_and_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's own sitecustomize, which the stand-in's hides, still runs."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.own = True")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "polyad.as_torch", str(tmp_path / "program.py"), "--lr", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['--lr', '1'] polyad.nn.modules.linear\ntorch sitecustomize ran\n\n"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["as-torch"]) == 2
    assert "usage" in capsys.readouterr().err
    assert main(["as-torch", "--help"]) == 0
    assert "script.py" in capsys.readouterr().out
    assert main(["as-torch", "no_such_file.py"]) == 2
    assert "there is no file no_such_file.py" in capsys.readouterr().err
    monkeypatch.setattr(command.sysconfig, "get_path", lambda name: str(tmp_path))
    assert main(["as-torch", "--enable"]) == 0
    (line,) = (tmp_path / "polyad_as_torch.pth").read_text().splitlines()
    assert line.startswith("import ")  # what site runs
    exec(line)  # without the variable it does nothing
    assert not as_torch.is_installed()
    assert main(["as-torch", "--disable"]) == 0
    assert not list(tmp_path.iterdir())
