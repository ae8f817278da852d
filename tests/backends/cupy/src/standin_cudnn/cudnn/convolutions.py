"""Convolutions as sums over the places of the kernel, written down once for the three operations."""

from __future__ import annotations

import itertools

import numpy as np

_ROLES = {
    "conv_fprop": ("image", "weight", None),
    "conv_dgrad": (None, "filter", "loss"),
    "conv_wgrad": ("image", None, "loss"),
}
"""Which operand is the image, the weight and the result of a convolution; None: what is computed."""


def check(name, sizes, result, settings):
    """Raise if the sizes are not those of a convolution."""
    image, weight, out = [result if role is None else sizes[role] for role in _ROLES[name]]
    if "bias" in sizes and sizes["bias"] != (1, out[1], *[1] * (len(out) - 2)):
        raise RuntimeError(f"a bias of {sizes['bias']} for {out}")
    before, behind, stride, dilation = settings
    count = len(image) - 2
    if count not in (2, 3) or any(len(each) != count for each in settings) or len(weight) != len(out) != count + 2:
        raise RuntimeError(f"a convolution of {image} by {weight} to {out} with {settings}")
    if image[0] != out[0] or weight[0] != out[1] or image[1] % weight[1] or weight[0] % (image[1] // weight[1]):
        raise RuntimeError(f"batch and channels of {image} by {weight} to {out}")
    for have, taps, places, *more in zip(image[2:], weight[2:], out[2:], before, behind, stride, dilation):
        first, last, step, apart = more
        if min(taps, step, apart) < 1 or min(first, last) < 0:
            raise RuntimeError(f"settings {settings}")
        if (have + first + last - apart * (taps - 1) - 1) // step + 1 != places:
            raise RuntimeError(f"{have} by {taps} is not {places} with {more}")


def compute(name, operands, shape, settings):
    """The operation *name* of arrays by their names, as an array of *shape*."""
    image, weight, out = [None if role is None else operands[role] for role in _ROLES[name]]
    before, behind, stride, dilation = settings
    x_shape, w_shape, y_shape = [shape if each is None else each.shape for each in (image, weight, out)]
    groups = x_shape[1] // w_shape[1]
    wide = (image if image is not None else out).dtype
    padded = np.zeros((x_shape[0], x_shape[1], *[a + b + c for a, b, c in zip(x_shape[2:], before, behind)]), wide)
    inside = tuple(slice(a, a + n) for a, n in zip(before, x_shape[2:]))
    if image is not None:
        padded[(..., *inside)] = image
    grouped = padded.reshape(x_shape[0], groups, w_shape[1], *padded.shape[2:])
    w = np.zeros(w_shape, wide) if weight is None else weight
    w = w.reshape(groups, w_shape[0] // groups, *w_shape[1:])
    y = np.zeros(y_shape, wide) if out is None else out
    y = y.reshape(y_shape[0], groups, w_shape[0] // groups, *y_shape[2:])
    for tap in itertools.product(*map(range, w_shape[2:])):
        window = tuple(
            slice(at * apart, at * apart + step * (places - 1) + 1, step)
            for at, apart, step, places in zip(tap, dilation, stride, y_shape[2:])
        )
        patch = grouped[(..., *window)]
        if out is None:
            y += np.einsum("ngc...,goc->ngo...", patch, w[(..., *tap)])
        elif image is None:
            patch += np.einsum("ngo...,goc->ngc...", y, w[(..., *tap)])
        else:
            w[(..., *tap)] = _outer(y, patch)
    if out is None:
        return y.reshape(shape) + operands.get("bias", 0)
    if image is None:
        return padded[(..., *inside)]
    return w.reshape(shape)


def _outer(y, x):
    """(groups, results, channels) of (images, groups, results, places..) and (images, groups, channels, places..)."""
    flat = [np.moveaxis(each, 0, 2).reshape(each.shape[1], each.shape[2], -1) for each in (y, x)]
    return np.matmul(flat[0], flat[1].swapaxes(1, 2))
