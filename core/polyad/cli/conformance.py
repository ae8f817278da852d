"""``polyad conformance``: run the installed conformance suite against a backend, or merge the cards of such runs."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import threading
from typing import Any

__all__ = ["add_parser"]

DESCRIPTION = """\
Run polyad's conformance suite against a backend: values, dtypes, strides, gradients, aliasing, random bits. It is
the same as  pytest --pyargs polyad_conformance --polyad-backend=BACKEND  and exits as pytest does; but tests run in
a process of their own, so that a test that crashes or hangs fails and does not end the run.
"""

IN_ONE_PROCESS = ("--pdb", "--trace", "-s", "--capture", "-n", "--numprocesses", "--collect-only", "--co", "no:xdist")
"""Options of pytest that need the terminal, or say themselves how many processes there are."""

PATIENCE = 3.0
"""Seconds that the tests' process has for ending after Ctrl-C; then it did not get it, and is asked to end."""

CRASHES = 100
"""After so many tests that crash or hang a run ends."""

SELECTING = {"--junit": "junit", "--tier": "tier", "--family": "family", "-k": "expression", "--seed": "seed"} | {
    "--shard": "shard",
    "--jobs": "jobs",
    "--allow-fallback": "allow_fallback",
}
"""Options that say what to run, and how, by the names of their values."""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "conformance",
        help="test a backend with the conformance suite",
        description=DESCRIPTION,
        epilog="Arguments after -- go to pytest:  polyad conformance cpu -k conv2d -- -x --pdb",
    )
    parser.set_defaults(run=run, passes_on="pytest")
    add = parser.add_argument
    add(
        "backend", nargs="?", default="cpu", metavar="BACKEND", help="device: cpu, opencl, opencl:1, ... (default: cpu)"
    )
    add("--report", metavar="FILE", help="write the score card to FILE as JSON")
    add("--junit", metavar="FILE", help="write every test's outcome to FILE as JUnit XML")
    add("--tier", action="append", type=int, choices=(0, 1, 2), metavar="N", help="only this tier; may be repeated")
    add(
        "--family",
        action="append",
        metavar="F",
        help="only this family, as cards print it, such as linalg; may be repeated",
    )
    add("-k", dest="expression", metavar="EXPR", help="only tests whose names match, as pytest's -k")
    add("--seed", type=_at_least(0), metavar="N", help="decides all inputs (default: 0)")
    add("--shard", metavar="I/N", help="only part I of N; the cards of all parts merge")
    add("--jobs", type=_at_least(1), metavar="N", help="processes that test at once (default: 1)")
    add(
        "--timeout",
        type=_at_least(0),
        default=600,
        metavar="N",
        help="seconds after which a test has failed and its process is ended (default: 600; 0: never)",
    )
    add(
        "--allow-fallback",
        action="store_true",
        default=None,
        help="ops that run on the host for want of a kernel are no failures",
    )
    add("--merge", nargs="+", metavar="CARD", help="run nothing: merge these cards, of the shards of one run")


def _at_least(least: int) -> Any:
    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least {least}")
        return int(text)

    return number


def run(arguments: argparse.Namespace) -> int:
    """Run pytest in a process of its own; Ctrl-C and SIGTERM reach it, and its summary is printed."""
    ignored = [option for option, name in SELECTING.items() if arguments.merge and getattr(arguments, name) is not None]
    if ignored:
        print(f"polyad conformance: --merge runs nothing, so {ignored[0]} has no meaning", file=sys.stderr)
        return 2
    wanted = [
        *(["pytest"] if not arguments.merge else []),
        *(["xdist"] if arguments.jobs and arguments.jobs > 1 and not arguments.merge else []),
    ]
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"polyad conformance: {missing[0]} is not installed\n    fix  pip install 'polyad[test]'",
            file=sys.stderr,
        )
        return 2
    code = _wait_for(
        subprocess.Popen([sys.executable, *(_merging(arguments) if arguments.merge else _testing(arguments))]),
        interactive=any(option in IN_ONE_PROCESS for option in _options(arguments.after_dashes)),
    )
    if code < 0:
        print(f"polyad conformance: the tests' process was ended by {_signal_name(-code)}", file=sys.stderr)
        return 1
    return code


def _wait_for(process: subprocess.Popen[bytes], interactive: bool) -> int:
    """The exit code of *process*, which is told of signals that only this one got."""
    ours = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, lambda number, frame: process.terminate()) if ours else None
    patience = None
    try:
        while True:
            try:
                return process.wait() if patience is None else process.wait(patience)
            except KeyboardInterrupt:
                # From a terminal pytest got it too, and is about to end with its summary, or to show its debugger.
                patience = None if interactive else PATIENCE
            except subprocess.TimeoutExpired:
                process.terminate()
                patience = None
    finally:
        if ours:
            signal.signal(signal.SIGTERM, before)


def _options(after_dashes: list[str]) -> list[str]:
    """The names of the options that go to pytest."""
    return [argument.partition("=")[0] for argument in after_dashes]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _merging(arguments: argparse.Namespace) -> list[str]:
    report = [f"--report={arguments.report}"] if arguments.report else []
    return ["-m", "polyad_conformance.report", *arguments.merge, *report]


def _testing(arguments: argparse.Namespace) -> list[str]:
    def given(option: str, *values: Any) -> list[str]:
        return [f"{option}={value}" for value in values if value is not None]

    suite = importlib.util.find_spec("polyad_conformance")
    # The suite's own settings, not those of a project whose folder this is.
    own = _options(arguments.after_dashes)
    apart = importlib.util.find_spec("xdist") is not None and not any(option in IN_ONE_PROCESS for option in own)
    settings = os.path.join(os.path.dirname(suite.origin), "pytest.ini") if suite and suite.origin else None
    return [
        *("-m", "pytest", "--pyargs", "polyad_conformance", "--quiet"),
        *given("--config-file", settings),
        *given("--override-ini", f"cache_dir={os.path.abspath('.pytest_cache')}"),
        *given("--polyad-backend", arguments.backend),
        *given("--polyad-report", arguments.report),
        *given("--junitxml", arguments.junit),
        *given("--polyad-tier", *(arguments.tier or ())),
        *given("--polyad-family", *(arguments.family or ())),
        *(["-k", arguments.expression] if arguments.expression else []),
        *given("--polyad-seed", arguments.seed),
        *given("--polyad-shard", arguments.shard),
        *(given("--numprocesses", arguments.jobs or 1) if apart else ()),
        *(given("--max-worker-restart", CRASHES) if apart else ()),
        *(given("--polyad-timeout", arguments.timeout) if apart else ()),
        *(["--allow-fallback"] if arguments.allow_fallback else []),
        *arguments.after_dashes,
    ]
