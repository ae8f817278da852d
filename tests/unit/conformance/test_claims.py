"""What every op says of its structure is true of the calls that samples make, and what is not true is noticed."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from polyad.dispatch.op import OPS, Op
from polyad.dispatch.structure import (
    ALL,
    Contraction,
    Creation,
    Indexing,
    Last,
    Opaque,
    Pointwise,
    Random,
    Reduction,
    Rowwise,
    Shaping,
    Structure,
    contraction,
    indexing,
    opaque,
    pointwise,
    random,
    shaping,
)
from polyad_conformance.samples import families

from .claims import Args, check_claim, draws, recorded, signature

NOT_SAID = {
    "adafactor_step", "adafactor_vector_step", "muon_step",
    "attention", "attention_backward", "cdist", "euclidean_cdist", "pdist", "batch_norm", "batch_norm_backward",
    "batch_norm_by", "layer_norm_backward", "rms_norm_backward", "nll_loss", "nll_loss_backward", "cross_entropy",
    "cross_entropy_backward", "ctc_loss", "ctc_loss_backward", "gru_sequence", "gru_sequence_backward", "lstm_sequence",
    "lstm_sequence_backward", "rnn_sequence", "rnn_sequence_backward", "adaptive_max_pool", "fractional_max_pool",
    "max_pool_with_indices", "max_pool", "max_pool_backward", "bag_max", "bincount", "bincount_of", "histc",
    "histogram_of", "bin_counts", "distinct", "lexsort", "nonzero", "searchsorted", "isin", "det_backward",
    "linalg_householder_product", "linalg_ldl_solve", "linalg_lstsq", "linalg_lu_solve", "linalg_matrix_rank",
    "linalg_pinv", "linalg_solve_ex", "linalg_solve_factored", "linalg_solve_triangular",
}  # fmt: skip
"""Ops of polyad that no structure fits: several in one, windows, counts, more than one matrix. It only ever gets
shorter."""

CATALOGUE = [op for op in OPS.values() if op.module.startswith("polyad.ops")]


@cache
def calls() -> list[tuple[Op, Args]]:
    """Every call of an op that a sample comes to, those that tell nothing new left out."""
    found: dict[str, tuple[Op, Args]] = {}
    for samples, _ in families().values():
        for sample in samples:
            for op, args in recorded(sample):
                found.setdefault(signature(op, args), (op, args))
    return list(found.values())


def test_what_ops_say_is_true_and_was_put_to_the_test() -> None:
    shown: Counter[str] = Counter()
    untrue = []
    for op, args in calls():
        try:
            shown[op.name] += check_claim(op, args)
        except AssertionError as found:
            untrue.append(str(found))
    assert not untrue, "\n".join(untrue)
    silent = (Creation, Opaque)
    claiming = [op for op in CATALOGUE if op.operands and not isinstance(op.structure, silent)]
    assert [op.name for op in claiming if not shown[op.name]] == [], "no sample shows whether these are what they say"


def test_what_is_called_random_is_drawn() -> None:
    named = {op.name for op in CATALOGUE if isinstance(op.structure, Random)}
    assert named - {op.name for op, args in calls() if op.name in named and draws(op, args)} == set()


def test_every_op_says_what_it_is() -> None:
    assert {op.name for op in CATALOGUE if op.structure == opaque} == NOT_SAID


def test_a_primitive_that_reduces_says_how_its_rows_combine() -> None:
    primitives = [op for op in CATALOGUE if op.kind == "primitive" and isinstance(op.structure, Reduction)]
    assert [op.name for op in primitives if op.structure.combine is None] == []


# -------------------------------------------------------------------------------------------------- what is not true


@pytest.mark.parametrize(
    ("name", "false", "words"),
    [
        ("softmax", pointwise, "result 0 changed at"),
        ("cumsum", pointwise, "result 0 changed at"),
        ("flip", pointwise, "result 0 changed at"),
        ("sum", pointwise, "give"),
        ("linalg_inv_ex", Rowwise(Last(1)), "result 0 changed at"),
        ("layer_norm", pointwise, "give"),
        ("sort", Rowwise(Last(0)), "changed at"),
        ("batch_norm", Rowwise(Last(1)), "changed at"),
        ("add", Pointwise(broadcasts=False), "its operands broadcast"),
        ("mean", Reduction("dims", "max"), "do not combine by max"),
        ("mean", Reduction("dims", "sum"), "do not combine by sum"),
        ("amax", Reduction("dims", "min"), "do not combine by min"),
        ("argmax", Reduction("dim", "max"), "do not combine by max"),
        ("sum", Reduction(ALL, "sum"), "is not the results' shape"),
        ("cumsum", Reduction("dim", "sum"), "is not the results' shape"),
        ("softmax", contraction, "twice as much"),
        ("pow", contraction, "twice as much"),
        ("cumsum", shaping, "changes to something else"),
        ("neg", shaping, "changes to something else"),
        ("overlap_add", shaping, "more than one constant|changes to something else"),
        ("gather", Shaping("dim"), "changes to something else"),
        ("mul", indexing, "changes to something else"),
        ("neg", indexing, "no operand names places"),
        ("softmax", Indexing(writes=True), "no operand names places"),
        ("exp", Indexing(writes=True), "no operand names places"),
        ("mul", Indexing(writes=True), "no operand names places"),
        ("cumsum", Indexing(writes=True), "no operand names places"),
        ("nll_loss", indexing, "changes to something else"),
        ("cross_entropy", Indexing(writes=True), "twice as much"),
        ("exp", random, "no generator is given"),
        ("mul", random, "no generator is given"),
        ("exp", contraction, "twice as much"),
        ("abs", contraction, "twice as much"),
        ("relu", contraction, "twice as much"),
        ("cumprod", contraction, "with all of input changed"),
        ("prod", contraction, "with all of input changed"),
        ("linalg_det", contraction, "with all of A changed"),
        ("abs", shaping, "changes to something else"),
        ("relu", shaping, "changes to something else"),
        ("hardshrink", shaping, "changes to something else"),
        ("isfinite", shaping, "changes to something else"),
        ("binary_cross_entropy", contraction, "with all of input changed, it refuses"),
        ("range_sum", Contraction(Last(0)), "changed at"),
    ],
)
def test_an_untrue_declaration_is_noticed(name: str, false: Structure, words: str) -> None:
    found = []
    for op, args in calls():
        if op.name == name:
            try:
                check_claim(op, args, false)
            except AssertionError as error:
                found.append(str(error))
    assert any(re.search(words, one) for one in found), found
