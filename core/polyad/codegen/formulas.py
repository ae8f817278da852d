"""The formula of each op on real numbers, in a C that is the same for scalars and for vectors, and for all dialects.

Formulas are written in marks that the writer fills in:

    {0}, {1}, ...  the arguments, each a variable
    <T>            their type, of as many lanes as the kernel has: ``(<T>)(1)`` is a constant
    <I>            the signed integer type of the same size, in which comparisons of vectors give their masks
    <B>            the type's number of bits
    <L>            before a loop that is to stay as it is written
    $name(         a math function, spelled by the dialect
    @name(         a function from `FUNCTIONS`, written for the type

Masks combine by ``&``, ``|`` and ``?:``, never by ``&&``: that is what vectors and scalars have in common. An op has
one formula, or a table by dtype: "b" bool, "i" signed and "u" unsigned integers, "f" floating, "*" any other. Ops
are named as declared in `polyad.ops`, where they are pointwise; a test checks that. NaN passes through maximum and
minimum; C's fmax would drop it.

To add an op: its formula here, and for complex numbers its parts in `complex_numbers`.
"""

from __future__ import annotations

from collections.abc import Sequence

COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

PREDICATES = {*COMPARISONS, "isnan", "isinf", "isfinite", "logical_not", "signbit"}
"""Ops whose result is bool; their formulas give masks."""

MATH = {
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "asinh", "acosh", "atanh", "floor", "ceil", "trunc",
}  # fmt: skip
"""Ops that are a call of a math function of the same name, on floating point numbers."""

Formula = str | dict[str, str]

FORMULAS: dict[str, Formula] = {
    **{op: {"f": f"${op}({{0}})"} for op in MATH},
    **{op: f"{{0}} {symbol} {{1}}" for op, symbol in COMPARISONS.items()},
    "add": {"b": "{0} | {1}", "*": "{0} + {1}"},
    "sub": "{0} - {1}",
    "mul": {"b": "{0} & {1}", "*": "{0} * {1}"},
    "div": {"f": "{0} / {1}"},
    "neg": {"f": "-{0}", "*": "(<T>)(0) - {0}"},
    "abs": {"f": "$fabs({0})", "i": "{0} < (<T>)(0) ? (<T>)(0) - {0} : {0}", "*": "{0}"},
    "sign": {
        "b": "{0}",
        "u": "{0} != (<T>)(0) ? (<T>)(1) : (<T>)(0)",
        "*": "{0} > (<T>)(0) ? (<T>)(1) : ({0} < (<T>)(0) ? (<T>)(-1) : (<T>)(0))",
    },
    "conj": "{0}",
    # Of 0 and -0 the second, as the processors' own instructions give it, and NumPy where it has them.
    # Written so that compilers make vector instructions of one inside of the other, as in a clamp.
    "maximum": {"f": "{0} <= {1} ? {1} : ({1} != {1} ? {1} : {0})", "*": "{0} > {1} ? {0} : {1}"},
    "minimum": {"f": "{0} >= {1} ? {1} : ({1} != {1} ? {1} : {0})", "*": "{0} < {1} ? {0} : {1}"},
    "fmax": {"f": "(({0} >= {1}) | ({1} != {1})) ? {0} : {1}", "*": "{0} > {1} ? {0} : {1}"},
    "fmin": {"f": "(({0} <= {1}) | ({1} != {1})) ? {0} : {1}", "*": "{0} < {1} ? {0} : {1}"},
    "logical_not": "{0} == (<T>)(0)",
    "isnan": "{0} != {0}",
    "isinf": {"f": "($fabs({0}) - $fabs({0}) != (<T>)(0)) & ({0} == {0})", "*": "{0} != {0}"},
    "isfinite": {"f": "{0} - {0} == (<T>)(0)", "*": "{0} == {0}"},
    "signbit": {"f": "$copysign((<T>)(1), {0}) < (<T>)(0)", "*": "{0} < (<T>)(0)"},
    "floor": {"f": "$floor({0})", "*": "{0}"},
    "ceil": {"f": "$ceil({0})", "*": "{0}"},
    "trunc": {"f": "$trunc({0})", "*": "{0}"},
    "round": {"f": "$rint({0})", "*": "{0}"},
    "tanh": {"f": "@tanh({0})"},
    "erf": {"f": "@erf({0})"},
    "erfc": {"f": "@erfc({0})"},
    "atan2": {"f": "$atan2({0}, {1})"},
    "hypot": {"f": "$hypot({0}, {1})"},
    "copysign": {"f": "$copysign({0}, {1})"},
    "pow": {"f": "$pow({0}, {1})", "*": "@integer_power({0}, {1})"},
    "fmod": {"f": "@fmod({0}, {1})", "*": "@integer_fmod({0}, {1})"},
    "remainder": {"f": "@float_remainder({0}, {1})", "*": "@integer_remainder({0}, {1})"},
    "floor_divide": {"f": "@float_floor_divide({0}, {1})", "*": "@integer_floor_divide({0}, {1})"},
    "bitwise_and": "{0} & {1}",
    "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}",
    "bitwise_not": {"b": "{0} ^ (<T>)(1)", "*": "~{0}"},
    "bitwise_left_shift": "@shift_left({0}, {1})",
    "bitwise_right_shift": {"i": "@shift_right({0}, {1})", "*": "@shift_right_unsigned({0}, {1})"},
}

