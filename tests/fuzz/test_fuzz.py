"""A slice of the random calls and programs, the same in every run; `nox -s fuzz` makes the others."""

from __future__ import annotations

import pytest

from polyad.errors import InternalError, ShapeError

from . import calls, judgement, programs
from .generation import random_call
from .judgement import judged, of_error
from .values import UsersError, names

SEED = 2026


def test_random_calls() -> None:
    report = calls.run("cpu", count=400, seed=SEED, tries=20)
    assert not report.counts, report.table()
    assert len(report.ends) > 5, "most calls end in the same way: the fuzzer draws nothing but nonsense"


def test_random_calls_of_packages() -> None:
    report = calls.run("cpu", count=300, seed=SEED + 1, tries=20, part="packages")
    assert not report.counts, report.table()
    assert len(report.ends) > 5, "most calls end in the same way: the fuzzer draws nothing but nonsense"


def test_random_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert programs.main(["--count", "40", "--seed", str(SEED), "--device", "cpu"]) == 0, capsys.readouterr().out


def test_a_call_follows_from_its_numbers() -> None:
    assert random_call(SEED, 7) == random_call(SEED, 7) != random_call(SEED, 8)


@pytest.mark.parametrize(
    ("error", "sort"),
    [
        (InternalError("op: wrong", fix="none"), "internal"),
        (ShapeError("op: the arguments do not fit together: ValueError: x", fix="report a defect"), "internal"),
        (ShapeError("op: the kernel failed: ValueError: x", fix="check shapes"), "kernel's words"),
        (ShapeError("op: shapes differ"), "no way out"),
        (TypeError("'NoneType' object is not iterable"), "raw"),
        (UsersError("__repr__ of the argument's own"), "raw"),
        (ShapeError("op: shapes differ", fix="reshape it"), None),
        (TypeError("f() missing 1 required positional argument: 'x'"), None),
        (UsersError("__index__ of the argument's own"), None),
    ],
)
def test_what_is_a_finding(error: Exception, sort: str | None) -> None:
    found = of_error(error)
    assert (found and found.sort) == sort


def test_calls_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgement, "GIGABYTE", 1 << 26)
    raises = "bad('__index__').__index__()"
    ends = {
        "warning": "__import__('warnings').warn('of NumPy', RuntimeWarning)",
        "leaked state": f"(torch.set_grad_enabled(False), {raises})",
        "input changed": f"(x.add_(1), {raises})",
        "memory": "bytearray(3 << 25) and None",
        None: "x + 1",
    }
    for sort, body in ends.items():
        made = judged(f"lambda x: {body}", ["filled('float32', 2)"], {}, names("cpu", "cpu"))
        assert made.ran
        assert (made.finding and made.finding.sort) == sort, body


def test_a_process_that_dies_is_a_finding_and_the_next_call_is_made() -> None:
    caller = calls.Caller("cpu")
    try:
        _, finding, _ = caller.ask(calls.Call("__import__('os')._exit", ("3",)))
        assert finding is not None
        assert finding.sort == "crash"
        ran, finding, _ = caller.ask(calls.Call("torch.exp", ("filled('float32', 2)",)))
        assert ran
        assert finding is None
    finally:
        caller.close()
