"""Vectors looked up by number, and numbers as unit vectors."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, float64, int64

from ...sample import FLOATS, REAL_FLOATS, ErrorCase, Sample, as_int64


def bag_error(name, given, raises, match):
    def call(op, tensor):
        rest = dict(given)
        shape, shift, step = rest.pop("shape", (4,)), rest.pop("shift", 0), rest.pop("step", 2)
        dtype, count = rest.pop("dtype", float32), rest.pop("factors", None)
        if "offsets" not in rest:
            rest["offsets"] = tensor(2, dtype=int64) * 0 + shift
            rest["offsets"][1:] += step
        if count is not None:
            rest["per_sample_weights"] = tensor(count, dtype=dtype)
        return op(tensor(*shape, dtype=int64) * 0, tensor(5, 2), **rest)

    return "embedding_bag", name, call, raises, match


def bags(
    where, weight, offsets=None, mode="mean", per_sample_weights=None, include_last_offset=False, padding_idx=None
):
    """Bag by bag, index by index."""
    factors = np.ones(where.shape) if per_sample_weights is None else per_sample_weights
    if where.ndim == 2:
        rows = list(zip(where, factors, strict=True))
    else:
        ends = offsets[1:] if include_last_offset else [*offsets[1:], len(where)]
        rows = [(where[a:b], factors[a:b]) for a, b in zip(offsets, ends, strict=False)]
    out = np.zeros((len(rows), weight.shape[1]))
    for place, (row, factor) in enumerate(rows):
        kept = [f * weight[i] for i, f in zip(row, factor, strict=True) if padding_idx is None or i != padding_idx]
        if kept:
            out[place] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](kept, axis=0)
    return out


def bag(name, *, shape=(7,), offsets=None, factors=False, gradient=(1,), **settings):
    def inputs(make):
        where = make.index(shape, 5)
        return (where, make.distinct((5, 3)), None if offsets is None else np.array(offsets, np.int64))

    def with_factors(make):
        return (*inputs(make), None, 2.0, False, "sum", False, make.positive(shape))

    def reference(where, weight, offsets, *rest, **kwargs):
        if rest:
            return bags(where, weight, offsets, "sum", rest[-1], **kwargs)
        return bags(where, weight, offsets, **kwargs)

    return Sample(
        op="nn.functional.embedding_bag",
        name=name,
        inputs=with_factors if factors else inputs,
        reference=reference,
        kwargs=settings,
        dtypes=REAL_FLOATS,
        magnitude=lambda *given, **kwargs: 16.0,
        gradient=(1, 8) if factors else gradient,
        steps=2,
        length=12,
        expand=False,
    )


SAMPLES = [
    *[bag(mode, offsets=[0, 3, 3, 5], mode=mode) for mode in ("sum", "mean", "max")],
    bag("rows", shape=(3, 4)),
    bag("weights", offsets=[0, 2], factors=True),
    bag("padding", offsets=[0, 2, 6], padding_idx=2, mode="mean"),
    bag("last offset", offsets=[0, 2, 2, 7], mode="mean", include_last_offset=True),
    bag("last offset, weights, padding", offsets=[0, 4, 7], factors=True, padding_idx=1, include_last_offset=True),
    bag("last offset, largest", offsets=[0, 3, 7], mode="max", include_last_offset=True),
    bag("largest, padding", shape=(3, 4), padding_idx=1, mode="max"),
    bag("no bags", shape=(0,), offsets=[], mode="sum"),
    Sample(
        op="nn.functional.embedding",
        name="vectors of nothing",
        inputs=lambda make: (np.array([[1, 0], [2, 1]]), make((3, 0))),
        reference=lambda where, weight: weight[where],
        dtypes=FLOATS,
        gradient=(1,),
        expand=False,
    ),
    Sample(
        op="nn.functional.embedding",
        name="padding",
        inputs=lambda make: (np.array([[1, 0], [2, 1]]), make((3, 2)), -2),
        reference=lambda where, weight, padding: weight[where],
        dtypes=FLOATS,
        expand=False,
    ),
    *[
        Sample(
            op="nn.functional.embedding",
            name=name,
            inputs=lambda make, shape=shape: (make.index(shape, 5), make((5, 3))),
            reference=lambda where, weight: weight[where],
            dtypes=FLOATS,
            gradient=True,
            length=12,
            expand=False,
        )
        for name, shape in (("vector", (7,)), ("batch", (2, 6)), ("0-d", ()), ("nothing", (0,)))
    ],
    Sample(
        op="nn.functional.one_hot",
        inputs=lambda make: (make.index((2, 3), 4), 4),
        reference=lambda where, count: np.eye(count, dtype=np.int64)[where],
        dtypes=(int64,),
        result=as_int64,
    ),
    Sample(
        op="nn.functional.one_hot",
        name="classes counted",
        inputs=lambda make: (np.array([2, 0, 1]),),
        reference=lambda where: np.eye(3, dtype=np.int64)[where],
        dtypes=(int64,),
        result=as_int64,
        expand=False,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=f"nn.functional.{op}",
            name=f"an index of {value}",
            call=lambda op, tensor, value=value: op(tensor(2, 3, dtype=int64) * 0 + value, tensor(5, 2)),
            raises=IndexError,
            match=rf"embedding(_bag)?: input\[0(, 0)?\] = {value} is not in \[0, 5\)\n.*weight",
            fused=True,
        )
        for op in ("embedding", "embedding_bag")
        for value in (5, -1)
    ],
    *[
        ErrorCase(op=f"nn.functional.{op}", name=name, call=call, raises=raises, match=rf"{op}: {match}")
        for op, name, call, raises, match in (
            (
                "embedding",
                "padding",
                lambda op, tensor: op(tensor(2, dtype=int64) * 0, tensor(5, 2), padding_idx=5),
                IndexError,
                r"padding_idx = 5 is not in \[-5, 5\)\n.*weight",
            ),
            (
                "embedding",
                "weight of three dimensions",
                lambda op, tensor: op(tensor(2, dtype=int64) * 0, tensor(5, 2, 2)),
                RuntimeError,
                r"weight has 3 dimensions, not two\n.*weight",
            ),
            (
                "embedding",
                "max_norm of integers",
                lambda op, tensor: op(tensor(2, dtype=int64) * 0, tensor(5, 2, dtype=int64), max_norm=1.0),
                RuntimeError,
                r"max_norm changes weight, which is int64\n.*weight",
            ),
            (
                "one_hot",
                "a negative class",
                lambda op, tensor: op(tensor(2, dtype=int64) * 0 - 1),
                RuntimeError,
                ".*-1 is",
            ),
            ("one_hot", "nothing", lambda op, tensor: op(tensor(0, dtype=int64)), RuntimeError, "no elements to count"),
            bag_error("mode", {"mode": "most"}, ValueError, "mode 'most' is unknown"),
            bag_error("no offsets", {"offsets": None}, ValueError, r"offsets must be a vector"),
            bag_error("first offset", {"shift": 1}, RuntimeError, r"offsets\[0\] = 1 is not 0"),
            bag_error(
                "last offset",
                {"step": 9},
                (RuntimeError, IndexError),
                r"offsets\[1\] = 9 is not in \[offsets\[0\], 4\]",
            ),
            bag_error("offsets go down", {"step": -1}, (RuntimeError, IndexError), r"offsets\[1\] = -1 is not in"),
            bag_error("two dimensions and offsets", {"shape": (2, 2)}, ValueError, "an input of two dimensions"),
            bag_error("three dimensions", {"shape": (2, 2, 1)}, ValueError, "input has 3 dimensions"),
            bag_error("frequency of the largest", {"mode": "max", "scale_grad_by_freq": True}, ValueError, ".*largest"),
            bag_error(
                "weights of a mean", {"factors": 4}, NotImplementedError, 'per_sample_weights go with mode="sum"'
            ),
            bag_error("weights", {"factors": 3, "mode": "sum"}, ValueError, r"per_sample_weights \(3,\) are not"),
            bag_error(
                "dtype of weights",
                {"factors": 4, "mode": "sum", "dtype": float64},
                RuntimeError,
                "per_sample_weights is float64, weight float32",
            ),
        )
    ],
    ErrorCase(
        op="nn.functional.embedding_bag",
        name="past the end",
        call=lambda op, tensor: op(tensor(2, 3, dtype=int64) * 0 + 5, tensor(5, 2)),
        raises=IndexError,
        match=r"input\[\d\] = 5 is not in \[0, 5\)",
        fused=True,
    ),
    *[
        ErrorCase(
            op="nn.functional.embedding",
            name=name,
            call=lambda op, tensor, value=value: op(tensor(2, 3, dtype=int64) + value, tensor(5, 2)),
            raises=IndexError,
            match=rf"embedding: input\[0, 0\] = {value} is not in \[0, 5\)\n(.*\n)*.*weight",
            fused=True,
        )
        for name, value in (("past the end", 5), ("negative", -1))
    ],
    ErrorCase(
        op="nn.functional.embedding",
        name="input that is no integer",
        call=lambda op, tensor: op(tensor(2, dtype=float32), tensor(5, 2)),
        raises=RuntimeError,
        match=r"embedding: input is float32",
    ),
    ErrorCase(
        op="nn.functional.one_hot",
        name="a class that is not there",
        call=lambda op, tensor: op(tensor(2, dtype=int64) + 3, 3),
        raises=IndexError,
        match=r"one_hot: tensor\[0\] = 3 is not in \[0, 3\)",
    ),
]
