"""Who waits for compilers is told once, and on a terminal how far it is; scripts can turn it off."""

import io
import sys

import pytest

from polyad.backend import notice


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv(notice.SWITCH, raising=False)
    monkeypatch.setattr(notice, "PATIENCE", 0)
    monkeypatch.setattr(notice, "_Waited", type("_Waited", (), {"seconds": 0.0, "kernels": 0, "told": False}))


def compile_two(folder: str | None = "/cache") -> None:
    for what in ("exp of float32", "tanh of float32"):
        with notice.compiling(what, "opencl:0", folder):
            pass


def test_it_is_said_once(capsys) -> None:
    compile_two()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    for wanted in ("polyad: compiling kernels for opencl:0", "kept in /cache", f"{notice.SWITCH}=0"):
        assert wanted in said.err


def test_a_terminal_sees_each_kernel_while_it_is_compiled(monkeypatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    compile_two(None)
    told, _, rest = screen.getvalue().partition("\n")
    assert "every run will" in told
    first, wiped, second, again, end = rest.split("\r")
    assert (first[:17], second[:17]) == ("polyad: 1 kernels", "polyad: 2 kernels")
    assert (first[-14:], second[-15:]) == ("exp of float32", "tanh of float32")
    assert (wiped, again, end) == (" " * len(first), " " * len(second), "")


def test_nothing_is_said_before_there_was_something_to_wait_for(monkeypatch, capsys) -> None:
    monkeypatch.setattr(notice, "PATIENCE", 1000)
    compile_two()
    assert capsys.readouterr().err == ""


def test_scripts_turn_it_off(monkeypatch, capsys) -> None:
    monkeypatch.setenv(notice.SWITCH, "0")
    compile_two()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_without_a_stream_that_takes_it_programs_go_on(monkeypatch, stream) -> None:
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    compile_two()
