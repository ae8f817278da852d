"""The suite as a backend's author runs it: options, exit codes, the score card, known bugs.

Each test is a pytest run of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SUITE = ("-m", "pytest", "--pyargs", "polyad_conformance", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")

BACKEND = """
from polyad.backend import API_VERSION, BackendInfo, Capabilities, Kernel, registry
from polyad.dtypes import float32, int64, bool_, float64
from polyad_numpy.backend import NumpyBackend


class Mine(NumpyBackend):
    info = BackendInfo(
        name="mine", api_version=API_VERSION, capabilities=Capabilities(dtypes=frozenset({dtypes})), indexed=False
    )

    @property
    def kernels(self):
        kernels = super().kernels
        return {kernels}


registry.register("mine", Mine())
"""

FORGETS_THE_BIAS = '{**kernels, "linear": Kernel(lambda a, weight, bias: kernels["linear"].function(a, weight, None))}'


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs the suite with a backend package ``mine`` whose source has the given parts."""

    def call(
        *options: str, device: str = "mine", kernels: str = "kernels", dtypes: str = "{float32, bool_}", known: str = ""
    ) -> Any:
        package = tmp_path / "mine"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text(BACKEND.replace("{kernels}", kernels).replace("{dtypes}", dtypes))
        (package / "polyad_conformance_known_bugs.py").write_text(f"KNOWN_BUGS = {{{known}}}\n")
        card = tmp_path / "card.json"
        command = [
            sys.executable,
            *SUITE,
            "-p",
            "mine",
            f"--polyad-backend={device}",
            f"--polyad-report={card}",
            *options,
        ]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTEST_ADDOPTS": ""}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, json.loads(card.read_text()) if card.exists() else {}

    return call


def row_of(card: dict[str, Any], tier: int, family: str) -> dict[str, Any]:
    return next(row for row in card["rows"] if (row["tier"], row["family"]) == (tier, family))


def test_the_card_of_a_backend_that_passes(run: Any) -> None:
    code, output, card = run("--polyad-family=linear_algebra", "-k", "linear_algebra or linear or matmul")
    assert code == 0, output
    assert card["device"] == "mine"
    assert card["passed"]
    assert card["api_version"]
    row = row_of(card, 1, "linear_algebra")
    assert row["failed"] == row["fallback"] == 0
    assert row["kernel"] > 10
    assert row["unsupported"] > row["kernel"], "every dtype but float32 is excluded by the declaration"
    assert set(card["ops"]["gemm"]) == {"kernel"}
    assert "polyad conformance: mine" in output


def test_a_fallback_is_a_failure_unless_it_is_allowed(run: Any) -> None:
    choice = ("--polyad-family=linear_algebra", "-k", "test_values and matrices")
    code, output, card = run(*choice, kernels='{name: one for name, one in kernels.items() if name != "gemm"}')
    assert code == 1, output
    assert "mine has no kernel for gemm: it ran on the host" in output
    assert not card["passed"]
    code, output, card = run(
        "--allow-fallback", *choice, kernels='{name: one for name, one in kernels.items() if name != "gemm"}'
    )
    assert code == 0, output
    assert row_of(card, 1, "linear_algebra")["fallback"] == 1
    assert card["ops"]["gemm"] == {"fallback": 6}, "one call for each of the layouts"
    assert "ran on the host for want of a kernel: gemm" in output


def test_a_backend_of_tier_0_runs_everything_by_fallback(run: Any) -> None:
    code, output, card = run("--allow-fallback", "--polyad-family=linear_algebra", "-k", "test_values", kernels="{}")
    assert code == 0, output
    row = row_of(card, 1, "linear_algebra")
    assert row["kernel"] == 0
    assert row["fallback"] == row["passed"] > 10


def test_tiers_can_be_chosen(run: Any) -> None:
    code, output, card = run(
        "--polyad-tier=0", "--allow-fallback", kernels="{}", dtypes="{float32, float64, int64, bool_}"
    )
    assert code == 0, output
    assert {row["tier"] for row in card["rows"]} == {0}, output
    assert row_of(card, 0, "storage")["passed"] > 20


KNOWN = '"test_*linear: bias float32]": ("it forgets the bias", "https://example.org/1"),'


def test_known_bugs_are_expected_failures(run: Any) -> None:
    choice = ("--polyad-family=linear_algebra", "-k", "test_values and linear and not batches")
    code, output, card = run(*choice, kernels=FORGETS_THE_BIAS)
    assert code == 1, output
    assert "linear: bias float32" in card["failures"][0]["test"]
    code, output, card = run(*choice, kernels=FORGETS_THE_BIAS, known=KNOWN)
    assert code == 0, output
    assert card["known_bugs"] == ["test_ops.py::test_values[linear: bias float32]"]
    assert row_of(card, 1, "linear_algebra")["known bug"] == 1


def test_a_known_bug_that_is_gone_fails(run: Any) -> None:
    code, output, _ = run("--polyad-family=linear_algebra", "-k", "test_values and linear", known=KNOWN)
    assert code == 1, output
    assert "XPASS(strict)" in output


def test_a_known_bug_that_no_test_matches_fails(run: Any) -> None:
    code, output, _ = run("-k", "bookkeeping", known='"test_nothing*": ("an old bug", "https://example.org/3"),')
    assert code == 1, output
    assert "delete these entries" in output


def test_a_known_bug_needs_a_link(run: Any) -> None:
    code, output, _ = run("-k", "bookkeeping", known='"test_nothing*": ("an old bug", ""),')
    assert code != 0
    assert "needs (reason, link)" in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": "nosuch"}, "device 'nosuch'"),
        (
            {"options": ("--polyad-family=nosuch",)},
            "no family is called nosuch; there are activation.piecewise, activation.rectifiers",
        ),
    ],
)
def test_what_is_not_there_is_refused_before_anything_runs(run: Any, options: dict[str, Any], words: str) -> None:
    code, output, card = run(*options.get("options", ()), device=options.get("device", "mine"))
    assert code == pytest.ExitCode.USAGE_ERROR
    assert words in output
    assert not card


def test_seeds_change_the_inputs() -> None:
    from polyad_conformance.calls import draw
    from polyad_conformance.samples import families

    sample = families()["linear_algebra"][0][0]
    first, again, other = (draw(sample, sample.dtypes[-1], seed)[0] for seed in (0, 0, 1))
    assert (first == again).all()
    assert not (first == other).all()
