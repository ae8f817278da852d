"""Convolution; the reference adds up one window after the other."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import float64

from ..sample import REAL_FLOATS, ErrorCase, Sample


def windows(x, kernel, stride, padding, dilation):
    """For each place of the result, its index and its window of the zero-padded images."""
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    reach = [spacing * (extent - 1) + 1 for spacing, extent in zip(dilation, kernel, strict=True)]
    for i in range((x.shape[2] - reach[0]) // stride[0] + 1):
        for j in range((x.shape[3] - reach[1]) // stride[1] + 1):
            top, left = i * stride[0], j * stride[1]
            yield i, j, x[:, :, top : top + reach[0] : dilation[0], left : left + reach[1] : dilation[1]]


def conv2d(x, w, b=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    found = list(windows(x, w.shape[2:], stride, padding, dilation))
    out = np.zeros((len(x), len(w), found[-1][0] + 1, found[-1][1] + 1), np.result_type(x, w))
    each, made = w.shape[1], len(w) // groups
    for i, j, window in found:
        for group in range(groups):
            part = np.einsum(
                "nchw,ochw->no", window[:, group * each : (group + 1) * each], w[group * made : (group + 1) * made]
            )
            out[:, group * made : (group + 1) * made, i, j] = part
    return out if b is None else out + b[:, None, None]


def input_grad(g, w, size, stride, padding, dilation, groups):
    out = np.zeros((len(g), w.shape[1] * groups, size[0] + 2 * padding[0], size[1] + 2 * padding[1]))
    each, made = w.shape[1], len(w) // groups
    for i, j in np.ndindex(g.shape[2:]):
        window = out_window(out, i, j, w.shape[2:], stride, dilation)
        for group in range(groups):
            place = slice(group * made, (group + 1) * made)
            window[:, group * each : (group + 1) * each] += np.einsum("no,ochw->nchw", g[:, place, i, j], w[place])
    return out[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


def out_window(out, i, j, kernel, stride, dilation):
    rows = slice(i * stride[0], i * stride[0] + dilation[0] * (kernel[0] - 1) + 1, dilation[0])
    columns = slice(j * stride[1], j * stride[1] + dilation[1] * (kernel[1] - 1) + 1, dilation[1])
    return out[:, :, rows, columns]


def weight_grad(g, x, kernel, stride, padding, dilation, groups):
    each, made = x.shape[1] // groups, g.shape[1] // groups
    out = np.zeros((g.shape[1], each, *kernel))
    for i, j, window in windows(x, kernel, stride, padding, dilation):
        if i < g.shape[2] and j < g.shape[3]:
            for group in range(groups):
                place = slice(group * made, (group + 1) * made)
                out[place] += np.einsum(
                    "no,nchw->ochw", g[:, place, i, j], window[:, group * each : (group + 1) * each]
                )
    return out


def magnitude_of(reference):
    return lambda a, b, *rest, **kwargs: reference(
        np.abs(a), np.abs(b), *(np.abs(one) if isinstance(one, np.ndarray) else one for one in rest), **kwargs
    )


def pair(value):
    return (value, value) if isinstance(value, int) else value


def images(name, input, weight, bias=False, **settings):
    def reference(x, w, b=None, **kwargs):
        return conv2d(x, w, b, **{key: value if key == "groups" else pair(value) for key, value in kwargs.items()})

    return Sample(
        op="conv2d",
        name=name,
        inputs=lambda make: (make(input), make(weight), *((make(weight[:1]),) if bias else ())),
        reference=reference,
        magnitude=magnitude_of(reference),
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=4,
        length=int(np.prod(weight[1:])) + input[0] * input[2] * input[3],
    )


def adjoint(op, name, reference, first, second, *params):
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


SAMPLES = [
    images("plain", (2, 3, 5, 4), (4, 3, 3, 2)),
    images("padding and bias", (2, 2, 4, 5), (3, 2, 3, 3), True, padding=1),
    images("stride", (1, 2, 7, 6), (2, 2, 3, 3), stride=2, padding=(1, 0)),
    images("stride larger than the kernel", (1, 1, 7, 7), (2, 1, 2, 2), stride=3),
    images("dilation", (1, 2, 7, 6), (2, 2, 3, 2), dilation=(2, 3)),
    images("groups", (2, 4, 4, 3), (6, 2, 2, 2), True, groups=2),
    images("one channel a group", (1, 3, 5, 5), (6, 1, 3, 3), groups=3, padding=1, stride=(2, 1)),
    images(
        "everything at once", (2, 4, 6, 7), (4, 2, 3, 2), True, stride=(2, 3), padding=(2, 1), dilation=(2, 1), groups=2
    ),
    images("kernel of one element", (2, 3, 3, 4), (5, 3, 1, 1), True),
    images("kernel of the image's size", (2, 2, 3, 4), (3, 2, 3, 4)),
    images("more padding than the kernel reaches", (1, 1, 2, 2), (1, 1, 2, 2), padding=3),
    images("no images", (0, 2, 4, 4), (3, 2, 3, 3), True),
    Sample(
        op="conv2d",
        name="one image without a batch",
        inputs=lambda make: (make((2, 4, 4)), make((3, 2, 2, 2)), make((3,))),
        reference=lambda x, w, b: conv2d(x[None], w, b)[0],
        magnitude=lambda x, w, b: conv2d(np.abs(x[None]), np.abs(w), np.abs(b))[0],
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=4,
        length=32,
    ),
    Sample(
        op="conv2d",
        name="same padding, an odd rest",
        inputs=lambda make: (make((1, 2, 4, 5)), make((2, 2, 2, 3))),
        reference=lambda x, w, padding: conv2d(np.pad(x, ((0, 0), (0, 0), (0, 1), (1, 1))), w),
        magnitude=lambda x, w, padding: conv2d(np.pad(np.abs(x), ((0, 0), (0, 0), (0, 1), (1, 1))), np.abs(w)),
        kwargs={"padding": "same"},
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=4,
        length=32,
    ),
    Sample(
        op="conv1d",
        name="stride, padding, bias",
        inputs=lambda make: (make((2, 3, 7)), make((4, 3, 3)), make((4,)), 2, 1),
        reference=lambda x, w, b, stride, padding: conv2d(x[:, :, None], w[:, :, None], b, (1, 2), (0, 1))[:, :, 0],
        magnitude=lambda x, w, b, stride, padding: conv2d(
            np.abs(x)[:, :, None], np.abs(w)[:, :, None], np.abs(b), (1, 2), (0, 1)
        )[:, :, 0],
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=4,
        length=32,
    ),
    adjoint(
        "_conv2d_input_grad", "settings", input_grad, (2, 4, 4, 4), (4, 2, 3, 2), (7, 5), (2, 1), (1, 1), (1, 3), 2
    ),
    adjoint(
        "_conv2d_input_grad",
        "rows that no window reaches",
        input_grad,
        (1, 2, 2, 2),
        (2, 2, 2, 2),
        (6, 6),
        (3, 3),
        (0, 0),
        (1, 1),
        1,
    ),
    adjoint(
        "_conv2d_weight_grad", "settings", weight_grad, (2, 4, 4, 4), (2, 4, 7, 5), (3, 2), (2, 1), (1, 1), (1, 3), 2
    ),
]

ERRORS = [
    ErrorCase(
        op="conv2d",
        name="channels",
        call=lambda op, tensor: op(tensor(1, 3, 4, 4), tensor(2, 2, 3, 3)),
        raises=RuntimeError,
        match=r"conv2d: .*3 channels != 2\n.*input .*\n.*weight",
    ),
    ErrorCase(
        op="conv2d",
        name="kernel larger than the image",
        call=lambda op, tensor: op(tensor(1, 1, 2, 9), tensor(1, 1, 5, 3), padding=1),
        raises=RuntimeError,
        match=r"conv2d: the kernel of 5 is larger than the padded height 2 \+ 2 \* 1\n.*input .*\n.*weight",
    ),
    ErrorCase(
        op="conv2d",
        name="bias of another length",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), tensor(2, 1, 3, 3), tensor(3)),
        raises=RuntimeError,
        match=r"conv2d: bias \(3,\).*\n.*input .*\n.*weight .*\n.*bias",
    ),
    ErrorCase(
        op="conv2d",
        name="dtypes differ",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), tensor(2, 1, 3, 3, dtype=float64)),
        raises=RuntimeError,
        match=r"conv2d: .*one dtype\n.*input .*float32.*\n.*weight .*float64",
    ),
    ErrorCase(
        op="conv2d",
        name="rank",
        call=lambda op, tensor: op(tensor(4, 4), tensor(2, 1, 3, 3)),
        raises=RuntimeError,
        match=r"conv2d: input has 2 dimensions.*\n.*input",
    ),
    ErrorCase(
        op="conv2d",
        name="stride 0",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), tensor(2, 1, 3, 3), stride=0),
        raises=RuntimeError,
        match=r"conv2d: stride \(0, 0\)",
    ),
    ErrorCase(
        op="conv2d",
        name="groups",
        call=lambda op, tensor: op(tensor(1, 4, 4, 4), tensor(3, 2, 3, 3), groups=2),
        raises=RuntimeError,
        match=r"conv2d: .*2 groups do not divide",
    ),
    ErrorCase(
        op="conv2d",
        name="stride of a float",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), tensor(2, 1, 3, 3), stride=1.5),
        raises=TypeError,
        match=r"conv2d: stride is 1\.5",
    ),
    ErrorCase(
        op="conv2d",
        name="same padding with a stride",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), tensor(2, 1, 3, 3), None, 2, "same"),
        raises=RuntimeError,
        match=r"conv2d: padding='same' needs a stride of 1",
    ),
    ErrorCase(
        op="conv1d",
        name="rank",
        call=lambda op, tensor: op(tensor(1, 1, 4, 4), tensor(2, 1, 3)),
        raises=RuntimeError,
        match=r"conv1d: input has 4 dimensions",
    ),
]
