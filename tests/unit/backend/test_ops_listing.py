"""What `polyad ops` and `polyad.backends.describe_op` tell the author of a backend."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

import polyad
from polyad import backends
from polyad.cli import main
from polyad.dispatch.op import OPS, primitives
from polyad.inspection.diagnosis.ops_text import show_ops, text_of_ops
from polyad.random import philox


def test_every_op_can_be_described() -> None:
    for name in sorted(name for name, op in OPS.items() if op.module.startswith("polyad.ops")):
        op = backends.describe_op(name)
        assert op.name == name
        assert op.meaning, name
        assert op.declaration, name
        assert op.shape, name
        assert op.dtypes or not op.operands, f"the dtype rule of {name} takes none of the calls that were tried"
        assert str(op).startswith(f"{name}: ")
        json.dumps(op.as_dict())


def test_what_is_said_of_an_op() -> None:
    text = str(backends.describe_op("div"))
    assert "kernel      div(input, other)" in text
    assert "  T = bool, uint8, int8, int16, int32, int64\n      div(T, T): div(float32, float32) -> float32\n" in text
    assert "      div(T, T) -> T\n" in text
    assert "  div(int64, float): div(float32, float) -> float32\n" in text
    assert "shape       the operands' shapes, broadcast\n" in text
    assert re.search("on cpu      (native, )?polyad_numpy\n", text)


def test_the_table_says_what_calls_give() -> None:
    for name in ("add", "div", "eq", "maximum", "pow"):
        for row in (*backends.describe_op(name).dtypes, *backends.describe_op(name).promoted):
            numbers = {"float": 1.5, "complex": 1j}
            operands = [
                numbers.get(one)
                or polyad.ones(() if one.startswith("0-d") else (2,), dtype=getattr(polyad, one.removeprefix("0-d ")))
                for one in row.given
            ]
            assert OPS[name].call(*operands).dtype is getattr(polyad, row.results[0])


def test_params_have_types_and_shape_rules_bring_what_they_call() -> None:
    op = backends.describe_op("max_pool_with_indices")
    assert op.params["kernel"] == "tuple[int, ...]"
    assert "\n  ceil_mode bool\n" in str(op).replace("ceil_mode   ", "ceil_mode ")
    assert op.shape.startswith("def _pooled_twice(")
    assert "\ndef pooled_shape(" in op.shape
    assert "\ndef window_count(" in op.shape


def test_dtypes_that_are_refused_and_operands_of_other_dtypes() -> None:
    assert backends.describe_op("bitwise_and").refused == (
        *("float16", "bfloat16", "float32", "float64"),
        *("complex64", "complex128"),
    )
    assert "      index_add(T, T, T): index_add(T, int64, T) -> T\n" in str(backends.describe_op("index_add"))


def test_the_contract_of_random_numbers_is_quoted_from_its_one_home() -> None:
    op = backends.describe_op("philox_bits")
    assert "counter of block b   (b mod 2**32, b // 2**32, 0, 0), first word first" in op.random
    assert all(line.strip() in philox.__doc__ for line in op.random.splitlines())
    assert backends.describe_op("dropout").random == op.random
    assert not backends.describe_op("sum").random


def test_the_decomposition_of_a_composite_is_shown() -> None:
    text = str(backends.describe_op("softmax"))
    assert "composite, tier 2: a kernel is optional" in text
    assert "decomposition\n\n  @composite(" in text


def test_a_function_is_known_by_the_op_that_it_is() -> None:
    assert backends.describe_op("special.entr").name == "special_entr"
    with pytest.raises(ValueError, match=r"linalg\.det is a function that calls several ops"):
        backends.describe_op("linalg.det")
    assert backends.describe_op("exp").functions == ("exp",)
    with pytest.raises(ValueError, match=r"there is no op 'gem'\n    fix  did you mean gemm"):
        backends.describe_op("gem")


def test_ops_can_be_chosen(toy) -> None:
    assert [op.name for op in backends.list_ops(tier=1)] == [
        op.name for op in backends.list_ops() if op.name in primitives()
    ]
    assert {op.family for op in backends.list_ops(family="linalg")} > {"linalg.norms", "linalg.svd"}
    assert len(backends.list_ops(missing="toy")) == sum(op.kind != "view" for op in OPS.values())
    assert not backends.list_ops(tier=1, missing="cpu")
    with pytest.raises(ValueError, match=r"no family is called 'roundings'\n    fix  did you mean .*rounding"):
        backends.list_ops(family="roundings")


def test_lists_fit_into_80_columns() -> None:
    ops = backends.list_ops()
    lines = text_of_ops(ops).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith(f"{len(primitives())} primitives, ")
    file = io.StringIO()
    show_ops(Console(file=file, width=80, highlight=False), ops)
    shown = file.getvalue().splitlines()
    assert max(map(len, shown)) <= 80
    assert not any("…" in line for line in shown)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(name for name in ("cpu", "cuda", "opencl") if backends.is_available(name))
    assert main(["ops", "--family", "rounding", "--tier", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[2:4] == [
        "pointwise.rounding",
        f"  {'ceil':<39}1    pointwise         {shown}",
    ]
    assert main(["ops", "sum", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["signature"] == "sum(input, dims, keepdim)"
    assert report["dtypes"][0] == {"given": ["bool"], "computed": ["bool"], "results": ["int64"]}
    assert main(["ops", "nonesuch"]) == 2
    assert "`polyad ops` lists all" in capsys.readouterr().err
