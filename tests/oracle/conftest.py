"""The oracle's own options, and the guard that keeps it out of runs that did not ask for it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

HERE = Path(__file__).parent
HAS_TORCH = importlib.util.find_spec("torch") is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("polyad oracle")
    group.addoption(
        "--oracle-examples", type=int, default=40, metavar="N", help="random calls a function (default: 40)"
    )
    group.addoption("--oracle-seed", type=int, default=0, metavar="N", help="draws other random calls (default: 0)")


def _asked_for(config: pytest.Config) -> bool:
    """Whether the command line names this folder or something in it."""
    base = config.invocation_params.dir
    paths = [(base / str(arg).partition("::")[0]).resolve() for arg in config.args]
    return any(path == HERE or HERE in path.parents for path in paths)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not _asked_for(config):
        return True
    if not HAS_TORCH:
        raise pytest.UsageError("tests/oracle compares with PyTorch, which is not installed here; run: nox -s oracle")
    return None


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile(
        "oracle",
        deadline=None,
        derandomize=False,
        database=None,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        max_examples=config.getoption("--oracle-examples", 40),
        suppress_health_check=list(HealthCheck),
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    tallies: dict[str, int] = {}
    for outcome in ("passed", "failed"):
        for one in terminalreporter.stats.get(outcome, []):
            for name, count in dict(getattr(one, "user_properties", ())).get("oracle", {}).items():
                tallies[name] = tallies.get(name, 0) + count
    if tallies:
        terminalreporter.section("polyad against PyTorch")
        for name, count in sorted(tallies.items()):
            terminalreporter.write_line(f"{count:9,} {name}")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[Any]:
    """Note in the test's report how many calls it compared and which differences it met."""
    from .judgement import TALLY

    TALLY.clear()
    try:
        return (yield)
    finally:
        pyfuncitem.user_properties.append(("oracle", dict(TALLY)))
