"""Unsigned numbers in the order of elements: what sorting and searching compare.

0 and -0 share a key; every nan has the largest, beyond infinity. Only bits are looked at, so float64 needs no device
that computes in it.
"""

from __future__ import annotations

from polyad.base.dtypes import DType

from ..kept import kept

_UNSIGNED = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}

_INFINITY = {
    "float16": "0x7c00",
    "bfloat16": "0x7f80",
    "float32": "0x7f800000",
    "float64": "0x7ff0000000000000",
}


def key_size(dtype: DType) -> int:
    """The bytes that `pairs` has for a key of *dtype*: 4 or 8."""
    return 8 if dtype.itemsize == 8 else 4


@kept
def text(dtype: DType) -> str:
    """BITS, an element's memory as an unsigned number, and ``order_key(bits)``, a uint or ulong."""
    bits = _UNSIGNED[dtype.itemsize]
    number = "ulong" if dtype.itemsize == 8 else "uint"
    sign = hex(1 << 8 * dtype.itemsize - 1)
    if dtype.is_floating_point:
        body = f"""
    const BITS size = bits & ({bits}){hex((1 << 8 * dtype.itemsize - 1) - 1)};
    if (size > ({bits}){_INFINITY[dtype.name]}) return ({bits})~({bits})0;
    if (size == 0) bits = 0;
    return ({bits})(bits & ({bits}){sign} ? ~bits : bits | ({bits}){sign});"""
    elif dtype.name in ("bool", "uint8"):
        body = "return bits;"
    else:
        body = f"return ({bits})(bits ^ ({bits}){sign});"
    return f"""
#define BITS {bits}
#define NUMBER {number}
inline {number} order_key({bits} bits)
{{
    {body}
}}
"""
