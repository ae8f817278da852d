"""The ``polyad`` command around its commands: version, help, exit codes."""

import json
import signal
import subprocess
import sys

import pytest

import polyad
from polyad.cli import main


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"polyad {polyad.version.polyad}\n"


def test_python_m_is_the_command():
    done = subprocess.run([sys.executable, "-m", "polyad", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"polyad {polyad.version.polyad}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["--nonsense"], ["doctor", "--", "-x"]])
def test_what_is_no_command_ends_with_2_and_usage(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: polyad" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["demo"], ["doctor"], ["conformance"]])
def test_help_fits_on_a_screen(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) <= 50


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("demo", "doctor", "conformance", "--version"))


def test_conformance_runs_the_suite_and_passes_arguments_on(monkeypatch):
    commands = []

    class Process:
        def __init__(self, command):
            commands.append(command)

        def wait(self):
            return 7

    monkeypatch.setattr(subprocess, "Popen", Process)
    assert main(["conformance", "opencl", "-k", "conv2d", "--tier=1", "--jobs=2", "--shard=1/4", "--", "-x"]) == 7
    assert main(["conformance"]) == 7
    assert main(["conformance", "cpu", "--report", "card.json", "--allow-fallback", "--", "-s", "--pdb", "-x"]) == 7
    assert main(["conformance", "--merge", "one.json", "two.json", "--report", "whole.json"]) == 7
    assert commands[0][:5] == [sys.executable, "-m", "pytest", "--pyargs", "polyad_conformance"]
    options = ["--polyad-backend=opencl", "--polyad-tier=1", "-k", "conv2d", "--polyad-shard=1/4"]
    apart = ["--max-worker-restart=100", "--polyad-timeout=600"]
    assert commands[0][-9:] == [*options, "--numprocesses=2", *apart, "-x"]
    assert commands[1][-4:] == ["--polyad-backend=cpu", "--numprocesses=1", *apart]
    assert commands[2][-5:] == ["--polyad-report=card.json", "--allow-fallback", "-s", "--pdb", "-x"]
    assert commands[3][1:] == ["-m", "polyad_conformance.report", "one.json", "two.json", "--report=whole.json"]


def test_conformance_without_pytest_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["conformance"]) == 2
    assert "pip install 'polyad[test]'" in capsys.readouterr().err


def test_a_signal_that_ended_the_tests_is_named(monkeypatch, capsys):
    monkeypatch.setattr(
        subprocess, "Popen", lambda command: type("Process", (), {"wait": lambda self: -signal.SIGSEGV})()
    )
    assert main(["conformance"]) == 1
    assert "ended by SIGSEGV" in capsys.readouterr().err


def test_conformance_waits_for_pytest_after_ctrl_c(monkeypatch):
    class Process:
        waits = 0

        def __init__(self, command):
            pass

        def wait(self, timeout=None):
            Process.waits += 1
            if Process.waits == 1:
                raise KeyboardInterrupt
            if Process.waits == 2 and timeout is not None:
                raise subprocess.TimeoutExpired("pytest", timeout)
            return 2

        def terminate(self):
            ended.append("told to end")

    ended = []
    monkeypatch.setattr(subprocess, "Popen", Process)
    assert main(["conformance"]) == 2
    assert ended == ["told to end"]
    Process.waits = 0
    assert main(["conformance", "--", "--pdb"]) == 2
    assert ended == ["told to end"], "its debugger goes on"


def test_doctor_says_what_works(capsys):
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert f"polyad      {polyad.version.polyad}" in shown
    assert "cpu: loaded" in shown
    assert "all well: " in shown


def test_doctor_speaks_to_programs_too(capsys):
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert next(test["device"] for test in report["tests"] if test["ok"]) == "cpu"
    assert report["exit_status"] == 0


def test_doctor_exits_with_1_when_something_is_wrong(monkeypatch, capsys):
    monkeypatch.setitem(polyad.backends.doctor.__globals__, "_exercise", lambda device: "a sum")
    assert main(["doctor"]) == 1
    assert "a sum gave a wrong result" in capsys.readouterr().out


def test_ctrl_c_in_any_command_is_130(monkeypatch, capsys):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("polyad.backends.doctor", interrupt)
    assert main(["doctor"]) == 130
    assert "Interrupted" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error():
    shell = f"{sys.executable} -m polyad doctor 2>&1 | true; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert result.stdout.strip() in ("0", "141")
    assert "Traceback" not in result.stdout + result.stderr


def test_importing_the_command_line_imports_neither_rich_nor_pytest():
    script = "import sys, polyad.cli; print([m for m in ('rich', 'pytest', 'matplotlib') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_without_a_command_it_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    said = capsys.readouterr().err
    assert "show what is installed and whether it works" in said
    assert said.endswith("name one of these commands\n")
