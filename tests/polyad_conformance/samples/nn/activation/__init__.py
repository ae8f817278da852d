"""Activation functions and softmax."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....sample import REAL_FLOATS, ErrorCase, Sample

SHAPES = {"2-d": (3, 4), "0-d": (), "1-d": (37,)}


def functional(op, reference, draw, *args, prefix="", special=True, shapes=SHAPES, dtypes=REAL_FLOATS, **sample):
    """Samples of an elementwise function of nn.functional; *args* follow the input."""
    return [
        Sample(
            op=f"nn.functional.{op}",
            name=prefix + name,
            inputs=lambda make, shape=shape: (draw(make, shape), *args),
            reference=reference,
            dtypes=dtypes,
            special=special,
            gradient=True,
            **sample,
        )
        for name, shape in shapes.items()
    ]


def refused(op, name, call, raises, match):
    """An error case of a function of nn.functional; its message begins with the function's name."""
    return ErrorCase(op=f"nn.functional.{op}", name=name, call=call, raises=raises, match=rf"{op}: {match}")


def in_place(samples, errors, *names):
    """Samples and error cases of the twins ``elu_`` of functions of nn.functional, from one of the function's and from
    all.
    """
    first = {sample.op: sample for sample in reversed(samples)}
    return [
        replace(
            first[f"nn.functional.{name}"],
            op=f"nn.functional.{name}_",
            name="",
            call=lambda op, x, *rest, **named: op(x.clone(), *rest, **named),
        )
        for name in names
    ], [
        replace(case, op=f"{case.op}_", match=case.match.replace(f"{name}:", f"{name}_?:", 1))
        for name in names
        for case in errors
        if case.op == f"nn.functional.{name}"
    ]


def away_from_zero(make, shape):
    return make.nonzero(shape)


def anywhere(make, shape):
    return make(shape)


def off_the_bounds(make, shape):
    """Odd multiples of 1/8, so that no element lies on a bound where the slope jumps."""
    return np.asarray(make.distinct(shape) + np.asarray(0.125).astype(make(()).dtype))
