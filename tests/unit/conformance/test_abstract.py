"""The check that compares calls without data: it passes, and notices declarations that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from polyad.dispatch import structure
from polyad.dispatch.op import OPS
from polyad_conformance.calls import Target
from polyad_conformance.checks import errors, values
from polyad_conformance.samples import families


def _drop_plans(*names: str) -> None:
    for name in names:
        OPS[name].plans.clear()


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Any:
    spoiled = []

    def put(name: str, attribute: str, value: Any) -> None:
        OPS[name].plans.clear()
        monkeypatch.setattr(OPS[name], attribute, value)
        spoiled.append(name)

    yield put
    monkeypatch.undo()
    _drop_plans(*spoiled)


def _check_samples(op: str) -> None:
    for listed, _ in families().values():
        for sample in listed:
            if sample.op == op:
                values.check_values(sample, sample.dtypes[-1], Target("cpu"))


def _check_errors(op: str) -> None:
    for _, listed in families().values():
        for case in listed:
            if case.op == op:
                errors.check_error(case, Target("cpu"))


@pytest.mark.parametrize("op", ["sort", "roll", "gather", "mm"])
def test_right_declarations_pass(op: str) -> None:
    _check_samples(op)
    _check_errors(op)


@pytest.mark.parametrize(
    ("op", "of", "attribute", "value"),
    [
        ("sort", "sort", "strides", structure.row_major),
        ("linalg.inv_ex", "linalg_inv_ex", "strides", structure.row_major),
        ("neg", "neg", "strides", structure.row_major),
        ("gather", "gather", "shape", lambda input, index, dim: input),
        ("cumsum", "cumsum", "shape", lambda input, dim: (*input, 1)),
    ],
)
def test_a_wrong_rule_is_noticed(spoil: Any, op: str, of: str, attribute: str, value: Any) -> None:
    spoil(of, attribute, value)
    with pytest.raises(AssertionError, match="without data"):
        _check_samples(op)


def test_a_body_that_reads_is_noticed(spoil: Any) -> None:
    honest = OPS["linalg_qr"].body
    assert honest is not None
    spoil("linalg_qr", "body", lambda A, mode: honest(A, mode) if A.sum().item() else None)
    with pytest.raises(AssertionError, match="without data it is refused"):
        _check_samples("linalg.qr")
