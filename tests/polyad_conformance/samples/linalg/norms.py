"""Norms of vectors and matrices."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int64

from ...matrices import each, regular, singular_values
from ...patterns import reduction
from ...sample import FLOATS, REAL_FLOATS, ErrorCase, Sample, always, as_real

WIDE = (float64, complex128)


def norm(x, p=2, dim=None, keepdim=False):
    size = np.abs(x)
    if p == math.inf:
        return size.max(dim, keepdims=keepdim)
    if p == -math.inf:
        return size.min(dim, keepdims=keepdim)
    if p == 0:
        return np.sum(size != 0, axis=dim, keepdims=keepdim).astype(np.float64)
    return np.sum(size**p, axis=dim, keepdims=keepdim) ** (1 / p)


def nonzero(make, shape):
    return make.nonzero(shape)


def distinct(make, shape):
    """Magnitudes that differ, none of them 0."""
    values = make.distinct(shape)
    return (np.abs(values) * 2 + (values < 0) * 0.25 + 0.5).astype(values.dtype)


def matrix_norm(a, ord="fro", dim=(-2, -1), keepdim=False):
    a = np.moveaxis(a, dim, (-2, -1))
    if ord == "fro":
        made = np.sqrt(np.sum(np.abs(a) ** 2, (-2, -1)))
    elif ord == "nuc" or abs(ord) == 2:
        values = each(singular_values)(a)
        made = values.sum(-1) if ord == "nuc" else values[..., 0 if ord > 0 else -1]
    else:
        sums = np.abs(a).sum(-2 if abs(ord) == 1 else -1)
        made = sums.max(-1) if ord > 0 else sums.min(-1)
    if keepdim:
        for one in sorted(d % a.ndim for d in dim):
            made = np.expand_dims(made, one)
    return made


def of_matrix(ord, shape=(3, 2), name="", op="linalg.matrix_norm", dtypes=WIDE, position="ord", **options):
    return Sample(
        op=op,
        name=f"{ord} {name}".strip(),
        inputs=lambda make: (regular(make, shape),),
        kwargs={position: ord, **options},
        reference=lambda a, **given: matrix_norm(a, given.pop(position), **given),
        dtypes=dtypes,
        result=as_real,
        gradient=True,
        steps=24,
        length=24,
        expand=False,
    )


def refused(op, name, call, match, raises=RuntimeError):
    return ErrorCase(op=op, name=name, call=call, raises=raises, match=match)


PRECISE = (float64, complex128)


def limited(x, p, dim, maxnorm):
    length = norm(x, p, tuple([one for one in range(x.ndim) if one != dim]), True)
    return np.where(length > maxnorm, x * (maxnorm / (length + 1e-7)), x)


SAMPLES = [
    *reduction(
        "norm",
        lambda x, dim=None, keepdim=False: norm(x, 2, dim, keepdim),
        draw=nonzero,
        dtypes=FLOATS,
        result=as_real,
        gradient=True,
        steps=4,
    ),
    *[
        Sample(
            op="norm",
            name=f"p {p}, {name}",
            inputs=lambda make: (distinct(make, (3, 4)),),
            kwargs={"p": p, **kwargs},
            reference=norm,
            dtypes=REAL_FLOATS if p == 0 else (float32, float64, complex64),
            result=as_real,
            gradient=p != 0,
            steps=12,
            length=12,
        )
        for p in (0, 1, 1.5, 3, math.inf, -math.inf)
        for name, kwargs in (("whole", {}), ("dim", {"dim": 1}))
    ],
    *[
        Sample(
            op="norm",
            name=f"p {p}, zeros",
            inputs=lambda make: (np.zeros((2, 3), make(()).dtype),),
            kwargs={"p": p},
            reference=norm,
            dtypes=REAL_FLOATS,
        )
        for p in (1, 2, 3, math.inf)
    ],
    *[
        Sample(
            op=op,
            name=f"{position} {order}, one element of {size}",
            inputs=lambda make, size=size: (np.full((2, 1), -size, np.float32),),
            kwargs={position: order, "dim": 1},
            reference=lambda x, dim, **order: np.abs(x).sum(dim),
            dtypes=(float32,),
        )
        for op, position in (("norm", "p"), ("linalg.vector_norm", "ord"))
        for order in (2, 3, -2)
        for size in (1e30, 1e-30)
    ],
    of_matrix("nuc", op="norm", position="p"),
    *[
        Sample(
            op="linalg.vector_norm",
            name=f"ord {ord}",
            inputs=lambda make: (distinct(make, (3, 4)),),
            kwargs={"ord": ord, "dim": 0},
            reference=lambda x, ord, dim: norm(x, ord, dim),
            dtypes=(float32, complex128),
            result=as_real,
            gradient=True,
            steps=12,
            length=12,
        )
        for ord in (2, 2.5, -1)
    ],
    Sample(
        op="linalg.vector_norm",
        name="dtype",
        inputs=lambda make: (make((3, 4)),),
        kwargs={"dtype": float64},
        reference=lambda x, dtype: norm(x),
        dtypes=(float32,),
        result=always(float64),
        gradient=True,
        steps=4,
        length=12,
    ),
    *[of_matrix(ord) for ord in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)],
    of_matrix(1, (2, 3, 2), "dims, kept", dim=(2, 0), keepdim=True),
    of_matrix(-math.inf, (2, 3, 2), "dims", dim=(0, 1)),
    of_matrix(2, (2, 3, 2), "dims, kept", dim=(0, -1), keepdim=True),
    of_matrix("fro", (2, 3, 2), "batch, narrow", dtypes=(float32, complex64)),
    Sample(
        op="linalg.matrix_norm",
        name="of nothing",
        inputs=lambda make: (make((2, 0, 3)), math.inf),
        reference=lambda a, ord: np.zeros(2),
        dtypes=(float64,),
    ),
    of_matrix("nuc", op="linalg.norm"),
    of_matrix(1, (2, 3, 2), "dims", op="linalg.norm", dim=(1, 2)),
    Sample(
        op="linalg.norm",
        name="no order",
        inputs=lambda make: (make((2, 3, 2)),),
        reference=norm,
        dtypes=(float32, complex128),
        result=as_real,
        gradient=True,
        steps=4,
        length=12,
    ),
    Sample(
        op="linalg.norm",
        name="of vectors",
        inputs=lambda make: (make.nonzero((2, 3)), 3),
        kwargs={"dim": -1, "keepdim": True},
        reference=lambda x, ord, dim, keepdim: norm(x, ord, dim, keepdim),
        dtypes=(float64,),
        gradient=True,
        steps=12,
        length=4,
    ),
    *[
        Sample(
            op="renorm",
            name=name,
            inputs=lambda make, shape=shape, rest=rest: (make.nonzero(shape), *rest),
            reference=limited,
            dtypes=FLOATS if rest[0] == 2 else PRECISE,
            gradient=(0,),
            steps=8,
            length=6,
        )
        for name, shape, rest in (("rows", (4, 3), (2, 0, 2.6)), ("p 1, middle dim", (2, 3, 2), (1.0, 1, 3.0)))
    ],
    Sample(
        op="frobenius_norm",
        inputs=lambda make: (nonzero(make, (3, 4)), (0, 1)),
        reference=lambda x, dim: norm(x, 2, dim),
        dtypes=FLOATS,
        result=as_real,
        gradient=True,
        steps=4,
        length=12,
    ),
    Sample(
        op="nuclear_norm",
        inputs=lambda make: (regular(make, (3, 2)),),
        reference=lambda a: matrix_norm(a, "nuc"),
        dtypes=WIDE,
        result=as_real,
        gradient=True,
        steps=24,
        length=24,
        expand=False,
    ),
    *[
        Sample(
            op="norm_except_dim",
            name=f"dim {dim} of {shape}",
            inputs=lambda make, shape=shape, dim=dim: (nonzero(make, shape), 2, dim),
            reference=lambda x, p, dim: (
                norm(x, p) if dim == -1 else norm(x, p, tuple(at for at in range(x.ndim) if at != dim), True)
            ),
            dtypes=FLOATS,
            result=as_real,
            gradient=True,
            steps=4,
            length=12,
        )
        for shape, dim in (((3, 2, 2), 0), ((3, 4), 1), ((3, 4), -1), ((5,), 0))
    ],
]

ERRORS = [
    refused("norm", "integers", lambda op, tensor: op(tensor(3, dtype=int64)), r"is int64"),
    refused(
        "norm", "dim out of range", lambda op, tensor: op(tensor(2, 3), dim=-3), r"dim -3 is out of range", IndexError
    ),
    refused("norm", "an unknown name", lambda op, tensor: op(tensor(3), "max"), r"norm: p is 'max'.*\n.*input"),
    refused("norm", "nuc of a vector", lambda op, tensor: op(tensor(3), "nuc"), r"\n.*input"),
    refused("linalg.vector_norm", "integers", lambda op, tensor: op(tensor(3, dtype=int64)), r"is int64"),
    refused(
        "linalg.vector_norm", "a name", lambda op, tensor: op(tensor(3), "fro"), r"ord is str, not a number", TypeError
    ),
    refused("linalg.vector_norm", "inf of nothing", lambda op, tensor: op(tensor(0), math.inf), r"no elements.*\n.*x "),
    refused(
        "linalg.vector_norm",
        "a narrower dtype",
        lambda op, tensor: op(tensor(3, dtype=float64), dtype=float32),
        r"dtype is float32",
    ),
    refused("linalg.matrix_norm", "a vector", lambda op, tensor: op(tensor(3)), r"fewer than two.*\n.*A "),
    refused("linalg.matrix_norm", "order", lambda op, tensor: op(tensor(2, 2), 3), r"ord is 3"),
    refused("linalg.matrix_norm", "equal dims", lambda op, tensor: op(tensor(2, 2), dim=(0, 0)), r"twice\n.*A "),
    refused("linalg.matrix_norm", "one dim", lambda op, tensor: op(tensor(2, 2), dim=0), r"dim is 0", TypeError),
    refused(
        "linalg.matrix_norm", "smallest of nothing", lambda op, tensor: op(tensor(0, 2), -math.inf), r"A ", IndexError
    ),
    refused("linalg.norm", "three dimensions", lambda op, tensor: op(tensor(2, 2, 2), 2), r"1-d or 2-d.*\n.*A "),
    refused(
        "linalg.norm", "three dims", lambda op, tensor: op(tensor(2, 2, 2), 2, (0, 1, 2)), r"dim is \(0, 1, 2\).*\n.*A "
    ),
    refused("linalg.norm", "no dims", lambda op, tensor: op(tensor(2, 2), dim=()), r"dim is \(\), neither.*\n.*A "),
    refused("linalg.norm", "a vector's nuclear norm", lambda op, tensor: op(tensor(3), "nuc"), r"ord is 'nuc'.*\n.*A "),
    ErrorCase(
        op="renorm",
        name="p of 0",
        call=lambda op, tensor: op(tensor(2, 3), 0, 0, 1.0),
        raises=RuntimeError,
        match=r"renorm: p is 0",
    ),
    ErrorCase(
        op="renorm",
        name="a vector",
        call=lambda op, tensor: op(tensor(3), 2, 0, 1.0),
        raises=RuntimeError,
        match=r"renorm: input has 1 dimensions",
    ),
    ErrorCase(
        op="renorm",
        name="a negative norm",
        call=lambda op, tensor: op(tensor(2, 3), 2, 0, -1.0),
        raises=RuntimeError,
        match=r"renorm: maxnorm is -1",
    ),
]
