"""einsum: all equations alike NumPy's, the order of contraction, views."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import polyad
from polyad.ops.products import einsum as module

SIZES = {"a": 2, "b": 3, "c": 1, "d": 4, "e": 2}


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    terms = draw(st.lists(st.text("abcde", max_size=4), min_size=1, max_size=4))
    used = sorted(set("".join(terms)))
    output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    arrow = draw(st.booleans())
    shapes = [tuple(SIZES[label] for label in term) for term in terms]
    return ",".join(terms) + ("->" + "".join(output) if arrow else ""), shapes


@settings(max_examples=150, deadline=None)
@given(equations(), st.integers(0, 2**16))
def test_every_equation_means_what_it_means_to_numpy(case: tuple[str, list[tuple[int, ...]]], seed: int) -> None:
    equation, shapes = case
    random = np.random.default_rng(seed)
    operands = [random.integers(-3, 4, shape).astype(np.float64) for shape in shapes]
    got = polyad.einsum(equation, *map(polyad.tensor, operands))
    expected = np.einsum(equation, *operands)
    assert tuple(got.shape) == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 10), st.integers(0, 2**16))
def test_any_number_of_operands_in_any_order(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    letters = "abcdefghijk"[: count + 1]
    order = random.permutation(count)
    shapes = {letter: int(random.integers(1, 4)) for letter in letters}
    terms = [letters[at : at + 2] for at in order]
    operands = [random.integers(-2, 3, [shapes[label] for label in term]).astype(np.float64) for term in terms]
    equation = ",".join(terms) + "->" + letters[0] + letters[-1]
    got = polyad.einsum(equation, *map(polyad.tensor, operands))
    np.testing.assert_array_equal(got.numpy(), np.einsum(equation, *operands, optimize=True))


def test_the_best_order_is_found() -> None:
    # From the left it would be 60 * 50 * 40 for the first step alone; from the right all is cheap.
    sizes = dict(zip("abcde", (60, 50, 40, 30, 1)))
    shapes = tuple(tuple(sizes[label] for label in term) for term in ("ab", "bc", "cd", "de"))
    program = module._planned("ab,bc,cd,de->ae", shapes)
    assert {(step.left, step.right) for step in program.contract} == {(2, 3), (1, 4), (0, 5)}


@pytest.mark.parametrize("count", [module.EXHAUSTIVE, module.EXHAUSTIVE + 3])
def test_a_chain_ending_in_a_vector_needs_no_product_of_matrices(count: int) -> None:
    letters = "abcdefghijklm"
    terms = [letters[at : at + 2] for at in range(count)]
    shapes = tuple((9, 9) for _ in terms)
    program = module._planned(",".join([*terms, letters[count]]), (*shapes, (9,)))
    assert all(step.shape is None or len(step.shape) == 1 for step in program.contract)


def test_what_only_rearranges_is_a_view() -> None:
    x = polyad.arange(6.0).reshape(2, 3)
    for equation in ("ij->ji", "ij->ij", "...->...", "ij"):
        got = polyad.einsum(equation, x)
        assert got is not x
        assert got.data_ptr() == x.data_ptr()
    square = polyad.zeros(2, 2)
    polyad.einsum("ii->i", square).fill_(1)
    assert square.tolist() == [[1, 0], [0, 1]]


def test_products_of_batches_copy_nothing_but_the_result() -> None:
    q = polyad.ones(2, 5, 3, 4)
    with polyad.trace_dispatch() as trace:
        polyad.einsum("bqhd,bkhd->bhqk", q, q)
    assert "copy" not in str(trace)


def test_operands_may_come_as_a_list() -> None:
    a = polyad.ones(2, 3)
    assert polyad.equal(polyad.einsum("ij,kj->ik", [a, a]), a @ a.T)
    assert polyad.equal(polyad.einsum(a, [0, 1], a, [2, 1]), a @ a.T)
    assert polyad.equal(polyad.einsum(a, [..., 1], a, [0, 1], [..., 0]), a @ a.T)


def test_capitals_come_before_small_letters_in_the_output() -> None:
    assert polyad.einsum("bA", polyad.ones(2, 3)).shape == (3, 2)


def test_an_error_is_raised_anew_for_each_call() -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"operand 0 +float32 \(2, 3\)"):
            polyad.einsum("ij,jk", polyad.ones(2, 3), polyad.ones(4, 5))
    with pytest.raises(RuntimeError, match=r"operand 0 +int64 \(2, 3\)"):
        polyad.einsum("ij,jk", polyad.ones(2, 3, dtype=polyad.int64), polyad.ones(4, 5, dtype=polyad.int64))


def test_a_program_can_be_captured() -> None:
    a, b = polyad.ones(2, 3), polyad.ones(3, 4)
    traced = polyad.jit.trace(lambda x, y: polyad.einsum("ij,jk->ki", x, y), (a, b))
    assert polyad.equal(traced(a * 2, b), (a * 2 @ b).T)


def test_tensordot_contracts_sizes_of_1() -> None:
    a, b = polyad.ones(2, 1), polyad.ones(3, 2)
    assert polyad.tensordot(a, b, ([1], [0])).tolist() == [[3, 3], [3, 3]]


def test_tensordot_writes_to_out() -> None:
    a, out = polyad.ones(2, 3), polyad.empty(2, 2)
    assert polyad.tensordot(a, a, ([1], [1]), out) is out
    assert out.tolist() == [[3, 3], [3, 3]]
