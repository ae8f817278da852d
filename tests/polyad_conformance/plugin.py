"""The suite's pytest plug-in: its options and its score card.

Loaded in every pytest run, so nothing heavy is imported here. It is registered through the entry-point group
``pytest11``, since pytest does not ask a conftest.py reached by ``--pyargs`` for options. What only the suite's own run
needs is in conftest.py.
"""

from __future__ import annotations

import time
from typing import Any

import pytest


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
        help="only samples of this family, such as reduction or linalg; may be repeated",
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


def pytest_configure(config: pytest.Config) -> None:
    if config.option.polyad_backend is None:
        config.option.polyad_backend = "cpu"
    else:
        _check_options(config.option)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ScoreCardPlugin(config), "polyad-score-card")


def _check_options(options: Any) -> None:
    """Refuse a device, family or shard that is not there before anything is collected."""
    from polyad.backend import registry
    from polyad.errors import PolyadError

    from .sharding import Shard

    try:
        Shard.parse(options.polyad_shard)
    except ValueError as error:
        raise pytest.UsageError(f"--polyad-shard: {error}") from None
    try:
        registry.resolve_device(options.polyad_backend)
    except PolyadError as error:
        raise pytest.UsageError(f"--polyad-backend: {error}") from None
    if options.polyad_family:
        from .samples import families, within

        unknown = sorted(
            name for name in options.polyad_family if not any(within(family, name) for family in families())
        )
        if unknown:
            raise pytest.UsageError(
                f"--polyad-family: no family is called {', '.join(unknown)}; there are {', '.join(families())}"
            )


class ScoreCardPlugin:
    """Collects the outcomes of the suite's tests, in the process that reports, and shows the card at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.outcomes: list[dict[str, Any]] = []
        self.began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        facts = getattr(report, "polyad_conformance", None)  # from conftest.py
        if facts is None or (report.when != "call" and report.outcome == "passed"):
            return
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
        if not self.outcomes:
            return
        from .report import ScoreCard

        card = ScoreCard.of(self.outcomes, self.config.option, time.monotonic() - self.began)
        terminalreporter.section(f"polyad conformance: {card.device}")
        for line in card.lines():
            terminalreporter.write_line(line)
        if self.config.option.polyad_report:
            card.write(self.config.option.polyad_report)
            terminalreporter.write_line(f"score card written to {self.config.option.polyad_report}")
        terminalreporter.write_line(card.summary(), bold=True, red=not card.passed, green=card.passed)
