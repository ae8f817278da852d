"""Random numbers: the same on every backend, from the words that `polyad.random.philox` defines in plain Python.

The formulas of the reference are written from that module's table. Generators here give the same words at each draw, so
that a call can be repeated.
"""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import bfloat16, bool_, float16, float32, float64, int64, uint8
from polyad.interop.numpy import numpy_dtype
from polyad.random import Generator, philox

from ...sample import DTYPE, INTEGERS, REAL_FLOATS, ErrorCase, OnlyShape, Sample, as_int64, same

OFFSET = 2**32 - 3
"""Where draws begin: the block number overflows its first word within the draw."""


class Repeating(Generator):
    """A generator that does not move on."""

    __slots__ = ()

    def take(self, words):
        return self.initial_seed(), OFFSET


def source():
    return Repeating().manual_seed(2**63 + 4711)


def words(count):
    return np.array(philox.words(count, 2**63 + 4711, OFFSET), np.uint64)


def numbers_of_53_bits(count):
    pairs = words(2 * count).reshape(count, 2)
    return (pairs[:, 0] >> 5).astype(float) * 2**26 + (pairs[:, 1] >> 6).astype(float)


def uniform(shape, low, high, generator, dtype):
    count = math.prod(shape)
    if dtype is float64:
        return (numbers_of_53_bits(count) * 2.0**-53 * (high - low) + low).reshape(shape)
    used = {float32: 24, float16: 11, bfloat16: 8}[dtype]
    made = (words(count) >> (32 - used)).astype(np.float32) * np.float32(2.0**-used)
    return (made * np.float32(high - low) + np.float32(low)).astype(numpy_dtype(dtype)).astype(float).reshape(shape)


def folded(shape, low, high, generator, dtype):
    """Numbers of 64 bits; those outside of [low, high) are moved by its length."""
    pairs = words(2 * math.prod(shape)).reshape(-1, 2).tolist()
    numbers = [first * 2**32 + second - 2**63 for first, second in pairs]
    moved = [number + (high - low) * ((number < low) - (number >= high)) for number in numbers]
    return np.array(moved, np.int64).reshape(shape)


