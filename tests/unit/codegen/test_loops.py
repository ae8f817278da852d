"""The form of loops: what holds of each schedule, that breaking it shows, and how the printer writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import polyad
from polyad.codegen import (
    CUDA_C,
    GPU,
    OPENCL_C,
    C,
    DeviceDescription,
    Operand,
    RowValue,
    Stage,
    apply,
    elementwise,
    reduction,
    rowwise,
)  # fmt: skip
from polyad.codegen.printer import index_text
from polyad.codegen.tables import over_table
from polyad.codegen.variants import Variant
from polyad.loops import nodes
from polyad.loops.nodes import Accumulate, Barrier, Begin, Give, If, Let, Load, Loop, Set, Store, number, var

from .verified import BrokenLoops, all_nodes, verify

GROUP = DeviceDescription(GPU, 8, 1024)
X = Operand(0, polyad.float32)


def softmax(dialect: Any, device: Any, variant: Variant) -> None:
    """A kernel of two stages, which read each other."""
    power = apply("exp", X - RowValue(0, X.dtype))
    stages = [Stage(X, "amax", X.dtype), Stage(power, "sum", X.dtype)]
    rowwise(stages, [power / RowValue(1, X.dtype)], [RowValue(0, X.dtype)], dialect, device, variant=variant)


SCHEDULES = {
    "elements in vectors": lambda: elementwise([X + X, apply("exp", X)], OPENCL_C, rank=4),
    "elements in packs": lambda: elementwise([X * X], CUDA_C, GROUP, 2, (1, 1), pack=4),
    "rows of tables": lambda: over_table([X + Operand(1, X.dtype)], [False, True], CUDA_C, 4),
    "sums along": lambda: reduction(X, "sum", OPENCL_C, variant=Variant(False, 2, 4, (1,), 4)),
    "sums across": lambda: reduction(X, "sum", C, variant=Variant(True, 2, 2, (1,), 64)),
    "sums of a group": lambda: reduction(X, "amax", CUDA_C, GROUP, variant=Variant(False, 2, 1, (1,), 1, 128, 128, 4)),
    "sums of a group without warps": lambda: reduction(
        X, "sum", OPENCL_C, GROUP, variant=Variant(False, 1, 2, None, 1, 32, 128)
    ),
    "rows in vectors": lambda: softmax(OPENCL_C, None, Variant(False, 2, 2)),
    "rows side by side": lambda: softmax(C, None, Variant(True, 1, 1, (1, 1, 1), 64)),
    "vectors side by side": lambda: softmax(OPENCL_C, None, Variant(True, 1, 1, (1, 1, 1), 2)),
    "rows of a group": lambda: softmax(CUDA_C, GROUP, Variant(False, 1, 1, (1, 0, 1), 1, 64, 128, 4)),
}  # fmt: skip


def made(name: str, verified: list) -> tuple[Any, dict[str, Any]]:
    """The body of a schedule, and what `verify` wants to know of its kernel."""
    SCHEDULES[name]()
    body, _, parameters, scalars, numbers, given = verified[-1]
    arrays = [name for _, name in parameters.pointers]
    return body, {"arrays": arrays, "scalars": scalars, "numbers": numbers, "lanes": given["lanes"]}


def changed(body: Any, at: int, into: Any) -> Any:
    """*body* with *into* in the place of statement number *at*, counted as `all_nodes` does."""
    found = []
    for node in body:
        if at == 0:
            found += into
        elif hasattr(node, "body") and 0 < at <= len(all_nodes(node.body)):
            found.append(replace(node, body=changed(node.body, at - 1, into)))
        else:
            found.append(node)
        at -= 1 + len(all_nodes(getattr(node, "body", ())))
    return tuple(found)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_statement_that_others_need_is_missed(name: str, verified: list) -> None:
    body, kernel = made(name, verified)
    statements = all_nodes(body)
    text = repr(body)
    dropped = 0
    for at, node in enumerate(statements):
        needed = isinstance(node, (Load, Begin, nodes.Search, nodes.Fold))
        if isinstance(node, Let) and node.name in ("row", "first", "last", "column", "line", "rest", "m", "unit"):
            # Not where a name from outside would do, or nobody asks.
            needed = sum(isinstance(each, Let) and each.name == node.name for each in statements) == 1
            needed &= text.count(f"names=('{node.name}',)") > 0 and node.name != "unit"
        if needed:
            dropped += 1
            with pytest.raises(BrokenLoops):
                verify(changed(body, at, ()), **kernel)
    assert dropped


@pytest.mark.parametrize("name", [name for name in SCHEDULES if "group" in name])
def test_a_group_meets_where_all_come(name: str, verified: list) -> None:
    body, kernel = made(name, verified)
    meets = [n for n, node in enumerate(all_nodes(body)) if isinstance(node, (Barrier, nodes.Exchange))]
    assert meets
    for at in meets:
        node = all_nodes(body)[at]
        branch = If(nodes.same(var("member"), number(0)), (node,))
        with pytest.raises(BrokenLoops, match="not all of a group come here"):
            verify(changed(body, at, (branch,)), **kernel)
        with pytest.raises(BrokenLoops, match="no group meets here"):
            verify((node,), **kernel)
    if name != "rows of a group":
        (at,) = (n for n, node in enumerate(all_nodes(body)) if isinstance(node, Store))
        unguarded = changed(body, at - 1, (all_nodes(body)[at],))
        with pytest.raises(BrokenLoops, match="write the same place"):
            verify(unguarded, **kernel)


def broken(node: Any) -> list[tuple[Any, str]]:
    """Statements in the place of *node* that are wrong, and what is said of them."""
    if isinstance(node, Store):
        return [
            (replace(node, array="in0"), "not written"), (replace(node, array="out9"), "no array out9"),
            (replace(node, place=var("nowhere")), "nowhere is not there"),
            (replace(node, place=nodes.geometry(9999)), "the geometry has"),
            (replace(node, value=Operand(7, X.dtype)), "is not known"),
        ]  # fmt: skip
    if isinstance(node, Accumulate):
        return [(replace(node, value=number(1)), "accumulates int64")]
    if isinstance(node, Loop) and node.kind == nodes.SERIAL:
        return [(replace(node, step=0), "not positive"), (replace(node, end=var("nowhere")), "nowhere is not there")]
    if isinstance(node, Set):
        return [(replace(node, name="unit"), "does not change")]
    if isinstance(node, Give):
        return [(replace(node, name=RowValue(0, polyad.int64)), "is given float32")]
    return []


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_broken_statement_is_named(name: str, verified: list) -> None:
    body, kernel = made(name, verified)
    tried = 0
    for at, node in enumerate(all_nodes(body)):
        for wrong, words in broken(node):
            tried += 1
            with pytest.raises(BrokenLoops, match=words):
                verify(changed(body, at, (wrong,)), **kernel)
    assert tried


def test_turns_of_vectors_do_not_depend_on_each_other(verified: list) -> None:
    reduction(X, "sum", C, variant=Variant(inner=(1,)))
    body, _, _, _, numbers, _ = verified[-1]
    kernel: Any = {"arrays": ["out0", "in0"], "scalars": (), "numbers": numbers, "lanes": 1}
    (at,) = (n for n, node in enumerate(all_nodes(body)) if isinstance(node, Loop) and node.kind == nodes.VECTOR)
    with pytest.raises(BrokenLoops, match="depend on each other by block0_0"):
        verify(changed(body, at, (replace(all_nodes(body)[at], accumulators=()),)), **kernel)


def test_stores_are_as_wide_as_the_kernel(verified: list) -> None:
    body, kernel = made("elements in vectors", verified)
    at = next(n for n, node in enumerate(all_nodes(body)) if isinstance(node, Store))
    with pytest.raises(BrokenLoops, match="neither 8 lanes nor what is left"):
        verify(changed(body, at, (replace(all_nodes(body)[at], count=number(3)),)), **kernel)


def test_indices_have_the_parentheses_that_they_need() -> None:
    a, b, c = var("a"), var("b"), var("c")
    assert index_text((a + b) * c - (a - b)) == "(a + b) * c - (a - b)"
    assert index_text(a / (b * c) / c) == "a / (b * c) / c"
    assert index_text(nodes.least(a + b, c) + a) == "(a + b < c ? a + b : c) + a"
    assert index_text(nodes.at(a, b + c, number(4))) == "a + (b + c) * 4"


def test_what_a_block_knows_is_forgotten_behind_it() -> None:
    lines = elementwise([X + X], CUDA_C, GROUP, 1, (1, 1), pack=4).text.split("continue;")
    assert [part.count("*(in0 +") + part.count("(in0 + at1 + first)") for part in lines] == [1, 1]
