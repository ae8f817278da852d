"""A pytest plug-in that fails a run in which a test was skipped for a reason that is not on a list.

    pytest -p allowed_skips --allowed-skips=tests

The lists are in allowed_skips.toml, beside this file; noxfile.py says which of them a session goes by. A reason is a
regular expression for the whole of what pytest prints; which machine has it is no matter, so that one list serves all.
"""

import re
import tomllib
from pathlib import Path

import pytest

LISTS = Path(__file__).with_name("allowed_skips.toml")


def pytest_addoption(parser):
    parser.addoption("--allowed-skips", metavar="LIST", help="fail if a test is skipped for a reason that LIST lacks")


def allowed(name):
    """The reasons of a list, compiled."""
    lists = tomllib.loads(LISTS.read_text(encoding="utf-8"))
    if name not in lists:
        raise pytest.UsageError(f"--allowed-skips: {name!r} is none of {', '.join(lists)}")
    return [re.compile(entry["reason"], re.DOTALL) for entry in lists[name]]


def pytest_configure(config):
    name = config.getoption("--allowed-skips")
    if name and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Gate(name))


class _Gate:
    """Collects the reasons in the process that reports."""

    def __init__(self, name):
        self.name, self.reasons = name, allowed(name)
        self.strange = {}  # by reason: where

    def note(self, report):
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if not any(one.fullmatch(reason) for one in self.reasons):
            self.strange.setdefault(reason, []).append(report.nodeid)

    pytest_runtest_logreport = pytest_collectreport = note

    def pytest_sessionfinish(self, session, exitstatus):
        if self.strange and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if self.strange:
            terminalreporter.section("skips that are on no list", red=True)
        for reason, where in self.strange.items():
            terminalreporter.line(f"{reason}\n    {len(where)} of the list {self.name!r}: {', '.join(where[:3])}")
        if self.strange:
            terminalreporter.line(f"run what they hide, or say in {LISTS.name} why not here, and where they do run")
