"""Linear systems, inverses, least squares."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int32, int64

from ...matrices import each, inverse, pseudo_inverse, regular
from ...sample import ErrorCase, OnlyShape, Sample, always, as_real, same

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)

info = always(int32)
inverses = each(inverse)


def solution(a, b, left=True):
    if left and (b.ndim == 1 or b.shape == a.shape[:-1]):
        return (inverses(a) @ b[..., None])[..., 0]
    return inverses(a) @ b if left else b @ inverses(a)


def solve(name, a, b, dtypes=WIDE, **options):
    return Sample(
        op="linalg.solve",
        name=name,
        inputs=lambda make: (regular(make, a), make(b)),
        reference=solution,
        kwargs=options,
        dtypes=dtypes,
        gradient=True,
        steps=12,
        length=4 * a[-1],
        expand=False,
    )


def inv(op, name, shape, dtypes=WIDE, outputs=1):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (regular(make, shape),),
        reference=lambda a: (inverses(a), np.zeros(a.shape[:-2], np.int64)) if outputs == 2 else inverses(a),
        dtypes=dtypes,
        result=(same, info) if outputs == 2 else same,
        gradient=True,
        steps=12,
        length=4 * shape[-1],
        expand=False,
    )


def lstsq(name, a, b, dtypes=WIDE, driver=None):
    rows, columns = a[-2:]
    count = min(rows, columns)
    with_residuals = rows > columns and driver not in (None, "gelsy")

    def reference(a, b, driver=None):
        vector = b.ndim == a.ndim - 1
        target = b[..., None] if vector else b
        x = each(pseudo_inverse)(a) @ target
        batch = x.shape[:-2]
        residuals = (np.abs(a @ x - target) ** 2).sum(-2) if with_residuals else np.zeros(0)
        rank = np.zeros(0, np.int64) if driver == "gels" else np.full(batch, count)
        values = OnlyShape((*batch, count)) if driver in ("gelsd", "gelss") else np.zeros(0)
        return x[..., 0] if vector else x, residuals, rank, values

    return Sample(
        op="linalg.lstsq",
        name=name,
        inputs=lambda make: (regular(make, a), make(b)),
        kwargs={} if driver is None else {"driver": driver},
        reference=reference,
        # The gradient of residuals and solution together, of what has one.
        dtypes=dtypes,
        result=(same, as_real, always(int64), as_real),
        gradient=driver not in ("gelsd", "gelss"),
        steps=32,
        length=8 * rows,
        magnitude=lambda *given, **options: 16.0,
        expand=False,
    )


SAMPLES = [
    solve("matrix", (3, 3), (3, 2), ALL),
    solve("vector", (3, 3), (3,)),
    solve("vectors", (2, 3, 3), (2, 3)),
    solve("one vector for all", (2, 2, 2), (2,)),
    solve("right, batches broadcast", (2, 1, 2, 2), (2, 3, 2), left=False),
    solve("no rows", (0, 0), (0, 2)),
    solve("no batches", (0, 3, 3), (3, 2)),
    Sample(
        op="linalg.solve_ex",
        inputs=lambda make: (regular(make, (2, 3, 3)), make((2, 3, 1))),
        reference=lambda a, b: (solution(a, b), np.zeros(2, np.int64)),
        dtypes=WIDE,
        result=(same, info),
        gradient=True,
        steps=12,
        length=12,
        expand=False,
    ),
    Sample(
        op="linalg.solve_ex",
        name="singular",
        inputs=lambda make: (np.stack([np.eye(2), np.ones((2, 2))]).astype(make(()).dtype), make((2, 1))),
        call=lambda op, a, b: (op(a, b).result[0], op(a, b).info),
        reference=lambda a, b: (b, np.array([0, 2])),
        dtypes=ALL,
        result=(same, info),
        steps=4,
        length=4,
        expand=False,
    ),
    Sample(
        op="_linalg_solve_factored",
        name="adjoint",
        inputs=lambda make: (np.diag([2.0, 4.0]).astype(make(()).dtype), make((2, 2))),
        call=lambda op, a, b: op(a, b, a, a.new_tensor([1, 2], dtype=int32), True),
        reference=lambda a, b: np.conj(np.array([[0.5], [0.25]])) * b,
        dtypes=WIDE,
        steps=4,
        length=4,
        expand=False,
    ),
    inv("linalg.inv", "matrix", (3, 3), ALL),
    inv("linalg.inv", "batch", (2, 2, 2)),
    inv("linalg.inv", "no rows", (2, 0, 0)),
    inv("linalg.inv_ex", "", (3, 3), outputs=2),
    Sample(
        op="linalg.inv_ex",
        name="singular",
        inputs=lambda make: (np.stack([np.eye(2), np.ones((2, 2))]).astype(make(()).dtype),),
        call=lambda op, a: (op(a).inverse[0], op(a).info),
        reference=lambda a: (np.eye(2), np.array([0, 2])),
        dtypes=ALL,
        result=(same, info),
        steps=4,
        expand=False,
    ),
    inv("inverse", "", (2, 2)),
    Sample(
        op="linalg.tensorinv",
        inputs=lambda make: (regular(make, (4, 4)).reshape(2, 2, 4),),
        kwargs={"ind": 2},
        reference=lambda a, ind: inverse(a.reshape(4, 4)).reshape(4, 2, 2),
        dtypes=WIDE,
        gradient=True,
        steps=12,
        length=16,
        expand=False,
    ),
    Sample(
        op="linalg.tensorsolve",
        inputs=lambda make: (regular(make, (4, 4)).reshape(2, 2, 4), make((2, 2))),
        reference=lambda a, b: inverse(a.reshape(4, 4)) @ b.reshape(4),
        dtypes=WIDE,
        gradient=True,
        steps=12,
        length=16,
        expand=False,
    ),
    Sample(
        op="linalg.tensorsolve",
        name="dims",
        inputs=lambda make: (regular(make, (4, 4)).T.reshape(4, 2, 2), make((2, 2))),
        kwargs={"dims": (0,)},
        reference=lambda a, b, dims: inverse(np.moveaxis(a, 0, -1).reshape(4, 4)) @ b.reshape(4),
        dtypes=(float64,),
        steps=12,
        length=16,
        expand=False,
    ),
    lstsq("tall", (4, 2), (4, 2), ALL),
    lstsq("wide", (2, 3), (2, 2)),
    lstsq("vectors", (2, 3, 2), (2, 3)),
    lstsq("gels", (4, 2), (4, 2), driver="gels"),
    lstsq("gels, wide", (2, 3), (2, 1), driver="gels"),
    lstsq("gelsd", (2, 4, 3), (2, 4, 2), driver="gelsd"),
    lstsq("gelss", (4, 3), (4, 2), driver="gelss"),
    Sample(
        op="linalg.lstsq",
        name="deficient",
        inputs=lambda make: (np.diag([4.0, 2.0, 0.0]).astype(make(()).dtype), make((3, 2))),
        call=lambda op, a, b: op(a, b, driver="gelsd"),
        reference=lambda a, b: (
            np.diag([0.25, 0.5, 0.0]) @ b,
            np.zeros(0),
            np.array(2),
            np.array([4.0, 2.0, 0.0]),
        ),
        dtypes=(float32, complex128),
        result=(same, as_real, always(int64), as_real),
        steps=16,
        length=8,
        expand=False,
    ),
]


def refused(op, name, call, match, raises=RuntimeError):
    return ErrorCase(op=op, name=name, call=call, raises=raises, match=match)


ERRORS = [
    refused("linalg.solve", "sizes", lambda op, tensor: op(tensor(3, 3), tensor(2, 2)), r"3 != 2\n.*A .*\n.*B "),
    refused("linalg.solve", "not square", lambda op, tensor: op(tensor(2, 3), tensor(2)), r"2 by 3\n.*A "),
    refused("linalg.solve", "integers", lambda op, tensor: op(tensor(2, 2, dtype=int64), tensor(2)), r"A is int64"),
    refused(
        "linalg.solve",
        "two dtypes",
        lambda op, tensor: op(tensor(2, 2), tensor(2, dtype=complex64)),
        r"one dtype.*\n.*A .*\n.*B ",
    ),
    refused(
        "linalg.solve",
        "singular",
        lambda op, tensor: op(tensor(2, 2, 2) * 0, tensor(2, 2)),
        r"batch element 0: .*singular.*element 1 .*\n.*A .*\n.*B ",
    ),
    refused(
        "linalg.solve",
        "a vector on the right",
        lambda op, tensor: op(tensor(2, 2), tensor(2), left=False),
        r"left=False",
    ),
    refused(
        "linalg.solve_ex",
        "singular, checked",
        lambda op, tensor: op(tensor(2, 2) * 0, tensor(2), check_errors=True),
        r"singular",
    ),
    *[
        case
        for op, name in (("linalg.inv", "A"), ("linalg.inv_ex", "A"), ("inverse", "input"))
        for case in (
            refused(op, "not square", lambda op, tensor: op(tensor(2, 3)), rf"square.*\n.*{name} "),
            refused(op, "integers", lambda op, tensor: op(tensor(2, 2, dtype=int64)), rf"{name} is int64"),
        )
    ],
    refused("linalg.inv", "singular", lambda op, tensor: op(tensor(2, 2) * 0), r"singular.*\n.*A "),
    refused("inverse", "singular", lambda op, tensor: op(tensor(2, 2) * 0), r"singular.*\n.*input "),
    refused("linalg.tensorinv", "sizes", lambda op, tensor: op(tensor(2, 3, 4)), r"6 != 4\n.*A "),
    refused("linalg.tensorinv", "ind", lambda op, tensor: op(tensor(2, 2), 0), r"ind is 0"),
    refused("linalg.tensorinv", "ind past the end", lambda op, tensor: op(tensor(1), 2), r"ind is 2"),
    refused("linalg.tensorsolve", "sizes", lambda op, tensor: op(tensor(2, 3, 4), tensor(2, 3)), r"6 != 4\n.*A "),
    refused("linalg.lstsq", "sizes", lambda op, tensor: op(tensor(3, 2), tensor(2, 2)), r"do not agree\n.*A .*\n.*B "),
    refused(
        "linalg.lstsq", "driver", lambda op, tensor: op(tensor(3, 2), tensor(3, 2), driver="qr"), r"driver is 'qr'"
    ),
    refused("linalg.lstsq", "nan", lambda op, tensor: op(tensor(3, 2) / 0, tensor(3, 2)), r"not finite"),
    refused("linalg.lstsq", "integers", lambda op, tensor: op(tensor(2, 2, dtype=int64), tensor(2, 2)), r"A is int64"),
]
