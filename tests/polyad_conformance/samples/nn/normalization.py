"""Normalisation, from the definitions of mean and variance."""

from __future__ import annotations

import dataclasses

import numpy as np

from polyad.base.dtypes import bfloat16, complex128, float16, float32, float64, int64

from ...sample import FLOATS, REAL_FLOATS, ErrorCase, Sample, same
from .distance import norm


def statistics_dtype(dtype):
    """Mean and variance of half precision are float32."""
    return float32 if dtype in (float16, bfloat16) else dtype


def normalized(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def beside(channels, ndim):
    return channels.reshape((-1,) + (1,) * (ndim - 2))


def batch_axes(x):
    return (0, *range(2, x.ndim))


def affine(x, w=None, b=None):
    return (x if w is None else x * w) + (0 if b is None else b)


def batch_norm(x, w=None, b=None, eps=1e-5):
    return affine(normalized(x, batch_axes(x), eps), *(None if one is None else beside(one, x.ndim) for one in (w, b)))


def batch_norm_by(x, mean, var, w=None, b=None, training=False, momentum=0.1, eps=1e-5):
    made = (x - beside(mean, x.ndim)) / np.sqrt(beside(var, x.ndim) + eps)
    return affine(made, *(None if one is None else beside(one, x.ndim) for one in (w, b)))


def response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    out = np.empty_like(x)
    for channel in range(x.shape[1]):
        first = max(channel - size // 2, 0)
        near = np.square(x[:, first : channel + (size - 1) // 2 + 1]).sum(1) / size
        out[:, channel] = x[:, channel] / (k + alpha * near) ** beta
    return out


def trained(name, shape, affine=True, eps=0.5):
    # A large eps: otherwise the result hardly depends on the scale of the input, and its gradient is all cancellation.
    channels = shape[1:2]
    return Sample(
        op="_batch_norm",
        name=name,
        inputs=lambda make: (make(shape), make(channels) if affine else None, make(channels) if affine else None, eps),
        reference=lambda x, w, b, eps: (batch_norm(x, w, b, eps), x.mean(batch_axes(x)), x.var(batch_axes(x))),
        magnitude=lambda x, w, b, eps: 16.0,
        dtypes=REAL_FLOATS,
        result=(same, statistics_dtype, statistics_dtype),
        gradient=False,
        steps=12,
        length=int(np.prod(shape)),
    )


def functional(op, name, inputs, reference, **kwargs):
    return Sample(
        op=f"nn.functional.{op}",
        name=name,
        inputs=inputs,
        reference=reference,
        magnitude=lambda x, *rest, **settings: 16.0,
        kwargs=kwargs,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=12,
        length=32,
    )


FAR = 300


def far_from_zero(make, shape):
    """Of which the mean of squares less the square of the mean keeps no digits."""
    values = make(shape)
    return (values + np.asarray(FAR).astype(values.dtype)).astype(values.dtype)


def far(op, name, inputs, reference, **kwargs):
    """A sample of numbers far from 0: less their mean they are near 1, and what is lost where their sum and their mean
    are rounded, which are `FAR` times as large, stays.
    """
    sample = functional(op, name, inputs, reference, **kwargs)
    return dataclasses.replace(sample, magnitude=lambda x, *rest, **settings: 1.0, length=32 + 2 * FAR)


PRECISE = (float64, complex128)


def scaled(x, p=2.0, dim=1):
    return x / np.maximum(norm(x, p, dim, True), 1e-12)


SAMPLES = [
    trained("images", (3, 2, 2, 3)),
    trained("features", (5, 3)),
    trained("no weight", (3, 2, 4), affine=False),
    functional(
        "batch_norm",
        "training",
        lambda make: (make((3, 2, 4)), None, None, make((2,)), make((2,)), True),
        lambda x, mean, var, w, b, training, eps: batch_norm(x, w, b, eps),
        eps=0.5,
    ),
    functional(
        "batch_norm",
        "training, no weight",
        lambda make: (make((4, 3)), None, None),
        lambda x, mean, var, training, eps: batch_norm(x, eps=eps),
        training=True,
        eps=0.5,
    ),
    far(
        "batch_norm",
        "training, far from 0",
        lambda make: (far_from_zero(make, (3, 2, 4)), None, None),
        lambda x, mean, var, training, eps: batch_norm(x, eps=eps),
        training=True,
        eps=0.5,
    ),
    far(
        "layer_norm",
        "far from 0",
        lambda make: (far_from_zero(make, (3, 16)), (16,)),
        lambda x, shape, eps: normalized(x, (1,), eps),
        eps=0.5,
    ),
    far(
        "group_norm",
        "far from 0",
        lambda make: (far_from_zero(make, (3, 4, 5)), 2),
        lambda x, groups, eps: normalized(x.reshape(3, 2, 10), (2,), eps).reshape(3, 4, 5),
        eps=0.5,
    ),
    far(
        "instance_norm",
        "far from 0",
        lambda make: (far_from_zero(make, (3, 4, 16)),),
        lambda x, eps: normalized(x, (2,), eps),
        eps=0.5,
    ),
    functional(
        "batch_norm",
        "evaluation",
        lambda make: (make((3, 2, 2, 2)), make((2,)), make.positive((2,)), make((2,)), make((2,))),
        batch_norm_by,
    ),
    functional(
        "batch_norm",
        "evaluation, no weight",
        lambda make: (make((3, 2)), make((2,)), make.positive((2,))),
        batch_norm_by,
    ),
    functional(
        "layer_norm",
        "two dimensions",
        lambda make: (make((3, 2, 4)), (2, 4), make((2, 4)), make((2, 4))),
        lambda x, shape, w, b, eps: affine(normalized(x, (1, 2), eps), w, b),
        eps=0.5,
    ),
    functional(
        "layer_norm",
        "no weight",
        lambda make: (make((3, 5)), (5,)),
        lambda x, shape, eps: normalized(x, (1,), eps),
        eps=0.5,
    ),
    functional(
        "layer_norm",
        "one row",
        lambda make: (make((6,)), (6,), make((6,))),
        lambda x, shape, w, eps: affine(normalized(x, (0,), eps), w),
        eps=0.5,
    ),
    functional(
        "group_norm",
        "weight and bias",
        lambda make: (make((2, 4, 3)), 2, make((4,)), make((4,))),
        lambda x, groups, w, b, eps: affine(
            normalized(x.reshape(2, 2, 6), (2,), eps).reshape(2, 4, 3), w[:, None], b[:, None]
        ),
        eps=0.5,
    ),
    functional(
        "instance_norm",
        "no weight",
        lambda make: (make((2, 3, 5)),),
        lambda x, eps: normalized(x, (2,), eps),
        eps=0.5,
    ),
    functional(
        "instance_norm",
        "images, weight and bias",
        lambda make: (make((2, 3, 2, 3)), None, None, make((3,)), make((3,))),
        lambda x, mean, var, w, b, eps: affine(normalized(x, (2, 3), eps), beside(w, 4), beside(b, 4)),
        eps=0.5,
    ),
    functional(
        "instance_norm",
        "evaluation",
        lambda make: (make((2, 3, 4)), make((3,)), make.positive((3,)), make((3,)), make((3,)), False),
        batch_norm_by,
    ),
    functional("instance_norm", "no samples", lambda make: (make((0, 3, 4)),), lambda x: x),
    functional(
        "rms_norm",
        "two dimensions, weight",
        lambda make: (make((3, 2, 4)), (2, 4), make((2, 4))),
        lambda x, shape, w, eps: w * x / np.sqrt(np.square(x).mean((1, 2), keepdims=True) + eps),
        eps=0.5,
    ),
    functional(
        "rms_norm",
        "no weight",
        lambda make: (make((3, 5), 0.5, 2.0), [5]),
        lambda x, shape: x / np.sqrt(np.square(x).mean(1, keepdims=True)),
    ),
    functional(
        "rms_norm",
        "one row, no rows",
        lambda make: (make((0, 6)), (6,), make((6,))),
        lambda x, shape, w: x,
    ),
    *[
        functional(
            "local_response_norm",
            f"size {size}",
            lambda make, shape=shape, size=size: (make(shape), size),
            response_norm,
            alpha=2.0,
            beta=0.5,
            k=1.5,
        )
        for size, shape in ((3, (2, 5, 3)), (2, (1, 4, 2, 2)), (9, (2, 3, 2)))
    ],
    *[
        Sample(
            op="nn.functional.normalize",
            name=name,
            inputs=lambda make, shape=shape: (make.nonzero(shape),),
            kwargs=kwargs,
            reference=scaled,
            dtypes=FLOATS if not kwargs else PRECISE,
            gradient=True,
            steps=8,
            length=9,
        )
        for name, shape, kwargs in (
            ("rows", (3, 9), {}),
            ("p 1, two dims", (2, 3, 2), {"p": 1.0, "dim": (0, 2)}),
            ("p 3, last dim", (5,), {"p": 3.0, "dim": -1}),
        )
    ],
    Sample(
        op="nn.functional.normalize",
        name="zeros",
        inputs=lambda make: (make((2, 3)) * 0,),
        reference=scaled,
        dtypes=(float32, float64),
    ),
]

ERRORS = [
    ErrorCase(
        op="nn.functional.batch_norm",
        name="one value a channel",
        call=lambda op, tensor: op(tensor(1, 3), None, None, training=True),
        raises=ValueError,
        match=r"batch_norm: one value a channel.*\n.*input",
    ),
    ErrorCase(
        op="nn.functional.batch_norm",
        name="no statistics",
        call=lambda op, tensor: op(tensor(4, 3), None, None),
        raises=RuntimeError,
        match=r"batch_norm: evaluation needs running_mean",
    ),
    ErrorCase(
        op="nn.functional.batch_norm",
        name="weight",
        call=lambda op, tensor: op(tensor(4, 3), None, None, tensor(4), None, True),
        raises=RuntimeError,
        match=r"batch_norm: weight \(4,\).*3 channels.*\n.*input .*\n.*weight",
    ),
    ErrorCase(
        op="nn.functional.batch_norm",
        name="integers",
        call=lambda op, tensor: op(tensor(4, 3, dtype=int64), None, None, training=True),
        raises=RuntimeError,
        match=r"batch_norm: input is int64",
    ),
    ErrorCase(
        op="nn.functional.layer_norm",
        name="shape",
        call=lambda op, tensor: op(tensor(4, 3), (4,)),
        raises=RuntimeError,
        match=r"layer_norm: input \(4, 3\) does not end in normalized_shape \(4,\)\n.*input",
    ),
    ErrorCase(
        op="nn.functional.layer_norm",
        name="bias",
        call=lambda op, tensor: op(tensor(4, 3), (3,), None, tensor(4)),
        raises=RuntimeError,
        match=r"layer_norm: bias \(4,\).*\n.*input .*\n.*bias",
    ),
    ErrorCase(
        op="nn.functional.group_norm",
        name="groups",
        call=lambda op, tensor: op(tensor(4, 3, 2), 2),
        raises=RuntimeError,
        match=r"group_norm: 3 channels cannot be split into 2 groups",
    ),
    *[
        ErrorCase(op=f"nn.functional.{op}", name=name, call=call, raises=raises, match=rf"{op}: {match}")
        for op, name, call, raises, match in (
            (
                "batch_norm",
                "eps in training",
                lambda op, tensor: op(tensor(4, 3), None, None, training=True, eps=0.0),
                ValueError,
                r"eps 0\.0 must be above 0",
            ),
            (
                "batch_norm",
                "momentum",
                lambda op, tensor: op(tensor(4, 3), None, None, training=True, momentum=None),
                TypeError,
                "momentum is None",
            ),
            (
                "batch_norm",
                "dtypes",
                lambda op, tensor: op(tensor(4, 3), None, None, tensor(3, dtype=float64), training=True),
                RuntimeError,
                r"weight is float64 beside an input of float32\n.*input .*\n.*weight",
            ),
            (
                "layer_norm",
                "dtypes of weight and bias",
                lambda op, tensor: op(tensor(4, 3, dtype=float16), (3,), tensor(3), tensor(3, dtype=float16)),
                RuntimeError,
                r"weight is float32 beside an input of float16\n.*input .*\n.*weight .*\n.*bias",
            ),
            (
                "group_norm",
                "one value a group",
                lambda op, tensor: op(tensor(1, 4), 4),
                ValueError,
                r"one value a group.*\n.*input",
            ),
            (
                "instance_norm",
                "one value a channel",
                lambda op, tensor: op(tensor(4, 3, 1)),
                ValueError,
                r"input \(4, 3, 1\) has one value a channel.*\n.*input",
            ),
            (
                "instance_norm",
                "one statistic",
                lambda op, tensor: op(tensor(4, 3, 2), tensor(3)),
                ValueError,
                r"running_mean and running_var go together",
            ),
            (
                "instance_norm",
                "weight",
                lambda op, tensor: op(tensor(4, 3, 2), weight=tensor(4)),
                RuntimeError,
                r"weight \(4,\).*3 channels.*\n.*input .*\n.*weight",
            ),
            (
                "layer_norm",
                "an int for a shape",
                lambda op, tensor: op(tensor(4, 3), 3),
                TypeError,
                "normalized_shape is 3",
            ),
            (
                "rms_norm",
                "shape",
                lambda op, tensor: op(tensor(4, 3), (4,)),
                RuntimeError,
                r"input \(4, 3\) does not end in normalized_shape \(4,\)\n.*input",
            ),
            (
                "rms_norm",
                "weight",
                lambda op, tensor: op(tensor(4, 3), (3,), tensor(4)),
                RuntimeError,
                r"weight \(4,\).*\n.*input .*\n.*weight",
            ),
            (
                "rms_norm",
                "integers",
                lambda op, tensor: op(tensor(4, 3, dtype=int64), (3,)),
                RuntimeError,
                "input is int64",
            ),
            (
                "local_response_norm",
                "dimensions",
                lambda op, tensor: op(tensor(4, 3), 3),
                ValueError,
                r"input has 2 dimensions.*\n.*input",
            ),
            (
                "local_response_norm",
                "size",
                lambda op, tensor: op(tensor(4, 3, 2), 0),
                RuntimeError,
                r"size 0 is below 1\n.*input",
            ),
        )
    ],
    ErrorCase(
        op="nn.functional.normalize",
        name="dim out of range",
        call=lambda op, tensor: op(tensor(3)),
        raises=IndexError,
        match=r"normalize: dim 1 is out of range",
    ),
]
