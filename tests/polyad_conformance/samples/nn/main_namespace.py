"""Functions of layers in the main namespace: the references are those of nn.functional's, given in the other order."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, float64, int64

from ...sample import FLOATS, REAL_FLOATS, ErrorCase, Sample, as_int64, same
from .embedding import bags
from .grid_sampling import affine_grid, between_pixels, grid_sample
from .losses import reduced
from .losses.binary import binary_of_scores
from .losses.ranking import cosine, hinge, ranking, signs, triplet
from .losses.regression import divergence, poisson
from .losses.sequence import ctc, log_softmax
from .normalization import batch_norm, batch_norm_by, normalized
from .pooling.adaptive import maxima
from .pooling.maximum import max_pool

REDUCTIONS = ("none", "mean", "sum")


def loss(op, name, reference, inputs, reduction, gradient=True, **kwargs):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (*inputs(make), reduction),
        reference=lambda *given, **kwargs: reduced(reference(*given[:-1], **kwargs), REDUCTIONS[given[-1]]),
        magnitude=lambda *given, **kwargs: 64.0,
        kwargs=kwargs,
        dtypes=REAL_FLOATS,
        gradient=gradient,
        steps=8,
        length=16,
        expand=False,
    )


def sample(op, inputs, reference, gradient=True, **settings):
    settings = {"dtypes": REAL_FLOATS, "steps": 12, "length": 32, "magnitude": lambda *given: 16.0, **settings}
    return Sample(op=op, inputs=inputs, reference=reference, gradient=gradient, expand=False, **settings)


def halves(make, shape):
    return make(shape, 0.1, 0.9)


def shortened(table, rows, most, order):
    for row in np.unique(rows):
        length = (np.abs(table[row]) ** order).sum() ** (1 / order)
        if length > most:
            table[row] *= most / (length + 1e-7)
    return table


SAMPLES = [
    *[
        Sample(
            op=op,
            name="certain" if train else "not in training",
            inputs=lambda make, train=train: (make((2, 3, 4)), 1.0, train),
            reference=lambda x, p, train: 0 * x if train else x,
            dtypes=(float32, float64),
            gradient=(0,) if op == "feature_dropout" else False,
            aliasing="none" if train and op == "feature_dropout" else "view",
        )
        for op in ("feature_dropout",)
        for train in (True, False)
    ],
    *[
        Sample(
            op=op,
            inputs=lambda make: (make((2, 3, 4)), 1.0, True),
            call=lambda function, x, p, train: function(x.clone(), p, train),
            reference=lambda x, p, train: 0 * x,
            dtypes=(float32, float64),
        )
        for op in ("dropout_", "feature_dropout_", "alpha_dropout_", "feature_alpha_dropout_")
    ],
    sample(
        "embedding",
        lambda make: (make((5, 3)), make.index((2, 4), 5), 2),
        lambda table, rows, padding: table[rows],
        gradient=False,
        dtypes=FLOATS,
    ),
    sample(
        "embedding",
        lambda make: (make((5, 3)), make.index((6,), 5)),
        lambda table, rows: table[rows],
        gradient=(0,),
        name="no padding",
        dtypes=FLOATS,
    ),
    *[
        sample(
            "embedding_bag",
            lambda make, number=number: (
                make.distinct((5, 3)),
                make.index((7,), 5),
                np.array([0, 3, 3, 5]),
                False,
                number,
            ),
            lambda table, rows, offsets, by_frequency, number, how=how: (
                bags(rows, table, offsets, how),
                *[np.zeros(0, np.int64)] * 3,
            ),
            result=(same, as_int64, as_int64, as_int64),
            gradient=False,
            name=how,
        )
        for number, how in enumerate(("sum", "mean", "max"))
    ],
    sample(
        "embedding_renorm_",
        lambda make: (make.nonzero((5, 3)), np.array([0, 3, 0]), 0.5, 1.0),
        shortened,
        gradient=False,
        # A table of each sample's own, where only the rows are mapped.
        call=lambda function, table, rows, *rest: function(table + 0 * rows.sum(), rows, *rest),
    ),
    sample(
        "batch_norm",
        lambda make: (make((4, 3, 5)), make((3,)), make((3,)), None, None, True, 0.1, 0.5, True),
        lambda x, w, b, mean, var, training, momentum, eps, fast: batch_norm(x, w, b, eps),
    ),
    sample(
        "batch_norm",
        lambda make: (make((4, 3)), make((3,)), None, make((3,)), make.positive((3,)), False, 0.1, 0.5, False),
        lambda x, w, b, mean, var, training, momentum, eps, fast: batch_norm_by(x, mean, var, w, b, eps=eps),
        name="evaluation",
        gradient=(0, 1),
    ),
    sample(
        "instance_norm",
        lambda make: (make((2, 3, 5)), make((3,)), make((3,)), None, None, True, 0.1, 0.5, True),
        lambda x, w, b, mean, var, own, momentum, eps, fast: normalized(x, (2,), eps) * w[:, None] + b[:, None],
    ),
    loss(
        "binary_cross_entropy_with_logits",
        "weights",
        binary_of_scores,
        lambda make: (make((3, 5)), halves(make, (3, 5)), make.positive((3, 5)), make.positive((5,))),
        2,
    ),
    loss(
        "cosine_embedding_loss",
        "mean",
        cosine,
        lambda make: (make.nonzero((3, 4)), make.nonzero((3, 4)), np.array([1, -1, 0]), -1.5),
        1,
    ),
    loss(
        "hinge_embedding_loss",
        "none",
        hinge,
        lambda make: (make.nonzero((3, 4), 0.1, 0.8), signs(make, (3, 4)), 2.0),
        0,
    ),
    loss(
        "margin_ranking_loss",
        "sum",
        ranking,
        lambda make: (make.nonzero((3, 4)), make((3, 4), -0.1, 0.1), signs(make, (3, 4)), 0.2),
        2,
    ),
    loss("kl_div", "mean", divergence, lambda make: (make((3, 5)), halves(make, (3, 5))), 1),
    loss("kl_div", "logarithms", divergence, lambda make: (make((3, 5)), make((3, 5))), 0, log_target=True),
    loss(
        "poisson_nll_loss",
        "mean",
        poisson,
        lambda make: (make((3, 5)), make.positive((3, 5)), True, False, 1e-8),
        1,
    ),
    loss(
        "triplet_margin_loss",
        "sum",
        triplet,
        lambda make: (make((3, 4)), make((3, 4)), make((3, 4)), 4.0, 2.0, 1e-6, False),
        2,
    ),
    Sample(
        op="ctc_loss",
        inputs=lambda make: (
            log_softmax(make.of(float64)((4, 2, 3))).astype(make(()).dtype),
            np.array([[1, 2], [2, 1]]),
            np.array([4, 3]),
            np.array([2, 1]),
            0,
            2,
        ),
        reference=lambda *given: ctc(*given[:4], given[4], REDUCTIONS[given[5]]),
        magnitude=lambda *given: 32.0,
        dtypes=(float32, float64),
        gradient=(0,),
        steps=12,
        length=32,
        expand=False,
    ),
    Sample(
        op="grid_sampler",
        inputs=lambda make: (make((2, 3, 4, 5)), between_pixels(make, (2, 3, 2), (4, 5), True), 0, 1, True),
        reference=lambda x, grid, mode, padding, corners: grid_sample(x, grid, "bilinear", "border", corners),
        magnitude=lambda x, grid, *rest: np.full((*x.shape[:2], *grid.shape[1:-1]), np.abs(x).max()),
        dtypes=REAL_FLOATS,
        gradient=(0, 1),
        steps=60,
        length=16,
        expand=False,
    ),
    Sample(
        op="affine_grid_generator",
        inputs=lambda make: (make((2, 2, 3)), (2, 1, 3, 2), True),
        reference=affine_grid,
        magnitude=lambda theta, *rest: affine_grid(np.abs(theta), rest[0], True) * 0 + 6,
        dtypes=REAL_FLOATS,
        gradient=(0,),
        steps=6,
        length=4,
    ),
    Sample(
        op="adaptive_max_pool1d",
        inputs=lambda make: (make.distinct((2, 3, 7)), 3),
        reference=lambda x, size: maxima(1)(x, size, True),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
        gradient=(0,),
        expand=False,
    ),
    Sample(
        op="max_pool1d_with_indices",
        inputs=lambda make: (make.distinct((2, 3, 8)), 3, 2, 1),
        reference=lambda x, kernel, stride, padding: max_pool(1)(x, kernel, stride, padding, return_indices=True),
        dtypes=REAL_FLOATS,
        result=(same, as_int64),
        gradient=(0,),
        expand=False,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="a name for a number",
            call=lambda op, tensor: op(tensor(3), tensor(3), reduction="mean"),
            raises=(TypeError, ValueError, RuntimeError),
            match=r"reduction is (str, not an int|'mean')",
        )
        for op in ("hinge_embedding_loss", "kl_div", "binary_cross_entropy_with_logits")
    ],
    ErrorCase(
        op="embedding_bag",
        name="mode",
        call=lambda op, tensor: op(tensor(5, 2), tensor(3, dtype=int64), tensor(1, dtype=int64) * 0, mode=3),
        raises=(ValueError, RuntimeError),
        match=r"embedding_bag: mode is 3",
    ),
    ErrorCase(
        op="embedding",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 2), tensor(2, dtype=int64) + 3),
        raises=(IndexError, RuntimeError),
        match=r"embedding: ",
        fused=True,
    ),
    ErrorCase(
        op="embedding_renorm_",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 2), tensor(2, dtype=int64) + 3, 1.0, 2.0),
        raises=(IndexError, RuntimeError),
        match=r"= 3 is not in \[0, 3\)",
    ),
    ErrorCase(
        op="feature_dropout",
        name="no channels",
        call=lambda op, tensor: op(tensor(3), 0.5, True),
        raises=RuntimeError,
        match=r"feature_dropout: input of 1 dimensions has no channels\n.*input",
    ),
    ErrorCase(
        op="batch_norm",
        name="weight",
        call=lambda op, tensor: op(tensor(4, 3), tensor(4), None, None, None, True, 0.1, 1e-5, False),
        raises=RuntimeError,
        match=r"batch_norm: weight \(4,\).*3 channels.*\n.*input .*\n.*weight",
    ),
    ErrorCase(
        op="grid_sampler",
        name="an unknown mode",
        call=lambda op, tensor: op(tensor(1, 1, 2, 2), tensor(1, 2, 2, 2), 7, 0, True),
        raises=(RuntimeError, ValueError),
        match=r"grid_sampler: interpolation_mode is 7\n",
    ),
]
