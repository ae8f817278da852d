"""The harness finds what differs; two light packages run on polyad as PyTorch was recorded to run them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ecosystem import agreement, results
from ecosystem.comparison import Library, Row
from ecosystem.page import PAGE, page

RECORDED = Path(__file__).with_name("recorded")


@pytest.mark.parametrize("library", ["einops", "safetensors"])
def test_light_packages(library: str, tmp_path: Path) -> None:
    """Recorded by ``python -m ecosystem light --folder tests/ecosystem/recorded`` and what is not PyTorch's removed."""
    pytest.importorskip(library)
    running = Library(library, {"polyad": sys.executable}, tmp_path, rounds=0, recorded=RECORDED)
    try:
        jobs = running.worker("polyad").started["jobs"]
        assert jobs
        for name in jobs:
            row = running.run(name, "cpu")
            assert not row.red, row
    finally:
        running.stop()


VALUES = {
    "a": np.array([1.0, 2.0], np.float32),
    "b.x": np.array([1e-9], np.float32),
    "b.y": np.array([1.0], np.float32),
    "n": np.array([1, 2]),
    "t": np.array("text"),
    "i": np.array([np.inf, np.nan]),
}
DEPTHS = dict.fromkeys(VALUES, 1)
WRONG = {
    "too far": {"a": np.array([1.0, 2.0 + 1e-5], np.float32)},
    "another dtype": {"a": np.array([1.0, 2.0])},
    "another shape": {"a": np.array([[1.0, 2.0]], np.float32)},
    "not a number": {"a": np.array([1.0, np.nan], np.float32)},
    "another integer": {"n": np.array([1, 3])},
    "another text": {"t": np.array("test")},
    "an infinity that is none": {"i": np.array([1.0, np.nan])},
    "more": {"c": np.array([1.0])},
}


def test_what_agrees() -> None:
    assert agreement.compare(VALUES, VALUES, DEPTHS).ratio == 0
    near = VALUES | {"a": np.array([1.0, 2.0 + 2e-7], np.float32), "b.x": np.array([1e-9 + 1e-10], np.float32)}
    assert 0 < agreement.compare(near, VALUES, DEPTHS).ratio < 1


@pytest.mark.parametrize("case", WRONG)
def test_what_differs(case: str) -> None:
    assert agreement.compare(VALUES | WRONG[case], VALUES, DEPTHS).ratio > 1


def test_depth_allows_more() -> None:
    far = VALUES | WRONG["too far"]
    assert agreement.compare(far, VALUES, DEPTHS | {"a": 100}).ratio < 1


def test_the_page_is_of_the_last_results() -> None:
    assert PAGE.read_text() == page(results.read()), "run python -m ecosystem.page"


def test_a_failed_job_is_red() -> None:
    assert Row("library", "job", error="fell").red
    assert Row("library", "job", ratio=float("nan")).red
    assert not Row("library", "job", ratio=0.5).red


def test_jobs_are_of_libraries_that_are_pinned() -> None:
    from ecosystem.comparison import GROUPS

    folder = Path(__file__).parent
    for group, libraries in GROUPS.items():
        pinned = (folder / "requirements" / f"{group}.txt").read_text().lower().replace("-", "_")
        assert [name for name in libraries if f"\n{name}==" not in pinned] == []
        assert [name for name in libraries if not (folder / "jobs" / f"{name}.py").exists()] == []