OPS = {*FORMULAS, "where", "cast"}
"""Ops that expressions may have; how `where` and `cast` are written depends on several types."""


def _horner(coefficients: Sequence[float], variable: str) -> str:
    """A polynomial, the constant first."""
    text = f"(<T>)({coefficients[-1]!r}f)"
    for coefficient in reversed(coefficients[:-1]):
        text = f"@times_plus({text}, {variable}, (<T>)({coefficient!r}f))"
    return text


def _ratio(end: float, above: Sequence[float], below: Sequence[float]) -> tuple[str, str]:
    """An odd function that is x times a ratio of polynomials in x**2, and 1 from *end* on."""
    return (
        "<T> x",
        f"const <T> size = $fabs(x), square = x * x;\n"
        f"    const <T> ratio = x * {_horner(above, 'square')} / {_horner(below, 'square')};\n"
        f"    return ((size >= (<T>)({end}f)) | ($fabs(ratio) > (<T>)(1))) ? $copysign((<T>)(1), x) : ratio;",
    )


_ERFCX = (
    0.2820860386, 0.2823819332, 0.2430557558, 0.2028761336, -0.02707150753, 0.2787124015, -0.4877623426, 0.2848459093,
    -0.05912436491,
)  # fmt: skip
"""exp(x**2) * erfc(x) / u for x >= 0."""

