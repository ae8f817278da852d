"""Making tensors: filled with one value, in sequences, like others."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, float16, float32, float64, int64
from polyad.base.memory_formats import channels_last

from ...sample import DTYPE, EVERYTHING, INTEGERS, REAL, REAL_FLOATS, ErrorCase, OnlyShape, Sample, always

SHAPES = {"2-d": (2, 3), "0-d": (), "empty": (0, 3), "1-d": (37,)}


def filled(op, value):
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (shape,),
            reference=lambda shape, dtype: np.full(shape, value),
            kwargs={"dtype": DTYPE},
            dtypes=EVERYTHING,
        )
        for name, shape in SHAPES.items()
    ]


def full(name, shape, value, dtypes):
    return Sample(
        op="full",
        name=name,
        inputs=lambda make: (shape, value),
        reference=lambda shape, value, dtype: np.full(shape, value),
        kwargs={"dtype": DTYPE},
        dtypes=dtypes,
    )


def like(op, value, *given):
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (make(shape), *given),
            reference=lambda x, *given: np.full(x.shape, value),
            dtypes=EVERYTHING,
        )
        for name, shape in SHAPES.items()
    ]


def arange(name, *given, dtypes=REAL, steps=2):
    def reference(*given, dtype):
        start, end, step = (0, given[0], 1) if len(given) == 1 else (*given, 1)[:3]
        count = int(np.ceil((end - start) / step))
        return np.array([start + step * i for i in range(count)], np.int64 if dtype in INTEGERS else np.float64)

    return Sample(
        op="arange",
        name=name,
        inputs=lambda make: given,
        reference=reference,
        kwargs={"dtype": DTYPE},
        dtypes=dtypes,
        steps=steps,
    )


def from_data(op):
    def sample(name, data, dtypes, **kwargs):
        return Sample(
            op=op,
            name=name,
            inputs=lambda make: (data,),
            reference=lambda data, **kwargs: np.array(data),
            kwargs=kwargs,
            dtypes=dtypes,
        )

    return [
        sample("nested lists", [[1, 0], [2, 3]], EVERYTHING, dtype=DTYPE),
        sample("a number", 2, EVERYTHING, dtype=DTYPE),
        sample("nothing", [], EVERYTHING, dtype=DTYPE),
        sample("default dtype", [[1.5, 2.5]], (float32,)),
        sample("default dtype of integers", (1, 2, 3), (int64,)),
        sample("default dtype of bools", [True, False], EVERYTHING[:1]),
        Sample(
            op=op,
            name="a tensor",
            inputs=lambda make: (make((2, 3)),),
            reference=lambda x: x,
            dtypes=EVERYTHING,
            aliasing="none" if op == "tensor" else "maybe",
        ),
    ]


SAMPLES = [
    *filled("zeros", 0),
    *filled("ones", 1),
    full("an integer", (2, 3), 3, EVERYTHING),
    full("0-d", (), 5, EVERYTHING),
    full("empty", (3, 0), 5, EVERYTHING),
    full("a fraction", (2, 3), 0.1, REAL_FLOATS),
    full("infinity", (2, 3), float("-inf"), REAL_FLOATS),
    full("NaN", (4,), float("nan"), REAL_FLOATS),
    full("a large integer", (4,), 2**62 + 1, (int64,)),
    *like("zeros_like", 0),
    Sample(
        op="zeros_like",
        name="channels last",
        inputs=lambda make: (make((2, 3, 4, 2)),),
        reference=lambda x, memory_format: np.zeros_like(x),
        kwargs={"memory_format": channels_last},
        dtypes=EVERYTHING,
    ),
    *like("ones_like", 1),
    *like("full_like", 3, 3),
    Sample(
        op="empty",
        inputs=lambda make: ((2, 3),),
        reference=lambda shape, dtype: OnlyShape(shape),
        kwargs={"dtype": DTYPE},
        dtypes=EVERYTHING,
    ),
    Sample(
        op="empty",
        name="0-d",
        inputs=lambda make: ((),),
        reference=lambda shape, dtype: OnlyShape(shape),
        kwargs={"dtype": DTYPE},
        dtypes=EVERYTHING,
    ),
    Sample(
        op="empty_like", inputs=lambda make: (make((2, 3)),), reference=lambda x: OnlyShape(x.shape), dtypes=EVERYTHING
    ),
    arange("an end", 5),
    arange("an interval", 2, 7),
    arange("steps", 1, 20, 3),
    arange("steps past the end", 0, 10, 4),
    arange("downwards", 10, 3, -2),
    arange("nothing", 3, 3),
    arange("long", 37),
    arange("fractions", 0.5, 3.0, 0.25, dtypes=REAL_FLOATS),
    arange("fractions that round", 0, 1, 0.1, dtypes=(float16, bfloat16, float32, float64), steps=4),
    Sample(
        op="range",
        inputs=lambda make: (1, 10, 3),
        reference=lambda start, end, step, dtype: np.array([1, 4, 7, 10]),
        kwargs={"dtype": DTYPE},
        dtypes=REAL,
    ),
    Sample(
        op="range",
        name="default dtype",
        inputs=lambda make: (0, 1, 0.25),
        reference=lambda start, end, step: np.array([0, 0.25, 0.5, 0.75, 1]),
        dtypes=(float32,),
    ),
    Sample(op="arange", name="default dtype", inputs=lambda make: (4,), reference=np.arange, dtypes=(int64,)),
    Sample(
        op="arange",
        name="default dtype of a float",
        inputs=lambda make: (0.0, 1.0, 0.25),
        reference=np.arange,
        dtypes=(float32,),
    ),
    Sample(
        op="empty_strided",
        inputs=lambda make: ((2, 3), (1, 4)),
        reference=lambda shape, strides, dtype: OnlyShape(shape),
        kwargs={"dtype": DTYPE},
        dtypes=EVERYTHING,
    ),
    Sample(
        op="empty_permuted",
        inputs=lambda make: ((2, 3, 4), (1, 0, 2)),
        reference=lambda shape, order, dtype: OnlyShape(shape),
        kwargs={"dtype": DTYPE},
        dtypes=EVERYTHING,
    ),
    *from_data("tensor"),
    *from_data("as_tensor"),
    *from_data("asarray"),
    Sample(
        op="scalar_tensor",
        inputs=lambda make: (3,),
        reference=lambda s, dtype: np.array(s),
        kwargs={"dtype": DTYPE},
        dtypes=EVERYTHING,
    ),
    Sample(
        op="full",
        name="default dtype",
        inputs=lambda make: ((2,), True),
        reference=np.full,
        result=always(EVERYTHING[0]),
        dtypes=EVERYTHING[:1],
    ),
]

ERRORS = [
    ErrorCase(
        op="zeros", name="negative size", call=lambda op, tensor: op(2, -1), raises=RuntimeError, match=r"zeros: .*-1"
    ),
    ErrorCase(
        op="ones",
        name="size that is no integer",
        call=lambda op, tensor: op(2, "three"),
        raises=TypeError,
        match=r"ones: .*'three'",
    ),
    ErrorCase(
        op="empty", name="negative size", call=lambda op, tensor: op((-3,)), raises=RuntimeError, match=r"empty: .*-3"
    ),
    ErrorCase(
        op="full", name="negative size", call=lambda op, tensor: op((-3,), 1), raises=RuntimeError, match=r"full: .*-3"
    ),
    ErrorCase(
        op="full",
        name="value that is no number",
        call=lambda op, tensor: op((3,), "one"),
        raises=TypeError,
        match=r"full: fill_value",
    ),
    ErrorCase(
        op="range",
        name="step that leads away",
        call=lambda op, tensor: op(0, 3, -1),
        raises=RuntimeError,
        match=r"range: step -1",
    ),
    ErrorCase(
        op="arange",
        name="step of 0",
        call=lambda op, tensor: op(0, 3, 0),
        raises=(RuntimeError, ValueError),
        match=r"arange: step 0",
    ),
    ErrorCase(
        op="arange",
        name="step that leads away",
        call=lambda op, tensor: op(0, 3, -1),
        raises=(RuntimeError, ValueError),
        match=r"arange: step -1",
    ),
    *[
        ErrorCase(
            op=op, name="no tensor", call=lambda op, tensor: op([1, 2]), raises=TypeError, match=rf"{op}: input is list"
        )
        for op in ("zeros_like", "ones_like", "empty_like")
    ],
    *[
        ErrorCase(
            op=op,
            name="ragged lists",
            call=lambda op, tensor: op([[1, 2], [3]]),
            raises=ValueError,
            match=r"tensor: data",
        )
        for op in ("tensor", "as_tensor", "asarray")
    ],
    ErrorCase(
        op="tensor",
        name="text",
        call=lambda op, tensor: op(["a", "b"]),
        raises=TypeError,
        match=r"tensor: there is no dtype for str",
    ),
    ErrorCase(
        op="scalar_tensor",
        name="a list",
        call=lambda op, tensor: op([1, 2]),
        raises=(TypeError, ValueError, RuntimeError),
        match=r"(scalar_tensor: s|fill_value) is list",
    ),
    ErrorCase(
        op="empty_strided",
        name="lengths",
        call=lambda op, tensor: op((2, 3), (1,)),
        raises=(RuntimeError, ValueError),
        match=r"empty_strided: .*stride",
    ),
    ErrorCase(
        op="empty_permuted",
        name="a dimension twice",
        call=lambda op, tensor: op((2, 3), (0, 0)),
        raises=RuntimeError,
        match=r"empty_permuted: physical_layout \(0, 0\)",
    ),
    ErrorCase(
        op="full_like",
        name="no tensor",
        call=lambda op, tensor: op([1, 2], 3),
        raises=TypeError,
        match=r"full_like: input is list",
    ),
]
