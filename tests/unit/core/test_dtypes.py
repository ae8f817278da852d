"""Promotion is PyTorch's.

The expected tables were printed by PyTorch 2.13: promote_types of all pairs, dtypes of products.
"""

import copy

import pytest

import polyad
from polyad.base import dtypes

# A row a dtype, its entries in the order of the rows.
PROMOTED = {
    "bool": "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128",
    "uint8": "uint8 uint8 int16 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128",
    "int8": "int8 int16 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128",
    "int16": "int16 int16 int16 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128",
    "int32": "int32 int32 int32 int32 int32 int64 float16 bfloat16 float32 float64 complex64 complex128",
    "int64": "int64 int64 int64 int64 int64 int64 float16 bfloat16 float32 float64 complex64 complex128",
    "float16": "float16 float16 float16 float16 float16 float16 float16 float32 float32 float64 complex64 complex128",
    "bfloat16": "bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 "
    "float32 bfloat16 float32 float64 complex64 complex128",
    "float32": "float32 float32 float32 float32 float32 float32 float32 float32 float32 float64 complex64 complex128",
    "float64": "float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 complex128 complex128",
    "complex64": "complex64 complex64 complex64 complex64 complex64 complex64 "
    "complex64 complex64 complex64 complex128 complex64 complex128",
    "complex128": "complex128 complex128 complex128 complex128 complex128 complex128 "
    "complex128 complex128 complex128 complex128 complex128 complex128",
}

# t_ has dimensions, z_ has none; the others are Python numbers.
PRODUCTS = [
    ("t_u8", "t_i32", "int32"),
    ("t_u8", "t_f16", "float16"),
    ("t_u8", "t_f32", "float32"),
    ("t_u8", "t_c64", "complex64"),
    ("t_u8", "t_bool", "uint8"),
    ("t_u8", "z_u8", "uint8"),
    ("t_u8", "z_i64", "uint8"),
    ("t_u8", "z_f64", "float64"),
    ("t_u8", "z_c128", "complex128"),
    ("t_u8", "bool", "uint8"),
    ("t_u8", "int", "uint8"),
    ("t_u8", "float", "float32"),
    ("t_u8", "complex", "complex64"),
    ("t_i32", "t_f16", "float16"),
    ("t_i32", "t_f32", "float32"),
    ("t_i32", "t_c64", "complex64"),
    ("t_i32", "t_bool", "int32"),
    ("t_i32", "z_u8", "int32"),
    ("t_i32", "z_i64", "int32"),
    ("t_i32", "z_f64", "float64"),
    ("t_i32", "z_c128", "complex128"),
    ("t_i32", "bool", "int32"),
    ("t_i32", "int", "int32"),
    ("t_i32", "float", "float32"),
    ("t_i32", "complex", "complex64"),
    ("t_f16", "t_f32", "float32"),
    ("t_f16", "t_c64", "complex64"),
    ("t_f16", "t_bool", "float16"),
    ("t_f16", "z_u8", "float16"),
    ("t_f16", "z_i64", "float16"),
    ("t_f16", "z_f64", "float16"),
    ("t_f16", "bool", "float16"),
    ("t_f16", "int", "float16"),
    ("t_f16", "float", "float16"),
    ("t_f32", "t_c64", "complex64"),
    ("t_f32", "t_bool", "float32"),
    ("t_f32", "z_u8", "float32"),
    ("t_f32", "z_i64", "float32"),
    ("t_f32", "z_f64", "float32"),
    ("t_f32", "z_c128", "complex64"),
    ("t_f32", "bool", "float32"),
    ("t_f32", "int", "float32"),
    ("t_f32", "float", "float32"),
    ("t_f32", "complex", "complex64"),
    ("t_c64", "t_bool", "complex64"),
    ("t_c64", "z_u8", "complex64"),
    ("t_c64", "z_i64", "complex64"),
    ("t_c64", "z_f64", "complex64"),
    ("t_c64", "z_c128", "complex64"),
    ("t_c64", "bool", "complex64"),
    ("t_c64", "int", "complex64"),
    ("t_c64", "float", "complex64"),
    ("t_c64", "complex", "complex64"),
    ("t_bool", "z_u8", "uint8"),
    ("t_bool", "z_i64", "int64"),
    ("t_bool", "z_f64", "float64"),
    ("t_bool", "z_c128", "complex128"),
    ("t_bool", "bool", "bool"),
    ("t_bool", "int", "int64"),
    ("t_bool", "float", "float32"),
    ("t_bool", "complex", "complex64"),
    ("z_u8", "z_i64", "int64"),
    ("z_u8", "z_f64", "float64"),
    ("z_u8", "z_c128", "complex128"),
    ("z_u8", "bool", "uint8"),
    ("z_u8", "int", "uint8"),
    ("z_u8", "float", "float32"),
    ("z_u8", "complex", "complex64"),
    ("z_i64", "z_f64", "float64"),
    ("z_i64", "z_c128", "complex128"),
    ("z_i64", "bool", "int64"),
    ("z_i64", "int", "int64"),
    ("z_i64", "float", "float32"),
    ("z_i64", "complex", "complex64"),
    ("z_f64", "z_c128", "complex128"),
    ("z_f64", "bool", "float64"),
    ("z_f64", "int", "float64"),
    ("z_f64", "float", "float64"),
    ("z_f64", "complex", "complex128"),
    ("z_c128", "bool", "complex128"),
    ("z_c128", "int", "complex128"),
    ("z_c128", "float", "complex128"),
    ("z_c128", "complex", "complex128"),
]

