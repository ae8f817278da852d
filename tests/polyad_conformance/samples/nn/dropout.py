"""Dropout: with a generator that gives the same words at each draw, it is a product with a known mask."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, bool_, float16, float32, float64, int64

from ...sample import FLOATS, ErrorCase, OnlyShape, Sample, always, same
from ..random.sampling import chances, source


def dropped(x, p, generator):
    kept = chances(x.shape, 1 - p, generator)
    return np.where(kept, x / (1 - p), 0 * x), kept


def zeroed(shape):
    """That each of the channels, of which *shape* says where they are, is 0 or the input's times 4 / 3."""

    def holds(result, x, *rest):
        scales = result.astype(float) / x.astype(float)
        lasting = np.broadcast_to(scales[tuple(slice(0, size) for size in shape)], x.shape)
        np.testing.assert_allclose(scales, lasting, rtol=0.02)
        assert np.all((scales == 0) | (np.abs(scales - 4 / 3) < 0.02))

    return holds


def mapped(result, x):
    """That each element is what alpha dropout with p 0.25 makes of it, or of what was dropped."""
    floor, p = -1.7580993408473766, 0.25
    scale = ((1 - p) * (1 + p * floor**2)) ** -0.5
    kept, dropped = scale * x.astype(float) - scale * p * floor, scale * floor - scale * p * floor
    result = result.astype(float)
    assert np.all(np.minimum(np.abs(result - kept), np.abs(result - dropped)) < 0.05)


SAMPLES = [
    Sample(
        op="_dropout",
        name=f"p = {p}",
        inputs=lambda make, p=p: (make((5, 7)), p, source()),
        reference=dropped,
        dtypes=FLOATS,
        result=(same, always(bool_)),
        gradient=(0,),
        steps=3,
    )
    for p in (0.0, 0.25, 0.9)
] + [
    Sample(
        op="nn.functional.dropout",
        name="not in training",
        inputs=lambda make: (make((3, 4)), 0.5, False),
        reference=lambda x, p, training: x,
        gradient=(0,),
        aliasing="view",
    ),
    Sample(
        op="nn.functional.dropout",
        name="certain",
        inputs=lambda make: (make((3, 4)), 1.0),
        reference=lambda x, p: np.zeros_like(x),
        dtypes=(*FLOATS, int64, bool_),
        gradient=(0,),
        steps=1,
    ),
    *[
        Sample(
            op=f"nn.functional.{op}",
            name=name,
            inputs=lambda make, shape=shape, p=p, training=training: (make(shape), p, training),
            reference=lambda x, p, training: 0 * x if training else x,
            dtypes=(float32, float64),
            gradient=(0,),
            aliasing="none" if training else "view",
        )
        for op, shape in (
            ("dropout1d", (2, 3, 4)),
            ("dropout2d", (2, 3, 4, 2)),
            ("dropout3d", (2, 3, 4, 2)),
            ("alpha_dropout", (2, 3, 4)),
            ("feature_alpha_dropout", (2, 3, 4)),
        )
        for name, p, training in (("not in training", 0.5, False), ("certain", 1.0, True))
    ],
    *[
        Sample(
            op=f"nn.functional.{op}",
            name=f"draws of {len(shape)} dimensions",
            inputs=lambda make, shape=shape: (make.nonzero(shape), 0.25, True),
            reference=lambda x, p, training: OnlyShape(x.shape),
            dtypes=(float16, bfloat16, float32, float64),
            holds=holds,
        )
        for op, shape, holds in (
            ("dropout1d", (5, 7, 3), zeroed((5, 7, 1))),
            ("dropout1d", (7, 3), zeroed((7, 1))),
            ("dropout2d", (5, 7, 3, 2), zeroed((5, 7, 1, 1))),
            ("dropout3d", (5, 7, 3, 1, 2), zeroed((5, 7, 1, 1, 1))),
            ("alpha_dropout", (5, 7), lambda result, x, *rest: mapped(result, x)),
            ("feature_alpha_dropout", (5, 7, 2), lambda result, x, *rest: mapped(result, x)),
        )
    ],
]

ERRORS = [
    ErrorCase(
        op="nn.functional.dropout",
        name="p",
        call=lambda op, tensor: op(tensor(3), 1.5),
        raises=ValueError,
        match=r"dropout: p 1\.5 is not in \[0, 1\]\n.*input",
    ),
    ErrorCase(
        op="nn.functional.dropout",
        name="p of a string",
        call=lambda op, tensor: op(tensor(3), "0.5"),
        raises=TypeError,
        match=r"dropout: p is str, not a number",
    ),
    ErrorCase(
        op="nn.functional.dropout",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"dropout: input is int64",
    ),
    *[
        ErrorCase(
            op=f"nn.functional.{op}",
            name=name,
            call=call,
            raises=raises,
            match=rf"{op}: {match}",
        )
        for op in ("dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
        for name, call, raises, match in (
            ("p", lambda op, tensor: op(tensor(3, 2), -0.5), ValueError, r"p -0\.5 is not in \[0, 1\]\n.*input"),
            (
                "integers",
                lambda op, tensor: op(tensor(2, 3, dtype=int64), 0.5, True),
                RuntimeError,
                "input is int64",
            ),
        )
    ],
    ErrorCase(
        op="nn.functional.dropout1d",
        name="dimensions",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"dropout1d: input has 1 dimensions, not 2 or 3\n.*input",
    ),
    *[
        ErrorCase(
            op=f"nn.functional.{op}",
            name="no channels",
            call=lambda op, tensor: op(tensor(3), 0.5, True),
            raises=RuntimeError,
            match=rf"{op}: input of 1 dimensions has no channels\n.*input",
        )
        for op in ("dropout2d", "feature_alpha_dropout")
    ],
]
