"""Elementwise functions but those of SciPy and the activations of networks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import polyad

from .arrays import Arrays, Case

_NUMPYS = {
    "neg": "negative", "round": "rint", "sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "reciprocal": "reciprocal",
}  # fmt: skip


def _same(names: str, *operands: np.ndarray) -> Iterator[Case]:
    for name in names.split():
        yield Case(name, getattr(polyad, name), getattr(np, _NUMPYS.get(name, name)), operands)


def cases(arrays: Arrays) -> Iterator[Case]:
    x, y, unit, mask, z = arrays.x, arrays.y, arrays.unit, arrays.mask, arrays.complex
    integers, others = arrays.integers, arrays.others
    half = np.float32(0.5)

    yield from _same("neg abs exp exp2 expm1 sin cos tan tanh sinh cosh arcsinh positive", x)
    yield from _same("sign floor ceil trunc round square reciprocal isnan isinf isfinite signbit isposinf isneginf", x)
    yield from _same("deg2rad rad2deg sinc frexp", x)
    yield from _same("log log2 log10 log1p sqrt arccos arcsin arctan arctanh", unit)
    yield from _same("conj angle", z)
    yield Case("isreal", polyad.isreal, np.isreal, (z,))
    yield Case("abs complex", polyad.abs, np.abs, (z,))
    yield Case("sgn complex", polyad.sgn, np.sign, (z,))
    yield Case("mul complex", polyad.mul, np.multiply, (z, z))
    yield Case("exp complex", polyad.exp, np.exp, (z,))
    yield Case("polar", polyad.polar, lambda a, b: a * np.exp(1j * b), (unit, x))
    yield Case("complex", polyad.complex, lambda a, b: a + 1j * b, (x, y))
    yield Case("arccosh", lambda a: polyad.acosh(a), np.arccosh, (unit + 1,))
    yield Case("rsqrt", polyad.rsqrt, lambda a: 1 / np.sqrt(a), (unit,))
    yield Case("frac", polyad.frac, lambda a: a - np.trunc(a), (x,))
    yield Case("sgn", polyad.sgn, np.sign, (x,))
    yield Case("round decimals", lambda a: polyad.round(a, decimals=2), lambda a: np.round(a, 2), (x,))

    yield from _same("add sub mul div maximum minimum fmax fmin arctan2 eq ne lt le gt ge", x, y)
    yield from _same("logaddexp logaddexp2 hypot copysign nextafter heaviside", x, y)
    yield from _same("pow float_power", unit, y)
    yield from _same("fmod remainder floor_divide", x, unit)
    yield from _same("bitwise_and bitwise_or bitwise_xor gcd lcm", integers, others)
    yield from _same("add sub mul div floor_divide remainder eq lt maximum", integers, others)
    yield from _same("bitwise_left_shift bitwise_right_shift", integers, others % 8)
    yield from _same("bitwise_not square abs sign neg", integers)
    yield from _same("logical_and logical_or logical_xor", mask, ~mask)
    yield Case("logical_not", polyad.logical_not, np.logical_not, (mask,))
    yield Case("logical_and float", polyad.logical_and, np.logical_and, (x, y))
    yield Case("ldexp", polyad.ldexp, np.ldexp, (x, others % 8))
    yield Case("rsub", lambda a: 2 - a, lambda a: 2 - a, (x,))
    yield Case("x ** 2", lambda a: a**2, lambda a: a**2, (x,))
    yield Case("x ** 3", lambda a: a**3, lambda a: a * a * a, (x,))
    yield Case("x ** 0.5", lambda a: a**0.5, lambda a: a**0.5, (unit,))
    yield Case("2 ** x", lambda a: 2**a, lambda a: 2**a, (x,))
    yield Case("add row", polyad.add, np.add, (x, y[0]))
    yield Case("add column", polyad.add, np.add, (x, y[:, :1].copy()))
    yield Case("add transposed", lambda a, b: a + b.T, lambda a, b: a + b.T, (x, y))
    yield Case("add float64", polyad.add, np.add, (x, y.astype(np.float64)))
    yield Case("add float16", polyad.add, np.add, (x.astype(np.float16), y.astype(np.float16)))
    yield Case("add alpha", lambda a, b: polyad.add(a, b, alpha=2), lambda a, b: a + 2 * b, (x, y))
    yield Case("add_", lambda a, b: a.add_(b), lambda a, b: np.add(a, b, out=a), (np.zeros_like(x), y))
    yield Case("mul_", lambda a: a.mul_(1), lambda a: np.multiply(a, 1, out=a), (x.copy(),))
    yield Case("clamp_", lambda a: a.clamp_(-1, 1), lambda a: np.clip(a, -1, 1, out=a), (x.copy(),))
    yield Case("exp out=", lambda a, o: polyad.exp(a, out=o), lambda a, o: np.exp(a, out=o), (x, x.copy()))
    yield Case("where", polyad.where, np.where, (mask, x, y))
    yield Case("where number", lambda m, a: polyad.where(m, a, 0.0), lambda m, a: np.where(m, a, half), (mask, x))
    yield Case("clamp", lambda a: polyad.clamp(a, -1, 1), lambda a: np.clip(a, -1, 1), (x,))
    yield Case("clamp min", lambda a: polyad.clamp(a, min=0), lambda a: np.maximum(a, 0), (x,))
    yield Case("clamp tensors", polyad.clamp, lambda a, b, c: np.clip(a, b, c), (x, y, y + 1))
    yield Case("clamp integers", lambda a: polyad.clamp(a, 9, 99), lambda a: np.clip(a, 9, 99), (integers,))
    yield Case("lerp", lambda a, b: polyad.lerp(a, b, 0.3), lambda a, b: a + np.float32(0.3) * (b - a), (x, y))
    yield Case("lerp tensor", polyad.lerp, lambda a, b, w: a + w * (b - a), (x, y, unit))
    yield Case("addcmul", polyad.addcmul, lambda a, b, c: a + b * c, (x, y, unit))
    yield Case("addcdiv", polyad.addcdiv, lambda a, b, c: a + b / c, (x, y, unit))
    yield Case("nan_to_num", polyad.nan_to_num, np.nan_to_num, (x,))
    yield Case("isclose", polyad.isclose, np.isclose, (x, y))
    yield Case("allclose", polyad.allclose, np.allclose, (x, x.copy()))
    yield Case("equal", polyad.equal, np.array_equal, (x, x.copy()))
    yield Case("to float64", lambda a: a.double(), lambda a: a.astype(np.float64), (x,))
    yield Case("to float16", lambda a: a.half(), lambda a: a.astype(np.float16), (x,))
    yield Case("to int64", lambda a: a.long(), lambda a: a.astype(np.int64), (x,))
    yield Case("to bool", lambda a: a.bool(), lambda a: a.astype(np.bool_), (x,))
    yield Case("clone", lambda a: a.clone(), lambda a: a.copy(), (x,))
    yield Case("clone transposed", lambda a: a.T.clone(), lambda a: a.T.copy("K"), (x,))
    yield Case("transpose copy", lambda a: a.T.contiguous(), lambda a: np.ascontiguousarray(a.T), (x,))
    yield Case(
        "permute copy",
        lambda a: a.permute(0, 2, 3, 1).contiguous(),
        lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1)),
        (arrays.image,),
    )
