"""What ends PyTorch's process or never returns, and therefore is not asked of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyad.base.dtypes import INTEGER, DType
from polyad_conformance.tolerance import wide

from .calls import Call, Given, leaves

CRASHES: dict[str, tuple[str, Callable[[Call], bool]]] = {
    "linalg.ldl_solve": ("pivots of no factorization are used as addresses", lambda call: True),
    "range": ("an integer dtype makes a fraction a step of 0", lambda call: _is_integer(call)),
    "binomial": ("probabilities and counts without meaning keep it busy for ever", lambda call: not _is_binomial(call)),
    "lu_unpack": (
        "pivots outside the matrix, or too many, are followed into other memory",
        lambda call: not _are_pivots(call),
    ),
    "as_strided": ("negative sizes make a tensor that cannot be read", lambda call: _has_negative(call.args[1:2])),
    "pdist": ("the gradient divides by the number of rows", lambda call: call.grad and _has_no_rows(call)),
    "nn.functional.pdist": ("as pdist", lambda call: call.grad and _has_no_rows(call)),
    "linalg.eig": ("nan", lambda call: not _is_finite(call)),
    "linalg.eigvals": ("nan", lambda call: not _is_finite(call)),
    "nn.functional.embedding_bag": (
        "offsets that do not go up from 0 to the end are followed into other memory",
        lambda call: not _are_offsets(call),
    ),
    "lstm": ("weights and states are read beyond their ends", lambda call: not _is_network(call, 4)),
    "gru": ("states without elements", lambda call: not _is_network(call, 3)),
    "rnn_tanh": ("as gru", lambda call: not _is_network(call, 1)),
    "rnn_relu": ("as gru", lambda call: not _is_network(call, 1)),
}
"""By function: the reason, and which of its calls."""


def crashes(call: Call) -> bool:
    """Whether PyTorch does not survive *call*."""
    return call.path in CRASHES and CRASHES[call.path][1](call)


def _is_integer(call: Call) -> bool:
    dtypes = [call.kwargs.get("dtype"), *[given.dtype for given in call.givens()]]
    return any(isinstance(dtype, DType) and dtype.category <= INTEGER for dtype in dtypes)


def _has_negative(sizes: object) -> bool:
    return any(isinstance(size, int) and size < 0 for size in leaves(sizes))


def _has_no_rows(call: Call) -> bool:
    return any(given.shape[:1] == (0,) for given in call.givens())


def _is_binomial(call: Call) -> bool:
    givens = [wide(given.values).real for given in call.givens()]
    if len(givens) < 2:
        return False
    with np.errstate(all="ignore"):
        count, prob = givens[0], givens[1]
        return bool(((count >= 0) & (count < 1e4)).all() and ((prob >= 0) & (prob <= 1)).all())


def _are_pivots(call: Call) -> bool:
    givens = [given.values for given in call.givens()]
    if len(givens) < 2 or givens[0].ndim < 2:
        return True  # refused
    matrices, pivots = givens[0].shape, givens[1]
    fits = pivots.shape == (*matrices[:-2], min(matrices[-2:]))
    return fits and bool(((pivots >= 1) & (pivots <= matrices[-2])).all())


def _are_offsets(call: Call) -> bool:
    index = call.args[0] if call.args else call.kwargs.get("input")
    offsets = call.args[2] if len(call.args) > 2 else call.kwargs.get("offsets")
    if not isinstance(index, Given) or not isinstance(offsets, Given) or offsets.values.dtype.kind not in "iu":
        return True  # refused, or none
    size, values = index.values.size, offsets.values.reshape(-1)
    if not values.size:
        return not size
    return bool(values[0] == 0 and (np.diff(values) >= 0).all() and values[-1] <= size)


def _is_finite(call: Call) -> bool:
    # A refused call is not known before it is made.
    givens = call.givens()
    return bool(givens) and all(np.isfinite(wide(given.values)).all() for given in givens)


def _is_network(call: Call, gates: int) -> bool:
    """Whether shapes are those of a network whose layers all have the first one's sizes."""
    given = list(call.args) + [call.kwargs[name] for name in NETWORK[len(call.args) :] if name in call.kwargs]
    if len(given) != len(NETWORK):
        return True  # refused
    x, hx, params, biases, layers, _, _, bidirectional, batch_first = given
    try:
        hidden, *cells = hx if gates == 4 else [hx]
        each = 4 if biases else 2
        count = x.shape[0 if batch_first else 1]
        many, features = layers * (2 if bidirectional else 1), x.shape[2]
        each += gates == 4 and len(params) == many * (each + 1)
        size, out = params[1].shape[0] // gates, params[1].shape[1]
        shapes = []
        for place in range(many):
            inner = features if place < many // layers else out * many // layers
            shapes += [
                (4 * size, inner),
                (4 * size, out),
                *[(4 * size,)] * (2 * bool(biases)),
                *[(out, size)] * (each % 2),
            ]
        return (
            [one.shape for one in params] == shapes
            and [one.shape for one in (hidden, *cells)] == [(many, count, one) for one in (out, size)][: 1 + len(cells)]
            and len({one.dtype for one in (x, hidden, *cells, *params)}) == 1
            and min(*x.shape, size, out) > 0
            and len(cells) == (gates == 4)
        )
    except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError):
        return False


NETWORK = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")


class Crash(Exception):
    """In the place of what PyTorch does not survive."""
