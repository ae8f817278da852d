"""Convolution; the reference adds up one window after the other."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, complex64, complex128, float64

from ...sample import INTEGERS, REAL_FLOATS, ErrorCase, Sample

F = "nn.functional."


def each(value, count):
    """A setting as one number a spatial dimension."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def window(padded, position, kernel, stride, dilation):
    """The window of a position: a view of the zero-padded images."""
    parts = [
        slice(at * step, at * step + spacing * (extent - 1) + 1, spacing)
        for at, extent, step, spacing in zip(position, kernel, stride, dilation, strict=True)
    ]
    return padded[(slice(None), slice(None), *parts)]


def around(x, padding):
    return np.pad(x, ((0, 0), (0, 0), *[(amount, amount) for amount in padding]))


def groups_of(count, groups):
    size = count // groups
    return [slice(at * size, (at + 1) * size) for at in range(groups)]


def convolve(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    dims = x.ndim - 2
    stride, padding, dilation = each(stride, dims), each(padding, dims), each(dilation, dims)
    kernel, x = w.shape[2:], around(x, padding)
    size = [
        (have - spacing * (extent - 1) - 1) // step + 1
        for have, extent, step, spacing in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    out = np.zeros((len(x), len(w), *size), np.result_type(x, w))
    for position in np.ndindex(*size):
        found = window(x, position, kernel, stride, dilation)
        for into, of in zip(groups_of(len(w), groups), groups_of(x.shape[1], groups), strict=True):
            axes = range(1, x.ndim)
            out[(slice(None), into, *position)] = np.tensordot(found[:, of], w[into], (axes, axes))
    return out if b is None else out + b.reshape(-1, *[1] * dims)


def transposed(g, w, b, size, stride, padding, dilation, groups):
    dims = g.ndim - 2
    grown = [have + 2 * amount for have, amount in zip(size, padding, strict=True)]
    out = np.zeros((len(g), w.shape[1] * groups, *grown), np.result_type(g, w))
    for position in np.ndindex(*g.shape[2:]):
        found = window(out, position, w.shape[2:], stride, dilation)
        for of, into in zip(groups_of(len(w), groups), groups_of(out.shape[1], groups), strict=True):
            found[:, into] += np.einsum("no,oc...->nc...", g[(slice(None), of, *position)], w[of])
    cropped = [slice(amount, amount + have) for have, amount in zip(size, padding, strict=True)]
    out = out[(slice(None), slice(None), *cropped)]
    return out if b is None else out + b.reshape(-1, *[1] * dims)


def conv_transpose(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    dims = x.ndim - 2
    settings = [each(one, dims) for one in (stride, padding, dilation)]
    size = [
        (have - 1) * step - 2 * amount + spacing * (extent - 1) + more + 1
        for have, extent, step, amount, spacing, more in zip(
            x.shape[2:], w.shape[2:], *settings, each(output_padding, dims), strict=True
        )
    ]
    return transposed(x, w, b, size, *settings, groups)


def weight_grad(g, x, kernel, stride, padding, dilation, groups):
    out = np.zeros((g.shape[1], x.shape[1] // groups, *kernel), np.result_type(g, x))
    x = around(x, padding)
    for position in np.ndindex(*g.shape[2:]):
        found = window(x, position, kernel, stride, dilation)
        for into, of in zip(groups_of(g.shape[1], groups), groups_of(x.shape[1], groups), strict=True):
            out[into] += np.einsum("no,nc...->oc...", g[(slice(None), into, *position)], found[:, of])
    return out


def magnitude_of(reference):
    return lambda *args, **kwargs: reference(
        *(np.abs(one) if isinstance(one, np.ndarray) else one for one in args), **kwargs
    )


def sample(op, name, reference, input, weight, bias=False, dtypes=REAL_FLOATS, **settings):
    """A call of a public function; *bias* is the number of result channels, or False."""
    return Sample(
        op=F + op,
        name=name,
        inputs=lambda make: (make(input), make(weight), *((make((bias,)),) if bias else ())),
        reference=reference,
        magnitude=magnitude_of(reference),
        kwargs=settings,
        dtypes=dtypes,
        gradient=dtypes[0] not in INTEGERS,
        steps=4,
        # Integers are exact; the gradient of the weight adds up every window of every image.
        length=int(np.prod(weight[1:])) + input[0] * int(np.prod(input[2:])),
    )


def forward(op, name, input, weight, bias=False, **settings):
    return sample(op, name, convolve, input, weight, bias and weight[0], **settings)


def backward(op, name, input, weight, bias=False, **settings):
    return sample(op, name, conv_transpose, input, weight, bias and weight[1] * settings.get("groups", 1), **settings)


def primitive(op, name, reference, first, second, *params):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(first), make(second), *params),
        reference=reference,
        magnitude=magnitude_of(reference),
        dtypes=REAL_FLOATS,
        gradient=(0, 1),
        steps=4,
        length=max(int(np.prod(first)), int(np.prod(second))),
    )


def unbatched(reference):
    return lambda x, *rest, **settings: reference(x[None], *rest, **settings)[0]


def same_2d(x, w, padding):
    return convolve(np.pad(x, ((0, 0), (0, 0), (0, 1), (1, 1))), w)


COMPLEX = (complex64, complex128)

SAMPLES = [
    forward("conv2d", "plain", (2, 3, 5, 4), (4, 3, 3, 2)),
    forward("conv2d", "padding and bias", (2, 2, 4, 5), (3, 2, 3, 3), True, padding=1),
    forward("conv2d", "stride larger than the kernel", (1, 1, 7, 7), (2, 1, 2, 2), stride=3),
    forward("conv2d", "dilation", (1, 2, 7, 6), (2, 2, 3, 2), dilation=(2, 3)),
    forward("conv2d", "one channel a group", (1, 3, 5, 5), (6, 1, 3, 3), groups=3, padding=1, stride=(2, 1)),
    forward(
        "conv2d",
        "everything at once",
        (2, 4, 6, 7),
        (4, 2, 3, 2),
        True,
        stride=(2, 3),
        padding=(2, 1),
        dilation=(2, 1),
        groups=2,
    ),
    forward("conv2d", "kernel of one element", (2, 3, 3, 4), (5, 3, 1, 1), True),
    forward("conv2d", "more padding than the kernel reaches", (1, 1, 2, 2), (1, 1, 2, 2), padding=3),
    forward("conv2d", "no images", (0, 2, 4, 4), (3, 2, 3, 3), True),
    forward("conv2d", "complex", (1, 2, 4, 3), (2, 2, 2, 2), True, dtypes=COMPLEX, stride=2, padding=1),
    forward("conv2d", "integers", (1, 2, 4, 3), (2, 2, 2, 2), True, dtypes=INTEGERS, dilation=2, padding=1),
    sample("conv2d", "one image without a batch", unbatched(convolve), (2, 4, 4), (3, 2, 2, 2), 3),
    sample("conv2d", "same padding, an odd rest", same_2d, (1, 2, 4, 5), (2, 2, 2, 3), padding="same"),
    forward("conv1d", "stride, padding, bias", (2, 3, 7), (4, 3, 3), True, stride=2, padding=1),
    forward("conv1d", "groups, dilation", (2, 4, 8), (2, 2, 3), groups=2, dilation=(2,)),
    sample("conv1d", "one sequence without a batch", unbatched(convolve), (3, 4), (2, 3, 2), 2),
    forward("conv3d", "plain", (1, 2, 3, 3, 2), (2, 2, 2, 2, 1), True),
    forward("conv3d", "settings", (1, 2, 4, 3, 5), (2, 1, 2, 3, 2), groups=2, stride=(2, 1, 3), padding=1),
    forward("conv3d", "dilation", (1, 1, 5, 3, 4), (2, 1, 3, 2, 2), dilation=(2, 2, 1)),
    backward("conv_transpose1d", "stride, padding, bias", (2, 2, 4), (2, 3, 3), True, stride=2, padding=1),
    backward("conv_transpose1d", "longer by a whole stride", (1, 2, 3), (2, 1, 2), dilation=2, output_padding=1),
    backward("conv_transpose2d", "plain", (2, 2, 3, 3), (2, 3, 2, 3), True),
    backward(
        "conv_transpose2d",
        "everything at once",
        (1, 4, 3, 2),
        (4, 2, 3, 2),
        True,
        stride=(2, 3),
        padding=(1, 0),
        output_padding=(1, 2),
        groups=2,
        dilation=(1, 2),
    ),
    backward("conv_transpose2d", "kernel of one element", (2, 3, 3, 2), (3, 2, 1, 1), True),
    backward("conv_transpose2d", "complex", (1, 2, 2, 3), (2, 1, 2, 2), dtypes=COMPLEX, stride=2),
    backward("conv_transpose2d", "no images", (0, 2, 4, 4), (2, 3, 3, 3), True, stride=2),
    sample("conv_transpose2d", "one image without a batch", unbatched(conv_transpose), (2, 2, 2), (2, 1, 2, 2), 1),
    backward(
        "conv_transpose3d", "settings", (1, 2, 2, 3, 2), (2, 1, 2, 1, 3), True, stride=(1, 2, 2), padding=(0, 0, 1)
    ),
    primitive(
        "_convolution_transposed",
        "settings",
        lambda g, w, *rest: transposed(g, w, *rest),
        (2, 4, 4, 4),
        (4, 2, 3, 2),
        None,
        (7, 5),
        (2, 1),
        (1, 1),
        (1, 3),
        2,
    ),
    primitive(
        "_convolution_transposed",
        "rows that no window reaches",
        transposed,
        (1, 2, 2, 2),
        (2, 2, 2, 2),
        None,
        (6, 6),
        (3, 3),
        (0, 0),
        (1, 1),
        1,
    ),
    primitive(
        "_convolution_weight_grad",
        "settings",
        weight_grad,
        (2, 4, 4, 4),
        (2, 4, 7, 5),
        (3, 2),
        (2, 1),
        (1, 1),
        (1, 3),
        2,
    ),
]


def refused(op, name, raises, match, *shapes, **settings):
    """An error of a call with float32 tensors of these shapes."""
    return ErrorCase(
        op=F + op,
        name=name,
        call=lambda op, tensor: op(*(tensor(*shape) for shape in shapes), **settings),
        raises=raises,
        match=match,
    )


ERRORS = [
    refused(
        "conv2d",
        "channels",
        RuntimeError,
        r"conv2d: .*3 channels != 2\n.*input .*\n.*weight",
        (1, 3, 4, 4),
        (2, 2, 3, 3),
    ),
    refused(
        "conv2d",
        "kernel larger than the image",
        RuntimeError,
        r"conv2d: the kernel of 5 is larger than the padded height 2 \+ 2 \* 1\n.*input .*\n.*weight",
        (1, 1, 2, 9),
        (1, 1, 5, 3),
        padding=1,
    ),
    refused(
        "conv2d",
        "bias of another length",
        RuntimeError,
        r"conv2d: bias \(3,\).*\n.*input .*\n.*weight .*\n.*bias",
        (1, 1, 4, 4),
        (2, 1, 3, 3),
        (3,),
    ),
    ErrorCase(
        op=F + "conv2d",
        name="dtypes differ",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), tensor(2, 1, 3, 3, dtype=float64)),
        raises=RuntimeError,
        match=r"conv2d: .*one dtype\n.*input .*float32.*\n.*weight .*float64",
    ),
    ErrorCase(
        op=F + "conv2d",
        name="bool",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4, dtype=bool_), tensor(2, 1, 3, 3, dtype=bool_)),
        raises=RuntimeError,
        match=r"conv2d: bool.*\n.*input .*bool",
    ),
    refused("conv2d", "rank", RuntimeError, r"conv2d: input has 2 dimensions.*\n.*input", (4, 4), (2, 1, 3, 3)),
    refused("conv2d", "rank of the weight", RuntimeError, r"conv2d: weight has 3.*\n.*input", (1, 1, 4, 4), (2, 1, 3)),
    refused("conv2d", "stride 0", RuntimeError, r"conv2d: stride \(0, 0\)", (1, 1, 4, 4), (2, 1, 3, 3), stride=0),
    refused(
        "conv2d", "groups", RuntimeError, r"conv2d: .*2 groups do not divide", (1, 4, 4, 4), (3, 2, 3, 3), groups=2
    ),
    refused(
        "conv2d", "stride of a float", TypeError, r"conv2d: stride is 1\.5", (1, 1, 4, 4), (2, 1, 3, 3), stride=1.5
    ),
    refused(
        "conv2d",
        "same padding with a stride",
        RuntimeError,
        r"conv2d: padding='same' needs a stride of 1",
        (1, 1, 4, 4),
        (2, 1, 3, 3),
        stride=2,
        padding="same",
    ),
    refused("conv1d", "rank", RuntimeError, r"conv1d: input has 4 dimensions", (1, 1, 4, 4), (2, 1, 3)),
    refused("conv1d", "two strides", RuntimeError, r"conv1d: stride \(1, 2\)", (1, 1, 4), (2, 1, 3), stride=(1, 2)),
    refused("conv3d", "depth", RuntimeError, r"conv3d: .*the padded depth 1", (1, 1, 1, 4, 4), (1, 1, 2, 2, 2)),
    refused("conv_transpose1d", "channels", RuntimeError, r"conv_transpose1d: .*3 channels != 2", (1, 3, 4), (2, 1, 3)),
    refused(
        "conv_transpose2d",
        "output padding",
        RuntimeError,
        r"conv_transpose2d: output_padding \(2, 2\) .*smaller.*\n.*input",
        (1, 1, 4, 4),
        (1, 1, 3, 3),
        stride=2,
        output_padding=2,
    ),
    refused(
        "conv_transpose2d",
        "nothing left",
        RuntimeError,
        r"conv_transpose2d: the result would have a height of 0",
        (1, 1, 2, 4),
        (1, 1, 1, 1),
        padding=1,
    ),
    refused(
        "conv_transpose3d",
        "groups",
        RuntimeError,
        r"conv_transpose3d: .*3 channels, which 2 groups",
        (1, 3, 2, 2, 2),
        (3, 1, 1, 1, 1),
        groups=2,
    ),
]
