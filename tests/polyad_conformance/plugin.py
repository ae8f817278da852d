"""The suite's pytest plug-in: its options and its score card.

Invariant: every test that was to be run is in the card: with its outcome, as failed where its process died under it, or
among those that were not run since the run was stopped. A run that is stopped (by Ctrl-C, SIGTERM, ``-x``, a test
that takes too long) leaves its card all the same.

Loaded in every pytest run, so nothing heavy is imported here. It is registered through the entry-point group
``pytest11``, since pytest does not ask a conftest.py reached by ``--pyargs`` for options. What only the suite's own run
needs is in conftest.py.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

import pytest

STDERR = pytest.StashKey[TextIO]()
"""The process's standard error, whatever pytest captures: where the stack of a test that hangs is written."""


CHOSEN = pytest.StashKey[bool]()
"""Whether the user named the device: a run of this suite, rather than one in which it is merely installed."""

PLUGIN = "polyad-score-card"

GRACE = 10
"""Seconds that a process has for its card when a test took too long, before it is ended in any case."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("polyad conformance")
    group.addoption(
        "--polyad-backend", metavar="DEVICE", help="device to test: cpu, opencl, opencl:1, ... (default: cpu)"
    )
    group.addoption(
        "--polyad-tier",
        action="append",
        type=int,
        choices=(0, 1, 2),
        metavar="N",
        help="only this tier; may be repeated",
    )
    group.addoption(
        "--polyad-family",
        action="append",
        metavar="NAME",
        help="only this family, such as reductions.sums, linalg or storage: a name that score cards print, its "
        "package or its last part; may be repeated",
    )
    group.addoption("--polyad-seed", default=0, type=int, metavar="N", help="decides all inputs (default: 0)")
    group.addoption(
        "--polyad-shard",
        default="1/1",
        metavar="I/N",
        help="only part I of N; parts are disjoint, equally large and the same everywhere, and their cards merge",
    )
    group.addoption("--polyad-report", metavar="FILE", help="write the score card to FILE as JSON")
    group.addoption(
        "--allow-fallback", action="store_true", help="ops that run on the host for want of a kernel are no failures"
    )
    group.addoption(
        "--polyad-timeout",
        default=0,
        type=int,
        metavar="N",
        help="end the process of a test that takes more than N seconds; with pytest-xdist the others go on",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.polyad_family:
        config.option.polyad_family = _named(config.option.polyad_family)
    if config.option.polyad_backend is None:
        config.option.polyad_backend = "cpu"
    else:
        config.stash[CHOSEN] = True
        _check_options(config.option)
        if config.option.polyad_timeout:
            config.stash[STDERR] = os.fdopen(os.dup(sys.__stderr__.fileno()), "w")
    if not hasattr(config, "workerinput"):
        plugin = ScoreCardPlugin(config)
        config.pluginmanager.register(plugin, PLUGIN)
        if config.stash.get(CHOSEN, False):
            plugin.listen()


def _check_options(options: Any) -> None:
    """Refuse what cannot be followed before anything is collected, rather than when hours of tests have run."""
    from polyad.devices import registry
    from polyad.errors import PolyadError

    from .sharding import Shard

    try:
        Shard.parse(options.polyad_shard)
    except ValueError as error:
        raise pytest.UsageError(f"--polyad-shard: {error}") from None
    try:
        device = registry.resolve_device(options.polyad_backend)
    except PolyadError as error:
        raise pytest.UsageError(f"--polyad-backend: {error}") from None
    try:
        registry.get(device.type).capabilities(device)
    except Exception as error:
        raise pytest.UsageError(
            f"--polyad-backend: {device} does not say what it can do: {type(error).__name__}: {error}"
        ) from error
    for option in ("polyad_seed", "polyad_timeout"):
        if getattr(options, option) < 0:
            raise pytest.UsageError(f"--{option.replace('_', '-')}: {getattr(options, option)} is negative")
    for option, path in (("--polyad-report", options.polyad_report), ("--junitxml", options.xmlpath)):
        trouble = _why_not_writable(path) if path else ""
        if trouble:
            raise pytest.UsageError(f"{option}: {path} cannot be written: {trouble}")


def _named(wanted: list[str]) -> list[str]:
    """The families that the user named, as score cards call them."""
    from .samples import CHECK_FAMILIES, family_names, named_families

    try:
        return [family for name in wanted for family in named_families(name)]
    except LookupError as error:
        known = textwrap.wrap(", ".join((*CHECK_FAMILIES, *family_names())), 76, break_long_words=False)
        raise pytest.UsageError(
            f"--polyad-family: {error}\nA family, or a package of families, is one of\n    " + "\n    ".join(known)
        ) from None


def _why_not_writable(path: str) -> str:
    """Why no file can be written at *path*, whose folder is made if need be; empty if one can."""
    new = not os.path.lexists(path)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab"):
            pass
        if new:
            os.unlink(path)
    except OSError as error:
        return error.strerror or str(error)
    return ""


class ScoreCardPlugin:
    """Collects the outcomes of the suite's tests, in the process that reports, and shows the card at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.outcomes: list[dict[str, Any]] = []
        self.waiting: set[str] = set()  # the ids of tests without an outcome
        self.began = time.monotonic()
        self.stopped = ""  # what ended the run before its time
        self.shown = False
        self.previous: Any = None

    def listen(self) -> None:
        """Let SIGTERM end the run as Ctrl-C does."""
        if threading.current_thread() is threading.main_thread():
            self.previous = signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.stopped = "SIGTERM"
        raise KeyboardInterrupt

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # who sent one may send the other after it
        own = isinstance(excinfo.value, pytest.Session.Interrupted)  # pytest's word for errors during collection, say
        self.stopped = self.stopped or (str(excinfo.value) if own else "Ctrl-C")

    def pytest_unconfigure(self) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGTERM, self.previous)
            self.previous = None
        if self.config.option.polyad_report and self._is_due():  # pytest itself failed, and shows no summary
            self._show(lambda line, **markup: print(line, file=sys.stderr))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        if not self.outcomes:  # a process that replaces another collects all of them again
            self._expect(ids)

    def _expect(self, ids: Iterable[str]) -> None:
        self.waiting.update(one for one in ids if self._is_ours(one))

    def _is_ours(self, nodeid: str) -> bool:
        """Whether the test is of this package, rather than one of a project whose tests run along."""
        folder = Path(__file__).resolve().parent
        path = self.config.rootpath / nodeid.partition("::")[0]
        if not path.name.startswith("test_") or not (folder / path.name).exists():
            return False
        # Outside of pytest's root folder a test's id has only the end of its path.
        return not path.exists() or path.resolve().parent == folder

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        facts = getattr(report, "polyad_conformance", None)  # from conftest.py
        if facts is None and report.outcome == "failed" and self._is_ours(report.nodeid):
            # The test did not come to noting anything: its process died, or the device could not be had.
            from .report import facts_of

            facts = facts_of(report.nodeid)
        if facts is None or (report.when != "call" and report.outcome == "passed"):
            return
        self.waiting.discard(report.nodeid)
        known = hasattr(report, "wasxfail")
        outcome = "known bug" if known and report.outcome == "skipped" else report.outcome
        message = str(report.longrepr) if report.outcome == "failed" else ""
        if outcome == "skipped":
            # pytest tells a skip by (file, line, reason).
            message = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        self.outcomes.append(
            {**facts, "test": report.nodeid.rpartition("/")[2], "outcome": outcome, "message": message}
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._is_due():
            return
        terminalreporter.section(f"polyad conformance: {self.config.option.polyad_backend}")
        self._show(terminalreporter.write_line)

    def _is_due(self) -> bool:
        stopped = self.stopped and self.config.stash.get(CHOSEN, False)
        return not (self.shown or self.config.option.collectonly) and bool(self.outcomes or stopped)

    def end(self, nodeid: str, facts: dict[str, Any]) -> None:
        """Note that the test *nodeid* took too long, show the card and end the process: called by another thread."""
        message = f"it took more than {self.config.option.polyad_timeout} seconds, and the process was ended"
        self.waiting.discard(nodeid)
        self.outcomes.append({**facts, "test": nodeid.rpartition("/")[2], "outcome": "failed", "message": message})
        self.stopped = f"{nodeid.rpartition('/')[2]}, which took too long"
        self._show(lambda line, **markup: print(line, file=self.config.stash[STDERR], flush=True))
        os._exit(pytest.ExitCode.TESTS_FAILED)

    def _show(self, write_line: Callable[..., Any]) -> None:
        """Show the card, and write it to the file that the user named."""
        from .report import ScoreCard

        self.shown = True
        seconds = time.monotonic() - self.began
        card = ScoreCard.of(self.outcomes, self.config.option, seconds, not_run=len(self.waiting), stopped=self.stopped)
        for line in card.lines():
            write_line(line)
        if self.config.option.polyad_report:
            try:
                card.write(self.config.option.polyad_report)
                words = f"score card written to {self.config.option.polyad_report}"
            except OSError as error:
                words = f"THE SCORE CARD COULD NOT BE WRITTEN: {error}"
            write_line(words)
        write_line(card.summary(), bold=True, red=not card.passed, green=card.passed and card.whole)


class Watch:
    """Ends the process, after writing where it was, if what is done within takes longer than ``--polyad-timeout``.

    In a run of one process the score card is shown and written first, by a thread, unless what hangs does not even let
    threads run.
    """

    def __init__(self, config: pytest.Config, nodeid: str, facts: dict[str, Any]) -> None:
        self.seconds = config.option.polyad_timeout
        self.stderr = config.stash.get(STDERR, None)
        self.reporter: ScoreCardPlugin | None = config.pluginmanager.get_plugin(PLUGIN)
        self.nodeid, self.facts = nodeid, facts
        self.timer: threading.Timer | None = None

    def __enter__(self) -> None:
        if not self.seconds:
            return
        grace = 0
        if self.reporter is not None:
            grace = GRACE
            self.timer = threading.Timer(self.seconds, self._end)
            self.timer.daemon = True
            self.timer.start()
        faulthandler.dump_traceback_later(self.seconds + grace, exit=True, file=self.stderr)

    def __exit__(self, *raised: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.seconds:
            faulthandler.cancel_dump_traceback_later()

    def _end(self) -> None:
        assert self.reporter is not None
        faulthandler.dump_traceback(file=self.stderr or sys.__stderr__, all_threads=True)
        self.reporter.end(self.nodeid, self.facts)
