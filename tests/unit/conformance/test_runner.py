"""The suite as a backend's author runs it: options, exit codes, the score card, known bugs.

Each test is a pytest run of its own.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from polyad.cli import main
from polyad_conformance import report
from polyad_conformance.samples import CHECK_FAMILIES, families, family_names, named_families, within
from polyad_conformance.sharding import Shard

ROOT = Path(__file__).parents[3]

SUITE = ("-m", "pytest", "--pyargs", "polyad_conformance", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")

BACKEND = """
from polyad.backend import API_VERSION, BackendInfo, Capabilities, Kernel, registry
from polyad.base.dtypes import float32, int64, bool_, float64
from polyad_numpy.backend import NumpyBackend


class Mine(NumpyBackend):
    dtypes = frozenset({dtypes})
    features = frozenset({"shared_host_memory"})
    info = BackendInfo(name="mine", api_version=API_VERSION, capabilities=Capabilities(dtypes, features))

    def device_count(self):
        return 2

    @property
    def kernels(self):
        kernels = super().kernels
        return {kernels}


registry.register("mine", Mine())
"""

MAKES_FLOAT64 = """
import polyad
from polyad_conformance.checks import modules

modules._loss = lambda results: (results[0] * polyad.ones(1, dtype=float64, device="mine")).sum()
"""

FORGETS_THE_BIAS = '{**kernels, "linear": Kernel(lambda a, weight, bias: kernels["linear"].function(a, weight, None))}'


def environment_of(folder: Path) -> dict[str, str]:
    """The environment of a run in *folder*, where packages of its own are."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""}


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs the suite with a backend package ``mine`` whose source has the given parts."""

    def call(
        *options: str,
        device: str = "mine",
        kernels: str = "kernels",
        dtypes: str = "{float32, bool_}",
        known: str = "",
        more: str = "",
    ) -> Any:
        package = tmp_path / "mine"
        package.mkdir(exist_ok=True)
        source = BACKEND.replace("{kernels}", kernels).replace("{dtypes}", dtypes) + more
        (package / "__init__.py").write_text(source)
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
        environment = environment_of(tmp_path)
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, json.loads(card.read_text()) if card.exists() else {}

    return call


def row_of(card: dict[str, Any], tier: int, family: str) -> dict[str, Any]:
    return next(row for row in card["rows"] if (row["tier"], row["family"]) == (tier, family))


def test_the_card_of_a_backend_that_passes(run: Any) -> None:
    code, output, card = run("--polyad-family=products.matmul", "-k", "linear or matmul")
    assert code == 0, output
    assert card["device"] == "mine"
    assert card["passed"]
    assert card["api_version"]
    row = row_of(card, 1, "products.matmul")
    assert row["failed"] == row["fallback"] == 0
    assert row["kernel"] > 10
    assert row["unsupported"] > row["kernel"], "every dtype but float32 is excluded by the declaration"
    assert set(card["ops"]["gemm"]) == {"kernel"}
    assert "polyad conformance: mine" in output


def test_a_fallback_is_a_failure_unless_it_is_allowed(run: Any) -> None:
    choice = ("--polyad-family=products.matmul", "-k", "test_values and matrices")
    code, output, card = run(*choice, kernels='{name: one for name, one in kernels.items() if name != "gemm"}')
    assert code == 1, output
    assert "mine has no kernel for gemm: it ran on the host" in output
    assert not card["passed"]
    code, output, card = run(
        "--allow-fallback", *choice, kernels='{name: one for name, one in kernels.items() if name != "gemm"}'
    )
    assert code == 0, output
    assert row_of(card, 1, "products.matmul")["fallback"] == 1
    assert card["ops"]["gemm"] == {"fallback": 7}, "one call for each of the layouts"
    assert "ran on the host for want of a kernel: gemm" in output


def test_a_backend_of_tier_0_runs_everything_by_fallback(run: Any) -> None:
    code, output, card = run("--allow-fallback", "--polyad-family=products.matmul", "-k", "test_values", kernels="{}")
    assert code == 0, output
    row = row_of(card, 1, "products.matmul")
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
    choice = ("--polyad-family=nn.linear", "-k", "test_values and linear and not (batches or features or bilinear)")
    code, output, card = run(*choice, kernels=FORGETS_THE_BIAS)
    assert code == 1, output
    assert "linear: bias float32" in card["failures"][0]["test"]
    code, output, card = run(*choice, kernels=FORGETS_THE_BIAS, known=KNOWN)
    assert code == 0, output
    assert card["known_bugs"] == ["test_ops.py::test_values[linear: bias float32]"]
    assert row_of(card, 1, "nn.linear")["known bug"] == 1


def test_a_known_bug_that_is_gone_fails(run: Any) -> None:
    code, output, _ = run("--polyad-family=nn.linear", "-k", "test_values and linear", known=KNOWN)
    assert code == 1, output
    assert "XPASS(strict)" in output


def test_a_known_bug_that_no_test_matches_fails(run: Any) -> None:
    code, output, _ = run("--polyad-tier=0", known='"test_nothing*": ("an old bug", "https://example.org/3"),')
    assert code == 1, output
    assert "delete these entries" in output


def test_a_known_bug_of_another_tier_is_no_stale_entry(run: Any) -> None:
    code, output, card = run("--polyad-tier=0", "-k", "bookkeeping", known=KNOWN)
    assert code == 0, output
    assert card["totals"]["passed"] == 1


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
            "no family is called nosuch\nA family, or a package of families, is one of\n    storage, whole,",
        ),
    ],
)
def test_what_is_not_there_is_refused_before_anything_runs(run: Any, options: dict[str, Any], words: str) -> None:
    code, output, card = run(*options.get("options", ()), device=options.get("device", "mine"))
    assert code == pytest.ExitCode.USAGE_ERROR
    assert words in output
    assert not card


def test_a_device_with_an_index_is_tested(run: Any) -> None:
    code, output, card = run("--polyad-family=shaping.strided", "--polyad-family=whole", device="mine:1")
    assert code == 0, output
    assert card["device"] == "mine:1"
    assert row_of(card, 1, "whole")["passed"] == 4, "with two devices nothing of it is unsupported"


def test_layers_are_tested_without_float64_and_their_int64_may_be_missing(run: Any) -> None:
    """Their gradients and masks too; what the suite makes in float64 by mistake does not count as unsupported."""
    gradients = "test_module_gradient and (Linear or mask or MaxPool1d)"
    choice = (
        "--allow-fallback",
        "--polyad-family=modules",
        "-k",
        f"({gradients}) or (test_module_refusals and causal)",
    )
    code, output, card = run(*choice)
    assert code == 0, output
    assert card["totals"]["passed"] > 6
    assert all("needs int64" in reason for reason in card["unsupported"])
    code, output, card = run(*choice[:-1], "test_module_gradient and Linear", more=MAKES_FLOAT64)
    assert code == 1, output
    assert "mine:0 has no float64" in output


def test_an_op_that_needs_an_undeclared_dtype_is_unsupported(run: Any) -> None:
    code, output, card = run("--polyad-family=sorting.sort", "-k", "test_values and sort")
    assert code == 0, output
    assert card["unsupported"]["sort needs int64, which mine:0 does not declare"] > 1
    assert row_of(card, 1, "sorting.sort")["failed"] == 0
    assert "unsupported: sort needs int64" in output


def test_a_card_fits_into_80_columns(run: Any, tmp_path: Path) -> None:
    _, output, card = run("--polyad-family=special", "-k", "test_error")
    shown = output[output.index("= polyad conformance: mine") :].splitlines()
    end = next(
        i for i, line in enumerate(shown) if line.startswith(f"mine: {card['totals']['passed']} passed, 0 failed")
    )
    assert [line for line in shown[: end + 1] if len(line) > 80 and str(tmp_path) not in line] == []


def test_junit_says_what_a_test_was_about(run: Any, tmp_path: Path) -> None:
    code, output, _ = run("--polyad-family=sorting.sort", "-k", "test_error", f"--junitxml={tmp_path / 'junit.xml'}")
    assert code == 0, output
    text = (tmp_path / "junit.xml").read_text()
    assert '<property name="family" value="sorting.sort" />' in text
    assert '<property name="tier" value="1" />' in text


def test_the_command_goes_by_its_own_settings(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    command = [sys.executable, "-m", "polyad", "conformance", "--family=pointwise.rounding", "--seed=3"]
    command += ["-k", "test_error"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cpu: " in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--polyad-seed=-1",), "--polyad-seed: -1 is negative"),
        (("--polyad-report={file}/card.json",), "--polyad-report: {file}/card.json cannot be written"),
        (("--junitxml={file}/junit.xml",), "--junitxml: {file}/junit.xml cannot be written"),
    ],
)
def test_what_would_fail_at_the_end_is_refused_at_the_beginning(
    run: Any, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    code, output, _ = run("--polyad-family=pointwise.rounding", *(option.format(file=file) for option in options))
    assert code == pytest.ExitCode.USAGE_ERROR, output
    assert words.format(file=file) in output


ROUGH = """{**kernels, "floor": Kernel(lambda a: kernels["floor"].function(a) if a.ndim != 4 else (%s))}"""


def test_a_backend_does_not_skip_tests(run: Any) -> None:
    choice = ("--polyad-family=pointwise.rounding", "-k", "test_values and floor: and float32")
    code, output, card = run(*choice, kernels=ROUGH % '__import__("pytest").skip("tired")')
    assert code == 1, output
    assert card["totals"]["failed"] == 1
    assert "the backend skipped the test: tired" in card["failures"][0]["message"]


def test_a_run_that_is_stopped_says_what_it_left_out(run: Any) -> None:
    choice = ("--polyad-family=pointwise.rounding", "-k", "test_values and floor:", "-x")
    code, output, card = run(*choice, kernels=ROUGH % "1 / 0", dtypes="{float32, float64}")
    assert code == 1, output
    assert card["not_run"] > 0
    assert not card["complete"]
    done = card["totals"]["passed"] + 1
    assert f"STOPPED after {done} of {done + card['not_run']} tests" in output


STOPS = {
    "sigterm": ('__import__("os").kill(__import__("os").getpid(), 15)', (), "SIGTERM", pytest.ExitCode.INTERRUPTED),
    "ctrl-c": ('__import__("os").kill(__import__("os").getpid(), 2)', (), "Ctrl-C", pytest.ExitCode.INTERRUPTED),
    "timeout": (
        '__import__("time").sleep(60)',
        ("--polyad-timeout=1",),
        "test_ops.py::test_values[floor: 4-d float32], which took too long",
        pytest.ExitCode.TESTS_FAILED,
    ),
}


@pytest.mark.parametrize("how", STOPS)
def test_a_run_that_is_ended_leaves_its_card(run: Any, how: str) -> None:
    end, options, by, expected = STOPS[how]
    choice = ("--polyad-family=rounding", "-k", "test_values and floor:", *options)
    code, output, card = run(*choice, kernels=ROUGH % end, dtypes="{float32, float64}")
    assert code == expected, output
    assert card["stopped"] == by
    assert not card["complete"]
    assert card["not_run"] > 0
    assert [failure["test"] for failure in card["failures"]] == (
        ["test_ops.py::test_values[floor: 4-d float32]"] if how == "timeout" else []
    )
    assert f"STOPPED by {by} after " in output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_command_reaches_the_tests(run: Any, tmp_path: Path, number: int) -> None:
    hangs = 'open("begun", "w").close() or __import__("time").sleep(6)'
    run("--version", kernels=ROUGH % hangs, dtypes="{float32, float64}")  # writes the package
    command = [sys.executable, "-m", "polyad", "conformance", "mine", "--family=rounding", "--report=card.json"]
    command += ["-k", "test_values and floor:", "--", "-p", "mine"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment_of(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while not (tmp_path / "begun").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["stopped"] == "SIGTERM"
    assert card["not_run"] > 0


@pytest.mark.parametrize(
    "end", ['__import__("os").abort()', '__import__("time").sleep(60)', '__import__("os")._exit(0)']
)
def test_a_test_that_ends_its_process_is_named_and_the_others_run(run: Any, tmp_path: Path, end: str) -> None:
    run("--version", kernels=ROUGH % end)  # writes the package
    command = [sys.executable, "-m", "polyad", "conformance", "mine", "--family=pointwise.rounding", "--timeout=2"]
    command += [
        "-k",
        "test_values and floor: and float32",
        "--report=card.json",
        "--junit=junit.xml",
        "--",
        "-p",
        "mine",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment_of(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    card = json.loads((tmp_path / "card.json").read_text())
    assert [failure["test"] for failure in card["failures"]] == ["test_ops.py::test_values[floor: 4-d float32]"]
    assert row_of(card, 1, "pointwise.rounding")["failed"] == 1
    assert row_of(card, 1, "pointwise.rounding")["passed"] > 2
    assert card["complete"]
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert int(suite.get("tests")) == card["totals"]["passed"] + card["totals"]["failed"]
    assert int(suite.get("failures")) + int(suite.get("errors")) == 1


COMMANDS = re.findall(
    r"^polyad conformance (.*?)(?: +#.*)?$",
    "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))),
    re.MULTILINE,
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_documentation_are_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda command: type("Process", (), {"wait": lambda self: 0})())
    assert len(COMMANDS) > 5
    assert main(["conformance", *shlex.split(command)]) == 0


def collected(run: Any, *options: str) -> set[str]:
    _, output, _ = run("--polyad-family=sorting.sort", "--collect-only", *options)
    return {line for line in output.splitlines() if "::" in line}


def test_tests_that_are_not_chosen_are_not_made(run: Any) -> None:
    _, output, _ = run("--polyad-family=sorting.sort", "--collect-only", "-k", "msort: and not (float16 or batch)")
    assert "deselected" not in output
    chosen = {line for line in output.splitlines() if "::" in line}
    assert chosen == {
        line for line in collected(run) if "msort:" in line and "float16" not in line and "batch" not in line
    }
    assert len(chosen) > 10


@pytest.mark.parametrize("family", [*CHECK_FAMILIES, *family_names()])
def test_a_family_is_chosen_by_the_name_in_the_card(family: str) -> None:
    assert named_families(family) == [family]
    assert family in named_families(family.rpartition(".")[2]) or within(family, family.rpartition(".")[2])


def test_a_family_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(LookupError, match=r"called reduction; did you mean reductions"):
        named_families("reduction")
    with pytest.raises(LookupError, match=r"called nosuch$"):
        named_families("nosuch")


def test_shards_are_disjoint_and_complete(run: Any) -> None:
    whole = collected(run)
    shards = [collected(run, f"--polyad-shard={number}/2") for number in (1, 2)]
    assert len(whole) > 150
    assert set().union(*shards) == whole
    assert sum(map(len, shards)) == len(whole)


def test_shards_are_balanced_whatever_the_order() -> None:
    names = [f"test_ops.py::test_values[{sample.label}]" for samples, _ in families().values() for sample in samples]
    for count in (2, 3, 8, 16):
        sizes = [sum(map(Shard(number, count).holds, names)) for number in range(1, count + 1)]
        assert sum(sizes) == len(names)
        # Names fall into shards at random; that one is off by five standard deviations does not happen.
        assert max(abs(size - len(names) / count) for size in sizes) < 5 * (len(names) / count) ** 0.5


def test_cards_of_shards_merge_into_the_card_of_the_whole(
    run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choice = ("--polyad-family=products.matmul", "-k", "test_values", "--allow-fallback")
    paths = []
    for shard in ("1/2", "2/2"):
        _, output, card = run(*choice, f"--polyad-shard={shard}", kernels="{}")
        assert card["shards"] == [shard], output
        assert not card["complete"]
        paths.append(str(tmp_path / f"card{shard[0]}.json"))
        Path(paths[-1]).write_text(json.dumps(card))
    _, _, whole = run(*choice, kernels="{}")
    assert report.main([*paths, "--report", str(tmp_path / "merged.json")]) == 0
    assert "all shards" in capsys.readouterr().out
    merged = json.loads((tmp_path / "merged.json").read_text())
    for name in ("rows", "totals", "ops", "unsupported", "passed", "complete"):
        assert merged[name] == whole[name], name


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({}, 2, "two cards have shard 1/2"),
        ({"shards": ["2/3"]}, 2, "of 2 shards, another of 3"),
        ({"shards": ["2/2"], "seed": 1}, 2, "not of one run: seed 0 and 1"),
        ({"format": 0}, 2, "no score card"),
        ({"rows": [{"tier": 1, "family": None}]}, 2, "no score card: rows is not as in a card"),
        ({"shards": ["1/99999999"]}, 2, "no score card: shard 1/99999999: I is from 1 to N"),
        ({"shards": ["2/2"], "failures": [{"test": "test_ops.py::test_values[abs]", "message": ""}]}, 1, "failed: "),
        ({"shards": ["2/2"]}, 0, "all shards"),
        (None, 1, "shard 2 of 2 is missing"),
    ],
)
def test_cards_that_do_not_fit_together_are_refused(
    change: dict[str, Any] | None, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = dict.fromkeys(report.ABOUT, "") | {"seed": 0, "api_version": [1, 0], "allow_fallback": False}
    about |= {"families": [], "tiers": []}
    card = report.ScoreCard(about, [Shard(1, 2)], {(1, "sorting.sort"): Counter(passed=2)}, {}).as_dict()
    paths = []
    for name, made in (("one", card), ("two", None if change is None else card | change)):
        if made is not None:
            paths.append(str(tmp_path / name))
            Path(paths[-1]).write_text(json.dumps(made))
    assert report.main(paths) == code
    shown = capsys.readouterr()
    assert words in shown.out + shown.err


def test_what_says_how_to_run_is_refused_where_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--merge", "one.json", "-k", "sort"]) == 2
    assert "--merge runs nothing, so -k has no meaning" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--seed", "-1"], ["--jobs", "0"], ["--timeout", "x"]])
def test_numbers_out_of_range_are_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["conformance", *options])
    assert caught.value.code == 2
    assert "is not a whole number of at least" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/2", "1/2/3", "-1/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="shard"):
        Shard.parse(text)


def test_seeds_change_the_inputs() -> None:
    from polyad_conformance.calls import draw

    sample = families()["products.matmul"][0][0]
    first, again, other = (draw(sample, sample.dtypes[-1], seed)[0] for seed in (0, 0, 1))
    assert (first == again).all()
    assert not (first == other).all()
