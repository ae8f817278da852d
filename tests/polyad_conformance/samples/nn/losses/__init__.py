"""Losses, element by element from their definitions."""

from __future__ import annotations

import numpy as np

from ....sample import REAL_FLOATS, ErrorCase, Sample


def reduced(loss, reduction="mean"):
    return {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction](loss)


def pairs(
    op,
    name,
    reference,
    low=-2.0,
    high=2.0,
    gradient=True,
    more=lambda make: (),
    inputs=None,
    magnitude=64.0,
    **settings,
):
    """A sample of a loss of two tensors (3, 5); *more* makes what follows them."""
    return Sample(
        op=f"nn.functional.{op}",
        name=name,
        inputs=inputs or (lambda make: (make((3, 5), low, high), make((3, 5), low, high), *more(make))),
        reference=lambda x, t, *rest, reduction="mean", **kwargs: reduced(reference(x, t, *rest, **kwargs), reduction),
        magnitude=lambda *given, **kwargs: magnitude,
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=gradient,
        steps=6,
        length=15,
        expand=False,
    )


def refused(op, name, call, raises, match, fused=False):
    """An error case of a function of nn.functional; its message begins with the function's name."""
    return ErrorCase(
        op=f"nn.functional.{op}", name=name, call=call, raises=raises, match=rf"{op}: {match}", fused=fused
    )


def unknown_reduction(op, *shapes, **kwargs):
    return refused(
        op,
        "reduction",
        lambda function, tensor: function(*[tensor(*shape) for shape in shapes], reduction="avg", **kwargs),
        ValueError,
        "reduction 'avg' is unknown",
    )