def normal(shape, mean, std, generator, dtype):
    count = math.prod(shape)
    pairs = -(-count // 2)
    if dtype is float64:
        u, v = numbers_of_53_bits(2 * pairs).reshape(pairs, 2).T * 2.0**-53 + [[2.0**-54], [0]]
    else:
        u, v = words(2 * pairs).reshape(pairs, 2).T.astype(np.float32) * np.float32(2.0**-32) + np.array(
            [[2.0**-33], [0]], np.float32
        )
    u, v = u.astype(float), v.astype(float)
    made = np.sqrt(-2 * np.log(u))[:, None] * np.stack([np.cos(2 * np.pi * v), np.sin(2 * np.pi * v)], 1)
    return (made.ravel()[:count] * std + mean).reshape(shape)


def exponential(shape, rate, generator, dtype):
    count = math.prod(shape)
    if dtype is float64:
        pairs = words(2 * count).reshape(count, 2)
        made = ((pairs[:, 0] >> 6).astype(float) * 2**26 + (pairs[:, 1] >> 6).astype(float)) * 2.0**-52 + 2.0**-53
    else:
        made = (words(count) >> 9).astype(float) * 2.0**-23 + 2.0**-24
    return (-np.log(made) / rate).reshape(shape)


def keys(count):
    return [int(high) * 2**31 + int(low) // 2 for high, low in words(2 * count).reshape(count, 2)]


def integers(shape, low, high, generator, dtype):
    count, span = math.prod(shape), high - low
    made = [int(word) * span >> 32 for word in words(count)] if span <= 2**24 else [key % span for key in keys(count)]
    return (np.array(made, np.int64).reshape(shape) + low).astype(np.int64)


def chances(shape, p, generator):
    return (words(math.prod(shape)) < np.uint64(round(p * 2**32))).reshape(shape)


def permutation(n, generator, dtype):
    return np.array(sorted(range(n), key=keys(n).__getitem__), np.int64)


def drawn(op, name, *params, reference, dtypes=REAL_FLOATS, result=same, steps=0, magnitude=None, expand=True):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (*params, source()),
        reference=reference,
        kwargs={"dtype": DTYPE},
        dtypes=dtypes,
        result=result,
        steps=steps,
        magnitude=magnitude,
    )


def words_from(begin, ahead, count):
    drawn = [
        philox.words(count, int(low) + (int(high) << 32), (int(offset) + ahead) % 2**64)
        for low, high, offset in begin.reshape(-1, 3)
    ]
    return np.array(drawn, np.int64).reshape(*begin.shape[:-1], count)


SHAPE = (7, 5)

SAMPLES = [
    *(
        Sample(
            op="_philox_bits",
            name=name,
            inputs=lambda make, given=given: given,
            reference=lambda shape, seed, offset: np.array(
                philox.words(math.prod(shape), seed, offset), np.int64
            ).reshape(shape),
            dtypes=(int64,),
        )
        for name, given in (
            ("zeros", ((8,), 0, 0)),
            ("large seed", ((3, 5), 2**64 - 1, 1)),
            ("block number past one word", ((33,), 5, 2**32 - 3)),
            ("block number wraps", ((21,), 5, 2**64 - 2)),
            ("nothing", ((0, 3), 1, 1)),
            ("many", ((70001,), 9, 0)),
        )
    ),
    *(
        Sample(
            op="_philox_bits_from",
            name=name,
            inputs=lambda make, given=given: (np.array(given[0], np.int64), *given[1:]),
            reference=words_from,
            dtypes=(int64,),
            expand=False,
        )
        for name, given in (
            ("zeros", ((0, 0, 0), 0, 8)),
            ("large seed", ((2**32 - 1, 2**32 - 1, 1), 3, 15)),
            ("block number past one word", ((5, 0, 2**32 - 5), 2, 33)),
            ("block number wraps", ((5, 0, -4), 2, 21)),
            ("several draws", (((1, 2, 3), (4, 0, 2**32 - 5)), 5, 6)),
            ("nothing", ((1, 0, 1), 1, 0)),
            ("no draws", (np.zeros((0, 3)), 1, 4)),
        )
    ),
    drawn("_uniform", "from 0 to 1", SHAPE, 0, 1, reference=uniform),
    drawn(
        "_uniform", "other bounds", SHAPE, -2.0, 3.0, reference=uniform, steps=2, magnitude=lambda *given, **kwargs: 5.0
    ),
    drawn("_uniform", "nothing", (0, 2), 0, 1, reference=uniform),
    drawn("_uniform", "one number", (), 0, 1, reference=uniform),
    drawn("_normal", "standard", SHAPE, 0, 1, reference=normal, steps=8, magnitude=lambda *given, **kwargs: 8.0),
    drawn(
        "_normal",
        "mean and deviation",
        SHAPE,
        3.0,
        0.5,
        reference=normal,
        steps=10,
        magnitude=lambda *given, **kwargs: 8.0,
    ),
    drawn("_exponential", "rate", SHAPE, 2.0, reference=exponential, steps=4, magnitude=lambda *given, **kwargs: 8.0),
    drawn("_integers", "few", SHAPE, 0, 10, reference=integers, dtypes=INTEGERS),
    drawn("_integers", "negative", SHAPE, -5, 2**20, reference=integers, dtypes=(int64, float32, float64)),
    drawn("_integers", "many", SHAPE, -3, 2**40, reference=integers, dtypes=(int64,)),
    drawn(
        "_integers",
        "all",
        SHAPE,
        0,
        2**63,
        reference=lambda shape, low, high, generator, dtype: np.array(keys(35), np.int64).reshape(shape),
        dtypes=(int64,),
    ),
    *(
        drawn(
            "_integers", f"more than 2**63, from {low} to {high}", SHAPE, low, high, reference=folded, dtypes=(int64,)
        )
        for low, high in ((-(2**63), 2**63), (-(2**63), 2**63 - 1), (-(2**62), 2**63), (-(2**63) + 5, 2**61))
    ),
    drawn("_permutation", "some", 50, reference=permutation, dtypes=(int64,)),
    drawn("_permutation", "none", 0, reference=lambda n, generator, dtype: np.zeros(0, np.int64), dtypes=(int64,)),
    *(
        Sample(
            op="_chances",
            name=f"p = {p}",
            inputs=lambda make, p=p: (SHAPE, p, source()),
            reference=chances,
            dtypes=(bool_,),
        )
        for p in (0, 0.3, 1)
    ),
    *(
        Sample(
            op=op,
            name=name,
            inputs=lambda make, given=given: given,
            reference=reference,
            dtypes=dtypes,
            kwargs={"dtype": DTYPE, "generator": source()},
            steps=10,
            magnitude=lambda *given, **kwargs: 8.0,
        )
        for op, name, given, dtypes, reference in (
            ("rand", "sizes", (2, 3), REAL_FLOATS, lambda *size, **kwargs: uniform(size, 0, 1, **kwargs)),
            ("randn", "a tuple", ((2, 3),), REAL_FLOATS, lambda size, **kwargs: normal(size, 0, 1, **kwargs)),
            (
                "randint",
                "from 0",
                (5, (2, 3)),
                (int64, float32),
                lambda high, size, **kwargs: integers(size, 0, high, **kwargs),
            ),
            (
                "randint",
                "bounds",
                (-5, 5, (4,)),
                (int64, float32),
                lambda low, high, size, **kwargs: integers(size, low, high, **kwargs),
            ),
            ("randperm", "numbers", (9,), (int64, float32), permutation),
            (
                "normal",
                "numbers",
                (1.0, 2.0, (3,)),
                (float32, float64),
                lambda mean, std, size, **kwargs: normal(size, mean, std, **kwargs),
            ),
        )
    ),
    *(
        Sample(
            op=op,
            name="like",
            inputs=lambda make, more=more: (make((2, 3)), *more),
            reference=lambda *given, **kwargs: OnlyShape((2, 3)),
            kwargs={"generator": source()},
            dtypes=(float32, float64),
        )
        for op, more in (("rand_like", ()), ("randn_like", ()), ("randint_like", (4,)))
    ),
    Sample(
        op="bernoulli",
        name="certain",
        inputs=lambda make: (make.mask((4, 5)).astype(numpy_dtype(make.dtype)),),
        reference=lambda p, generator: p,
        kwargs={"generator": source()},
        dtypes=REAL_FLOATS,
    ),
    Sample(
        op="multinomial",
        name="only one is possible",
        inputs=lambda make: (np.eye(4)[[2, 0, 3]].astype(numpy_dtype(make.dtype)), 5, True),
        reference=lambda weights, *rest, generator: np.repeat([[2], [0], [3]], 5, 1),
        kwargs={"generator": source()},
        dtypes=(float32, float64),
        result=as_int64,
        expand=False,
    ),
    Sample(
        op="multinomial",
        name="all of them",
        inputs=lambda make: (make.positive((3, 4)), 4),
        reference=lambda *given, **kwargs: OnlyShape((3, 4)),
        kwargs={"generator": source()},
        holds=lambda out, weights, *rest, **kwargs: np.testing.assert_array_equal(
            np.sort(out, -1), np.tile(np.arange(4), (3, 1))
        ),
        dtypes=(float32, float64),
        result=as_int64,
    ),
]

ERRORS = [
    ErrorCase(
        op="rand", name="negative size", call=lambda op, tensor: op(2, -1), raises=RuntimeError, match=r"rand: size -1"
    ),
    ErrorCase(
        op="randn",
        name="negative size",
        call=lambda op, tensor: op(2, -1),
        raises=RuntimeError,
        match=r"randn: size -1",
    ),
    ErrorCase(
        op="rand",
        name="integers",
        call=lambda op, tensor: op(2, dtype=int64),
        raises=RuntimeError,
        match=r"rand: int64",
    ),
    ErrorCase(
        op="rand",
        name="generator",
        call=lambda op, tensor: op(2, generator=3),
        raises=TypeError,
        match=r"rand: generator is int",
    ),
    ErrorCase(
        op="normal",
        name="a negative std among many",
        call=lambda op, tensor: op(0.0, tensor(2000).index_fill(0, tensor(1, dtype=int64) + 1999, -1.0)),
        raises=RuntimeError,
        match="normal: std holds numbers that are not 0 or more",
    ),
    ErrorCase(
        op="normal",
        name="a negative number for std",
        call=lambda op, tensor: op(tensor(3), -1.0),
        raises=RuntimeError,
        match=r"normal: std -1\.0 is not 0 or more",
    ),
    ErrorCase(
        op="randint",
        name="empty range",
        call=lambda op, tensor: op(5, 5, (2,)),
        raises=RuntimeError,
        match=r"randint: low 5 must be below high 5",
    ),
    ErrorCase(
        op="randint",
        name="dtype too small",
        call=lambda op, tensor: op(0, 300, (2,), dtype=uint8),
        raises=RuntimeError,
        match=r"randint: uint8 holds \[0, 255\]",
    ),
    ErrorCase(
        op="randint",
        name="bound of a float",
        call=lambda op, tensor: op(0, 2.5, (2,)),
        raises=TypeError,
        match=r"randint: high is 2\.5",
    ),
    ErrorCase(
        op="randperm", name="negative", call=lambda op, tensor: op(-1), raises=RuntimeError, match=r"randperm: n -1"
    ),
    ErrorCase(
        op="normal",
        name="negative deviation",
        call=lambda op, tensor: op(0.0, -1.0, (2,)),
        raises=RuntimeError,
        match=r"normal: std -1\.0",
    ),
    ErrorCase(
        op="bernoulli",
        name="no probability",
        call=lambda op, tensor: op(tensor(3) * 0 + 2),
        raises=RuntimeError,
        match=r"bernoulli: input\[0\] = 2\.0 is not in \[0, 1\]\n.*input",
        fused=True,
    ),
    ErrorCase(
        op="bernoulli",
        name="p",
        call=lambda op, tensor: op(tensor(3), 1.5),
        raises=RuntimeError,
        match=r"bernoulli: p 1\.5",
    ),
    ErrorCase(
        op="multinomial",
        name="too many",
        call=lambda op, tensor: op(tensor(3).abs() + 1, 4),
        raises=RuntimeError,
        match=r"multinomial: 4 samples of 3 positions\n.*input",
    ),
    ErrorCase(
        op="multinomial",
        name="negative weights",
        call=lambda op, tensor: op(-tensor(3).abs() - 1, 2),
        raises=RuntimeError,
        match=r"multinomial: weights must be 0 or more.*\n.*input",
    ),
]
