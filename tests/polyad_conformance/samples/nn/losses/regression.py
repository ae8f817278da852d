"""Losses of numbers."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float64, int64

from ....sample import ErrorCase, Sample
from . import pairs, refused, unknown_reduction


def smooth(x, t, beta=1.0):
    d = np.abs(x - t)
    return np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta) if beta else d


def huber(x, t, delta=1.0, weight=1.0):
    d = np.abs(x - t)
    return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)) * weight


def divergence(x, t, log_target=False):
    return np.exp(t) * (t - x) if log_target else t * (np.log(t) - x)


def poisson(x, t, log_input=True, full=False, eps=1e-8):
    loss = np.exp(x) - t * x if log_input else x - t * np.log(x + eps)
    if full:
        above = np.maximum(t, 1)
        loss = loss + np.where(t > 1, above * np.log(above) - above + 0.5 * np.log(2 * np.pi * above), 0)
    return loss


def gaussian(x, t, var, full=False, eps=1e-6):
    var = np.maximum(var[..., None] if np.ndim(var) == 1 else var, eps)
    return 0.5 * (np.log(var) + (x - t) ** 2 / var + (np.log(2 * np.pi) if full else 0))


def weighted_mean(element):
    def reference(x, t, weight):
        return (element(x - t) * weight).sum() / weight.sum()

    return reference


def weighted(op, element):
    return Sample(
        op=f"nn.functional.{op}",
        name="weight",
        inputs=lambda make: (make((3, 5)), make((3, 5)), None, None, "mean", make.positive((3, 5))),
        reference=lambda x, t, average, reduce, reduction, weight: weighted_mean(element)(x, t, weight),
        magnitude=lambda *given: 64.0,
        gradient=True,
        dtypes=(float64,),
        steps=8,
        length=30,
        expand=False,
    )


SAMPLES = [
    *(
        pairs("mse_loss", name, lambda x, t: (x - t) ** 2, **settings)
        for name, settings in (("mean", {}), ("sum", {"reduction": "sum"}), ("none", {"reduction": "none"}))
    ),
    weighted("mse_loss", np.square),
    pairs("l1_loss", "mean", lambda x, t: np.abs(x - t)),
    pairs("l1_loss", "none", lambda x, t: np.abs(x - t), reduction="none"),
    weighted("l1_loss", np.abs),
    pairs("smooth_l1_loss", "mean", smooth),
    pairs("smooth_l1_loss", "beta", smooth, beta=0.3, reduction="none"),
    pairs("smooth_l1_loss", "beta 0", smooth, beta=0.0, reduction="sum"),
    pairs("huber_loss", "mean", huber),
    pairs("huber_loss", "delta", huber, delta=0.3, reduction="none"),
    pairs(
        "huber_loss",
        "weight",
        lambda x, t, reduction, delta, weight: huber(x, t, delta, weight),
        inputs=lambda make: (make((3, 5)), make((3, 5)), "mean", 0.5, make.positive((3, 5))),
    ),
    pairs("kl_div", "mean", divergence, 0.1, 0.9),
    pairs("kl_div", "logarithms", divergence, log_target=True, reduction="sum"),
    Sample(
        op="nn.functional.kl_div",
        name="batchmean",
        inputs=lambda make: (make((3, 5)), make.positive((3, 5), 0.1, 0.9)),
        kwargs={"reduction": "batchmean"},
        reference=lambda x, t, reduction: divergence(x, t).sum() / 3,
        magnitude=lambda *given, **kwargs: 64.0,
        gradient=True,
        dtypes=(float64,),
        steps=6,
        length=15,
        expand=False,
    ),
    pairs("poisson_nll_loss", "logarithms", poisson),
    pairs("poisson_nll_loss", "rates, full", poisson, 0.25, 3.0, log_input=False, full=True, reduction="none"),
    pairs("poisson_nll_loss", "full", poisson, 0.25, 3.0, full=True, reduction="sum"),
    pairs("gaussian_nll_loss", "mean", gaussian, more=lambda make: (make.positive((3, 5)),)),
    pairs("gaussian_nll_loss", "a variance a row", gaussian, more=lambda make: (make.positive((3,)),), full=True),
    pairs("gaussian_nll_loss", "a number", gaussian, more=lambda make: (0.5,), reduction="none"),
    pairs("gaussian_nll_loss", "eps", gaussian, gradient=(0, 1), more=lambda make: (make.positive((3, 1)),), eps=1.5),
]

ERRORS = [
    ErrorCase(
        op="nn.functional.mse_loss",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(4, 2), tensor(4)),
        raises=RuntimeError,
        match=r"mse_loss: input \(4, 2\) and target \(4,\) do not broadcast\n.*input .*\n.*target",
    ),
    *(
        refused(
            op,
            "shapes differ",
            lambda op, tensor: op(tensor(4, 3), tensor(2, 4)),
            RuntimeError,
            r".*do not broadcast\n.*input .*\n.*target",
        )
        for op in ("l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss")
    ),
    *(unknown_reduction(op, (4,), (4,)) for op in ("mse_loss", "huber_loss", "kl_div", "poisson_nll_loss")),
    *(
        refused(
            op,
            "integers",
            lambda op, tensor: op(tensor(4, dtype=int64), tensor(4, dtype=int64)),
            RuntimeError,
            "int64 elements have no such loss",
        )
        for op in ("mse_loss", "smooth_l1_loss", "huber_loss", "kl_div")
    ),
    refused(
        "mse_loss",
        "weight",
        lambda op, tensor: op(tensor(3, 4), tensor(3, 4), weight=tensor(4)),
        ValueError,
        r"weight \(4,\) .*\n.*weight",
    ),
    refused(
        "smooth_l1_loss", "beta", lambda op, tensor: op(tensor(4), tensor(4), beta=-1.0), RuntimeError, r"beta -1\.0"
    ),
    refused("huber_loss", "delta", lambda op, tensor: op(tensor(4), tensor(4), delta=0.0), RuntimeError, r"delta 0\.0"),
    refused(
        "gaussian_nll_loss",
        "negative variance",
        lambda op, tensor: op(tensor(4), tensor(4), -tensor(4).abs() - 1),
        ValueError,
        r"a variance is negative\n.*var",
    ),
    refused(
        "gaussian_nll_loss",
        "variances",
        lambda op, tensor: op(tensor(3, 4), tensor(3, 4), tensor(4).abs()),
        ValueError,
        r"var \(4,\) does not fit input \(3, 4\)\n.*input .*\n.*var",
    ),
]