NUMBERS = {"bool": True, "int": 2, "float": 2.5, "complex": 2j}
SHORT = {"u8": "uint8", "i32": "int32", "i64": "int64", "f16": "float16", "f32": "float32", "f64": "float64"}
SHORT |= {"c64": "complex64", "c128": "complex128", "bool": "bool"}


def operand(code: str):
    if code in NUMBERS:
        return NUMBERS[code]
    kind, _, short = code.partition("_")
    return polyad.ones((2,) if kind == "t" else (), dtype=getattr(polyad, SHORT[short]))


@pytest.mark.parametrize("name", PROMOTED)
def test_promote_types(name: str) -> None:
    expected = PROMOTED[name].split()
    got = [polyad.promote_types(dtypes.named(name), dtypes.named(other)).name for other in PROMOTED]
    assert got == expected


@pytest.mark.parametrize(("a", "b", "expected"), PRODUCTS)
def test_products_promote_by_category_and_dimension(a: str, b: str, expected: str) -> None:
    assert (operand(a) * operand(b)).dtype.name == expected
    assert (operand(b) * operand(a)).dtype.name == expected


def test_a_dtype_exists_once() -> None:
    for dtype in dtypes.ALL:
        assert copy.deepcopy(dtype) is dtype
        assert dtypes.named(dtype.name) is dtype


def test_default_dtype_decides_floats_and_drops_plans() -> None:
    ints = polyad.ones(2, dtype=polyad.int64)
    assert (ints / 2).dtype is polyad.float32
    polyad.set_default_dtype(polyad.float64)
    try:
        assert (ints / 2).dtype is polyad.float64
        assert polyad.tensor(1.5).dtype is polyad.float64
        assert polyad.tensor(1j).dtype is polyad.complex128
    finally:
        polyad.set_default_dtype(polyad.float32)
    assert (ints / 2).dtype is polyad.float32


@pytest.mark.parametrize("wrong", [polyad.int64, "float32", None])
def test_default_dtype_must_be_floating(wrong) -> None:
    with pytest.raises(TypeError, match="set_default_dtype: d is"):
        polyad.set_default_dtype(wrong)
    assert polyad.get_default_dtype() is polyad.float32


def test_limits() -> None:
    # IEEE 754 and bfloat16: the largest finite value is (2 - eps) * 2**emax.
    assert polyad.finfo(polyad.float16).max == 65504
    assert polyad.finfo(polyad.bfloat16).eps == 2**-7
    assert polyad.finfo(polyad.float64).tiny == 2.2250738585072014e-308
    assert (polyad.iinfo(polyad.int8).min, polyad.iinfo(polyad.int64).max) == (-128, 2**63 - 1)
    with pytest.raises(TypeError, match="finfo"):
        polyad.finfo(polyad.int32)
    with pytest.raises(TypeError, match="iinfo"):
        polyad.iinfo(polyad.float32)


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(RuntimeError, match=r"no dtype is called 'float8'[\s\S]*float64"):
        dtypes.named("float8")
