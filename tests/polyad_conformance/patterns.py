"""Samples that many ops share: each function returns a list, to be added to a family's ``SAMPLES``.

Every keyword that is not named here goes to `Sample`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from polyad.base.dtypes import DType, int64
from polyad.interop.numpy import numpy_dtype, polyad_dtype

from .sample import DTYPE, REAL_FLOATS, ErrorCase, Maker, Sample

Draw = Callable[..., Any]


def draw(make: Maker, shape: Iterable[int]) -> Any:
    """The default way to draw an input: ``make(shape)``."""
    return make(shape)


def unary(
    op: str, reference: Callable[..., Any], *, draw: Draw = draw, special: bool = True, **sample: Any
) -> list[Sample]:
    """An elementwise op of one tensor: several dimensions, one, none, no elements, and a size past every vector width.

    *draw* makes an input from (make, shape); the default takes the whole range of `Maker.__call__`.
    """
    shapes = {"2-d": (3, 4), "0-d": (), "empty": (0, 3), "1-d": (37,), "4-d": (2, 1, 3, 2)}
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (draw(make, shape),),
            reference=reference,
            special=special,
            **sample,
        )
        for name, shape in shapes.items()
    ]


def binary(
    op: str,
    reference: Callable[..., Any],
    *,
    draw: Draw = draw,
    draw_other: Draw | None = None,
    number: float | int | None = 2,
    special: bool = True,
    **sample: Any,
) -> list[Sample]:
    """An elementwise op of two tensors that broadcast; *number* is tried as a Python number on the right
    (None: not taken).
    """
    other = draw_other or draw
    shapes = {
        "equal shapes": ((3, 4), (3, 4)),
        "row": ((4, 4), (4,)),  # square, so that taking it for a column is a wrong result and no error
        "outer": ((3, 1), (1, 4)),
        "0-d right": ((2, 3), ()),
        "both 0-d": ((), ()),
        "empty": ((0, 3), (3,)),
        "1-d": ((37,), (37,)),
        "3-d": ((2, 1, 3), (2, 1)),
    }
    samples = [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, left=left, right=right: (draw(make, left), other(make, right)),
            reference=reference,
            special=special,
            **sample,
        )
        for name, (left, right) in shapes.items()
    ]
    if number is not None:
        samples.append(
            Sample(
                op=op, name="number", inputs=lambda make: (draw(make, (2, 3)), number), reference=reference, **sample
            )
        )
    return samples


def reduction(
    op: str,
    reference: Callable[..., Any],
    *,
    draw: Draw = draw,
    several: bool = True,
    empty: bool = True,
    whole: bool = True,
    length: bool = True,
    **sample: Any,
) -> list[Sample]:
    """An op with ``dim`` and ``keepdim``; *reference* is called as ``reference(x, dim=None, keepdim=False)``.

    *several* says whether dim may be a tuple, *whole* whether it may be left out, *empty* whether no elements reduce to
    something, *length* whether rounding errors add up over the reduced elements.
    """
    kwargs: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
        "last dim": ((3, 4), {"dim": -1}),
        "first dim": ((3, 4), {"dim": 0}),
        "middle dim, kept": ((2, 3, 4), {"dim": 1, "keepdim": True}),
        "1-d": ((37,), {"dim": 0}),
        "0-d": ((), {"dim": 0}),
        "no rows": ((0, 3), {"dim": 1}),
        "long": ((2, 143), {"dim": 1}),
    }
    if whole:
        kwargs |= {"whole": ((2, 3, 4), {}), "whole 0-d": ((), {})}
    if several:
        kwargs |= {
            "two dims": ((2, 3, 4), {"dim": (0, 2)}),
            "two dims, kept": ((2, 3, 4), {"dim": (0, -1), "keepdim": True}),
        }
    if empty:
        kwargs |= {"of nothing": ((0, 3), {"dim": 0})} | ({"whole of nothing": ((0,), {})} if whole else {})
    sample.setdefault("special", True)
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (draw(make, shape),),
            reference=reference,
            kwargs=given,
            length=max(_count(shape), 1) if length else 0,
            **sample,
        )
        for name, (shape, given) in kwargs.items()
    ]


def wide_integers(op: str, reference: Callable[..., Any], *, operands: int = 2, **sample: Any) -> Sample:
    """int64 numbers that float64 cannot tell apart; a second operand differs from the first by one at most."""

    def inputs(make: Maker) -> tuple[Any, ...]:
        values = make.random.choice([2**53 + 1, 2**62 - 3, -(2**53) - 1, -(2**62) + 3], (3, 5))
        values = values + make.random.integers(-9, 10, values.shape)
        return (values, values + make.random.integers(-1, 2, values.shape))[:operands]

    return Sample(op=op, name="wide integers", inputs=inputs, reference=reference, dtypes=(int64,), **sample)


def wrong_types(samples: list[Sample]) -> list[ErrorCase]:
    """For each public function whose first argument is a tensor: a call with a string there,
    TypeError naming the argument.

    `polyad_conformance.samples.families` adds these to every family.
    """
    cases = {}
    for sample in samples:
        if sample.op in cases or sample.op.startswith("_"):
            continue
        args = sample.inputs(Maker(np.random.default_rng(0), sample.dtypes[-1]))
        if args and isinstance(args[0], np.ndarray):
            cases[sample.op] = ErrorCase(
                op=sample.op,
                name="a string for a tensor",
                call=lambda op, tensor, sample=sample: op("text", *_placed(sample, tensor)[1:], **_kwargs(sample)),
                raises=TypeError,
                match=r"^\w+: \w+",
            )
    return list(cases.values())


def _placed(sample: Sample, tensor: Callable[..., Any]) -> list[Any]:
    dtype = sample.dtypes[-1]

    def one(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(one, value))
        return tensor(*value.shape, dtype=polyad_dtype(value.dtype)) if isinstance(value, np.ndarray) else value

    return [one(value) for value in sample.inputs(Maker(np.random.default_rng(0), dtype))]


def _kwargs(sample: Sample) -> dict[str, Any]:
    return {name: sample.dtypes[-1] if value is DTYPE else value for name, value in sample.kwargs.items()}


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def beside_a_number(
    op: str, reference: Callable[..., Any], *, dtypes: tuple[DType, ...] = REAL_FLOATS, **sample: Any
) -> Sample:
    """A sample whose number is no element of the dtype: it counts as the one that it is rounded to, which comes first
    among the elements. *reference* gets that, in the place of the number.
    """
    return Sample(
        op=op,
        name="a number that has to be rounded",
        inputs=lambda make: (np.array([0.3, 0.25, 0.35, -0.3, 0.9, 0.0]).astype(numpy_dtype(make.dtype)), 0.3),
        reference=lambda a, number: reference(a, a.flat[0]),
        dtypes=dtypes,
        **sample,
    )