FUNCTIONS: dict[str, tuple[str, str]] = {
    "times_plus": ("<T> a, <T> b, <T> c", "return a * b + c;"),
    # Processors trap on an integer divided by 0, and on the least integer by -1: neither reaches the division. Of an
    # unsigned type, (<T>)(-1) is the largest number.
    "quotient": (
        "<T> a, <T> b",
        "const <T> d = ((b == (<T>)(0)) | ((b == (<T>)(-1)) & (b < (<T>)(0)))) ? (<T>)(1) : b;\n"
        "    return ((b == (<T>)(-1)) & (b < (<T>)(0))) ? (<T>)((<T>)(0) - a) : (<T>)(a / d);",
    ),
    "integer_fmod": ("<T> a, <T> b", "const <T> q = @quotient(a, b);\n    return a - q * b;"),
    "integer_remainder": (
        "<T> a, <T> b",
        "const <T> r = @integer_fmod(a, b);\n"
        "    return ((r != (<T>)(0)) & ((r < (<T>)(0)) != (b < (<T>)(0)))) ? (<T>)(r + b) : r;",
    ),
    "integer_floor_divide": (
        "<T> a, <T> b",
        "const <T> q = @quotient(a, b);\n"
        "    const <T> r = a - q * b;\n"
        "    return ((r != (<T>)(0)) & ((r < (<T>)(0)) != (b < (<T>)(0)))) ? (<T>)(q - (<T>)(1)) : q;",
    ),
    "float_remainder": (
        "<T> a, <T> b",
        "const <T> r = @fmod(a, b);\n"
        "    const <T> sided = ((r < (<T>)(0)) != (b < (<T>)(0))) ? r + b : r;\n"
        "    return (r == (<T>)(0)) ? r : sided;",
    ),
    # The quotient of what the remainder leaves is a whole number but for rounding; a / 0 keeps its infinity.
    "float_floor_divide": (
        "<T> a, <T> b",
        "const <T> r = @fmod(a, b);\n"
        "    const <T> exact = (a - r) / b;\n"
        "    const <T> down = ((r != (<T>)(0)) & ((r < (<T>)(0)) != (b < (<T>)(0)))) ? exact - (<T>)(1) : exact;\n"
        "    const <T> whole = $floor(down);\n"
        "    const <T> near = (down - whole > (<T>)(0.5f)) ? whole + (<T>)(1) : whole;\n"
        "    const <T> signed_zero = (down == (<T>)(0)) ? $copysign((<T>)(0), a / b) : near;\n"
        "    return (b == (<T>)(0)) ? a / b : signed_zero;",
    ),
    # Squaring; 1 / a**n is a**(n mod 2) for a = 1 and -1, and less than 1 in magnitude for every other a.
    "integer_power": (
        "<T> a, <T> b",
        "const <T> zero = (<T>)(0), one = (<T>)(1);\n"
        "    <T> result = one, base = a, rest = (b < zero) ? (<T>)(b & one) : b;\n"
        "    <L>for (int bit = 0; bit < <B>; ++bit) {\n"
        "        result = ((rest & one) != zero) ? (<T>)(result * base) : result;\n"
        "        base = base * base;\n"
        "        rest = rest >> one;\n"
        "    }\n"
        "    return ((b < zero) & (a != one) & (a != (<T>)(-1))) ? zero : result;",
    ),
    # Shifts by all bits or more are undefined in C.
    "shift_left": (
        "<T> a, <T> b",
        "const <T> by = ((b < (<T>)(0)) | (b >= (<T>)(<B>))) ? (<T>)(0) : b;\n"
        "    return (by == b) ? (<T>)(a << by) : (<T>)(0);",
    ),
    "shift_right": (
        "<T> a, <T> b",
        "const <T> by = ((b < (<T>)(0)) | (b >= (<T>)(<B>))) ? (<T>)(<B> - 1) : b;\n    return a >> by;",
    ),
    "shift_right_unsigned": (
        "<T> a, <T> b",
        "const <T> by = (b >= (<T>)(<B>)) ? (<T>)(0) : b;\n    return (by == b) ? (<T>)(a >> by) : (<T>)(0);",
    ),
    "fmod": ("<T> a, <T> b", "return $fmod(a, b);"),
    "tanh": ("<T> x", "return $tanh(x);"),
    "erf": ("<T> x", "return $erf(x);"),
    "erfc": ("<T> x", "return $erfc(x);"),
    "tanh_float32": _ratio(
        9.0106,
        (1.0, 0.1368036121, 0.0038688865, 2.80187487e-05, 3.06122239e-08, -1.22236847e-11),
        (1.0, 0.4701369405, 0.0272478834, 0.00039396170, 1.28815611e-06),
    ),
    "erf_float32": _ratio(
        3.9192,
        (1.1283792257, 0.1851342022, 0.0542431101, 0.0038384849, 0.00037672615, 4.60836691e-06, -1.27951259e-08),
        (1.0, 0.4974043369, 0.1138726696, 0.0154296561, 0.0013014531, 6.23910310e-05),
    ),
    # exp(-x**2) times a polynomial in u = 1 / (1 + |x| / 2); the square is split so that its rounding does not grow
    # with x: near = k / 256 has an exact square, and four terms are enough for exp of the rest, which is below 0.05.
    "erfc_float32": (
        "<T> x",
        "const <T> size = $fabs(x);\n"
        "    const <T> u = (<T>)(1) / ((<T>)(1) + size * (<T>)(0.5f));\n"
        f"    const <T> sum = {_horner(_ERFCX, 'u')};\n"
        "    const <T> near = $rint(size * (<T>)(256)) * (<T>)(0.00390625f);\n"
        "    const <T> rest = (size - near) * (size + near);\n"
        f"    const <T> more = {_horner((1.0, -1.0, 0.5, -0.16666667), 'rest')};\n"
        "    const <T> tail = (size > (<T>)(11)) ? (<T>)(0) : $exp(-(near * near)) * (more * (u * sum));\n"
        "    return (x < (<T>)(0)) ? (<T>)(2) - tail : tail;",
    ),
}
"""Functions that formulas call, as (parameters, body); all return ``<T>``. One with a dtype in its name is taken for
that dtype: the vector forms of these builtins are many times slower than a rational function. The coefficients were
fitted to the functions' values by least squares, weighted until the largest relative error was least; they are good to
7 units in the last place.
"""


def formula(op: str, letter: str) -> str | None:
    """The formula of *op* for dtypes that *letter* stands for; None if it has none."""
    found = FORMULAS.get(op)
    if found is None or isinstance(found, str):
        return found
    return found.get(letter) or found.get("*")


def is_cheap(op: str, letter: str) -> bool:
    """Whether *op* is a few instructions on dtypes of that letter: no function is called, and nothing divided.

    >>> is_cheap("mul", "f"), is_cheap("exp", "f"), is_cheap("div", "f")
    (True, False, False)
    """
    text = formula(op, letter) or "@"
    return not any(mark in text for mark in ("$", "@", "/"))
