"""Views that rearrange."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, int16, int32

from ...sample import COMPLEX, EVERYTHING, NUMBERS, REAL, ErrorCase, Sample, always, as_sum, same


def view(op, name, shape, *args, reference, aliasing="view", **kwargs):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape), *args),
        kwargs=kwargs,
        reference=reference,
        dtypes=EVERYTHING,
        gradient=True,
        aliasing=aliasing,
        # Elements that an expanded input repeats are one place; their gradients add up.
        length=4,
    )


def moved(x, source, destination):
    return np.moveaxis(x, source, destination)


SAMPLES = [
    view("reshape", "smaller", (2, 6), (3, 4), reference=lambda x, shape: x.reshape(shape), aliasing="maybe"),
    view(
        "reshape",
        "one size inferred",
        (2, 3, 4),
        (4, -1),
        reference=lambda x, shape: x.reshape(shape),
        aliasing="maybe",
    ),
    view("reshape", "0-d", (), (1, 1), reference=lambda x, shape: x.reshape(shape), aliasing="maybe"),
    view("reshape", "to 0-d", (1, 1), (), reference=lambda x, shape: x.reshape(shape), aliasing="maybe"),
    view("reshape", "empty", (0, 3), (3, 0, 2), reference=lambda x, shape: x.reshape(shape), aliasing="maybe"),
    view("flatten", "all", (2, 3, 4), reference=lambda x: x.reshape(-1), aliasing="maybe"),
    view("flatten", "some", (2, 3, 4), 1, reference=lambda x, start: x.reshape(2, 12), aliasing="maybe"),
    view("flatten", "0-d", (), reference=lambda x: x.reshape(1), aliasing="maybe"),
    view("ravel", "", (2, 3), reference=lambda x: x.reshape(-1), aliasing="maybe"),
    view("unflatten", "", (2, 12), 1, (3, -1), reference=lambda x, dim, sizes: x.reshape(2, 3, 4), aliasing="maybe"),
    view("squeeze", "all", (1, 3, 1, 2), reference=np.squeeze),
    view("squeeze", "one", (1, 3, 1), 0, reference=np.squeeze),
    view("squeeze", "several", (1, 3, 1, 1), (0, -1), reference=np.squeeze),
    view("squeeze", "a larger one stays", (2, 3), 0, reference=lambda x, dim: x),
    view("unsqueeze", "last", (2, 3), -1, reference=np.expand_dims),
    view("unsqueeze", "first", (2, 3), 0, reference=np.expand_dims),
    view("unsqueeze", "0-d", (), 0, reference=np.expand_dims),
    view("permute", "", (2, 3, 4), (2, 0, 1), reference=np.transpose),
    view("permute", "negative", (2, 3, 4), (0, -1, 1), reference=np.transpose),
    view("transpose", "", (2, 3, 4), 0, -1, reference=np.swapaxes),
    view("transpose", "0-d", (), 0, -1, reference=lambda x, a, b: x),
    view("swapaxes", "", (2, 3), 0, 1, reference=np.swapaxes),
    view("swapdims", "", (2, 3), 0, 1, reference=np.swapaxes),
    view("t", "matrix", (2, 3), reference=np.transpose),
    view("t", "vector", (3,), reference=np.transpose),
    view("movedim", "one", (2, 3, 4), 0, -1, reference=moved),
    view("movedim", "several", (2, 3, 4), (0, 1), (-1, 0), reference=moved),
    view("moveaxis", "", (2, 3, 4), -1, 0, reference=moved),
    Sample(
        op="adjoint",
        name="real",
        inputs=lambda make: (make((2, 3, 4)),),
        reference=lambda x: np.conj(np.swapaxes(x, -1, -2)),
        dtypes=REAL,
        gradient=True,
        aliasing="view",
        length=4,
    ),
    Sample(
        op="adjoint",
        name="complex",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x: x.conj().T,
        dtypes=COMPLEX,
        gradient=True,
    ),
    Sample(
        op="Tensor.sum_to_size",
        name="some",
        inputs=lambda make: (make((2, 3, 4)), 3, 1),
        reference=lambda x, *size: x.sum((0, 2)).reshape(size),
        dtypes=NUMBERS,
        result=as_sum,
        gradient=True,
        length=8,
    ),
    Sample(
        op="Tensor.sum_to_size",
        name="all",
        inputs=lambda make: (make((2, 3)), (2, 3)),
        reference=lambda x, size: x,
        dtypes=NUMBERS,
        gradient=True,
        aliasing="maybe",
    ),
    view("expand", "new dimension", (3, 1), 2, 3, 4, reference=lambda x, *shape: np.broadcast_to(x, shape)),
    view("expand", "kept", (3, 1), -1, 4, reference=lambda x, *shape: np.broadcast_to(x, (3, 4))),
    view("broadcast_to", "", (4,), (3, 4), reference=np.broadcast_to),
    Sample(
        op="view",
        name="of whole dimensions",
        inputs=lambda make: (make((2, 3)), 2, 1, 3, 1),
        reference=lambda x, *shape: x.reshape(shape),
        dtypes=EVERYTHING,
        gradient=True,
        aliasing="view",
        length=4,
    ),
    Sample(
        op="_view_dtype",
        inputs=lambda make: (make((3, 4)), int32, 4),
        reference=lambda x, dtype, size: x.astype(np.float32).view(np.int32),
        dtypes=(float32,),
        result=always(int32),
        aliasing="view",
    ),
    Sample(
        op="view_as",
        inputs=lambda make: (make((2, 3)), make((2, 1, 3))),
        reference=lambda x, other: x.reshape(2, 1, 3),
        dtypes=EVERYTHING,
        gradient=(0,),
        aliasing="view",
        length=4,
    ),
    Sample(
        op="expand_as",
        inputs=lambda make: (make((3, 1)), make((2, 3, 4))),
        reference=lambda x, other: np.broadcast_to(x, other.shape),
        dtypes=EVERYTHING,
        gradient=(0,),
        aliasing="view",
        length=24,
    ),
    Sample(
        op="reshape_as",
        inputs=lambda make: (make((2, 6)), make((4, 3))),
        reference=lambda x, other: x.reshape(other.shape),
        dtypes=EVERYTHING,
        gradient=(0,),
        aliasing="maybe",
        length=4,
    ),
    Sample(
        op="broadcast_tensors",
        inputs=lambda make: (make((3, 1)), make((4,))),
        reference=lambda a, b: tuple(np.broadcast_arrays(a, b)),
        dtypes=EVERYTHING,
        result=(same, same),
        gradient=True,
        aliasing="view",
        length=12,
    ),
]

ERRORS = [
    ErrorCase(
        op="adjoint",
        name="vector",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"adjoint: fewer than two dimensions",
    ),
    ErrorCase(
        op="moveaxis",
        name="a dimension twice",
        call=lambda op, tensor: op(tensor(3, 4), (0, 0), (0, 1)),
        raises=RuntimeError,
        match=r"movedim: source .*\n.*input",
    ),
    ErrorCase(
        op="Tensor.sum_to_size",
        name="a size that does not broadcast",
        call=lambda op, tensor: op(tensor(2, 3), 2),
        raises=RuntimeError,
        match=r"sum_to_size: a tensor of size \(2,\) does not broadcast to \(2, 3\)\n.*input",
    ),
    ErrorCase(
        op="view",
        name="only a copy could",
        call=lambda op, tensor: op(tensor(2, 3).transpose(0, 1), 6),
        raises=RuntimeError,
        match=r"view: shape \(3, 2\) with strides \(1, 3\) cannot be seen as \(6,\) without copying\n(.*\n)*.*reshape",
    ),
    ErrorCase(
        op="reshape",
        name="another number of elements",
        call=lambda op, tensor: op(tensor(2, 3), (4, 2)),
        raises=RuntimeError,
        match=r"reshape: shape \(4, 2\) holds 8 elements, the tensor has 6",
    ),
    ErrorCase(
        op="reshape",
        name="two sizes to infer",
        call=lambda op, tensor: op(tensor(2, 3), (-1, -1)),
        raises=RuntimeError,
        match=r"reshape: shape \(-1, -1\) has more than one -1",
    ),
    ErrorCase(
        op="view",
        name="a dtype that does not divide",
        call=lambda op, tensor: op(tensor(2, 3, dtype=int16), int32),
        raises=RuntimeError,
        match=r"view: .*the last size 3, .* multiples of 2\n.*input",
    ),
    ErrorCase(
        op="expand",
        name="a size that is not 1",
        call=lambda op, tensor: op(tensor(2, 3), 2, 6),
        raises=RuntimeError,
        match=r"expand: .*size 3 is neither 1 nor 6",
    ),
    ErrorCase(
        op="permute",
        name="a dimension twice",
        call=lambda op, tensor: op(tensor(2, 3), (0, 0)),
        raises=RuntimeError,
        match=r"permute: dims \(0, 0\) do not name each of 2 dimensions once\n.*input",
    ),
    ErrorCase(
        op="t",
        name="three dimensions",
        call=lambda op, tensor: op(tensor(2, 3, 4)),
        raises=RuntimeError,
        match=r"t: input has 3 dimensions.*\n.*input",
    ),
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor, rest=rest: op(tensor(2, 3), *rest),
            raises=IndexError,
            match=rf"{op}: dim .* is out of range",
        )
        for op, rest in (
            ("squeeze", (2,)),
            ("unsqueeze", (4,)),
            ("transpose", (0, 2)),
            ("flatten", (-3,)),
            ("movedim", (2, 0)),
            ("unflatten", (2, (1, 1))),
        )
    ],
    ErrorCase(
        op="reshape",
        name="a size that is no int",
        call=lambda op, tensor: op(tensor(2, 3), 1.5),
        raises=TypeError,
        match=r"reshape: size 1\.5 is not an int",
    ),
]
