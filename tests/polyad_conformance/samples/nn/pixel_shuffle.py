"""Channels moved to pixels and back; the references visit one pixel after the other."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING
from .fold import moved, refused

F = "nn.functional."


def pixel_shuffle(x, r):
    out = np.zeros((*x.shape[:-3], x.shape[-3] // r**2, x.shape[-2] * r, x.shape[-1] * r), x.dtype)
    for channel, i, j in np.ndindex(out.shape[-3:]):
        out[..., channel, i, j] = x[..., channel * r**2 + i % r * r + j % r, i // r, j // r]
    return out


def pixel_unshuffle(x, r):
    out = np.zeros((*x.shape[:-3], x.shape[-3] * r**2, x.shape[-2] // r, x.shape[-1] // r), x.dtype)
    for channel, i, j in np.ndindex(x.shape[-3:]):
        out[..., channel * r**2 + i % r * r + j % r, i // r, j // r] = x[..., channel, i, j]
    return out


def channel_shuffle(x, groups):
    each = x.shape[1] // groups
    return np.stack([x[:, at % groups * each + at // groups] for at in range(x.shape[1])], 1)


SAMPLES = [
    moved("pixel_shuffle", "images", (2, 8, 3, 2), 2, reference=pixel_shuffle),
    moved("pixel_shuffle", "every dtype", (9, 2, 1), 3, reference=pixel_shuffle, dtypes=EVERYTHING),
    moved("pixel_unshuffle", "images", (2, 3, 4, 6), 2, reference=pixel_unshuffle),
    moved("pixel_unshuffle", "every dtype", (1, 6, 3), 3, reference=pixel_unshuffle, dtypes=EVERYTHING),
    moved("channel_shuffle", "images", (2, 6, 2, 3), 3, reference=channel_shuffle),
    moved("channel_shuffle", "every dtype", (2, 6, 2), 2, reference=channel_shuffle, dtypes=EVERYTHING),
]

ERRORS = [
    refused("pixel_shuffle", "channels", RuntimeError, r"pixel_shuffle: 6 channels", 6, 2, 2, upscale_factor=2),
    refused("pixel_shuffle", "rank", RuntimeError, r"pixel_shuffle: input has 2 dimensions", 4, 2, upscale_factor=2),
    refused("pixel_unshuffle", "height", RuntimeError, r"pixel_unshuffle: height 3", 1, 3, 2, downscale_factor=2),
    refused("channel_shuffle", "groups", RuntimeError, r"channel_shuffle: 5 channels", 1, 5, 2, groups=2),
    refused(
        "channel_shuffle",
        "groups of a float",
        TypeError,
        r"channel_shuffle: groups is float, not an int",
        1,
        4,
        2,
        groups=2.0,
    ),
]
