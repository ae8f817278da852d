"""Losses."""

from __future__ import annotations

import numpy as np

from . import ModuleSample

WEIGHT = [0.5, 1.0, 2.0, 0.25]


def same_shape(layer, arguments, functional, inputs, name=""):
    """A loss that compares elements of two tensors of a shape; it never broadcasts its target."""
    return ModuleSample(
        layer=layer,
        name=name,
        build=lambda torch: getattr(torch.nn, layer)(**arguments),
        inputs=inputs,
        functional=functional,
    )


def signs(make, shape):
    return make.random.choice([-1.0, 1.0], shape).astype(np.float32)


def two(make):
    return make((3, 4)), make((3, 4))


SAMPLES = [
    ModuleSample(
        layer="MSELoss",
        build=lambda torch: torch.nn.MSELoss(),
        inputs=two,
        functional=lambda F, layer, x, y: F.mse_loss(x, y),
        wrong=[lambda make: (make((3, 4)), make((3, 5)))],
    ),
    same_shape(
        "MSELoss", {"reduction": "none"}, lambda F, layer, x, y: F.mse_loss(x, y, reduction="none"), two, "none"
    ),
    ModuleSample(
        layer="L1Loss",
        build=lambda torch: torch.nn.L1Loss(reduction="sum"),
        inputs=two,
        functional=lambda F, layer, x, y: F.l1_loss(x, y, reduction="sum"),
        wrong=[lambda make: (make((3, 4)), make((3, 5)))],
    ),
    same_shape("SmoothL1Loss", {"beta": 0.7}, lambda F, layer, x, y: F.smooth_l1_loss(x, y, beta=0.7), two),
    same_shape("HuberLoss", {"delta": 0.7}, lambda F, layer, x, y: F.huber_loss(x, y, delta=0.7), two),
    same_shape(
        "KLDivLoss",
        {"reduction": "batchmean", "log_target": True},
        lambda F, layer, x, y: F.kl_div(x, y, reduction="batchmean", log_target=True),
        two,
        "log_target",
    ),
    same_shape(
        "KLDivLoss",
        {"reduction": "sum"},
        lambda F, layer, x, y: F.kl_div(x, y, reduction="sum"),
        lambda make: (make((3, 4)), make((3, 4), 0.1, 1)),
    ),
    same_shape(
        "PoissonNLLLoss",
        {"log_input": False, "full": True},
        lambda F, layer, x, y: F.poisson_nll_loss(x, y, False, True),
        lambda make: (make((3, 4), 0.5, 3), make((3, 4), 1.5, 6)),
    ),
    same_shape(
        "GaussianNLLLoss",
        {"full": True},
        lambda F, layer, x, y, v: F.gaussian_nll_loss(x, y, v, True),
        lambda make: (make((3, 4)), make((3, 4)), make((3, 4), 0.5, 2)),
    ),
    same_shape(
        "SoftMarginLoss",
        {},
        lambda F, layer, x, y: F.soft_margin_loss(x, y),
        lambda make: (make((3, 4)), signs(make, (3, 4))),
    ),
    same_shape(
        "HingeEmbeddingLoss",
        {"margin": 1.5},
        lambda F, layer, x, y: F.hinge_embedding_loss(x, y, 1.5),
        lambda make: (make((3, 4)), signs(make, (3, 4))),
    ),
    ModuleSample(
        layer="BCELoss",
        build=lambda torch: torch.nn.BCELoss(torch.tensor(WEIGHT)),
        inputs=lambda make: (make((3, 4), 0.1, 0.9), make((3, 4), 0.1, 0.9)),
        functional=lambda F, layer, x, y: F.binary_cross_entropy(x, y, layer.weight),
        wrong=[lambda make: (make((3, 4), 0.1, 0.9), make((3, 3), 0.1, 0.9))],
    ),
    ModuleSample(
        layer="BCEWithLogitsLoss",
        build=lambda torch: torch.nn.BCEWithLogitsLoss(torch.tensor(WEIGHT), pos_weight=torch.tensor(WEIGHT)),
        inputs=lambda make: (make((3, 4)), make((3, 4), 0, 1)),
        functional=lambda F, layer, x, y: F.binary_cross_entropy_with_logits(
            x, y, layer.weight, pos_weight=layer.pos_weight
        ),
        wrong=[lambda make: (make((3, 4)), make((3, 3)))],
    ),
    ModuleSample(
        layer="CrossEntropyLoss",
        build=lambda torch: torch.nn.CrossEntropyLoss(torch.tensor(WEIGHT), ignore_index=1, label_smoothing=0.1),
        inputs=lambda make: (make((5, 4)), np.array([0, 1, 3, 2, 0])),
        functional=lambda F, layer, x, y: F.cross_entropy(x, y, layer.weight, ignore_index=1, label_smoothing=0.1),
        wrong=[lambda make: (make((5, 4)), make.index((4,), 4)), lambda make: (make((5, 3)), make.index((5,), 3))],
    ),
    ModuleSample(
        layer="CrossEntropyLoss",
        name="probabilities",
        build=lambda torch: torch.nn.CrossEntropyLoss(),
        inputs=lambda make: (make((2, 4, 3)), make((2, 4, 3), 0, 1)),
        functional=lambda F, layer, x, y: F.cross_entropy(x, y),
    ),
    ModuleSample(
        layer="NLLLoss",
        build=lambda torch: torch.nn.NLLLoss(torch.tensor(WEIGHT), reduction="none"),
        inputs=lambda make: (make((2, 4, 3)), make.index((2, 3), 4)),
        functional=lambda F, layer, x, y: F.nll_loss(x, y, layer.weight, reduction="none"),
        wrong=[lambda make: (make((2, 4, 3)), make.index((2, 2), 4))],
    ),
    ModuleSample(
        layer="LinearCrossEntropyLoss",
        build=lambda torch: torch.nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True),
        inputs=lambda make: (make((5, 3)), make.index((5, 2), 4)),
        functional=lambda F, layer, x, y: F.cross_entropy(layer.linear(x).reshape(5, 4, 2), y),
        wrong=[lambda make: (make((5, 2)), make.index((5, 2), 4))],
    ),
    ModuleSample(
        layer="MultiMarginLoss",
        build=lambda torch: torch.nn.MultiMarginLoss(2, 1.5, torch.tensor(WEIGHT)),
        inputs=lambda make: (make((5, 4)), make.index((5,), 4)),
        functional=lambda F, layer, x, y: F.multi_margin_loss(x, y, 2, 1.5, layer.weight),
        wrong=[lambda make: (make((5, 4)), make.index((4,), 4))],
    ),
    ModuleSample(
        layer="MultiLabelMarginLoss",
        build=lambda torch: torch.nn.MultiLabelMarginLoss(),
        inputs=lambda make: (make((2, 4)), np.array([[3, 0, -1, 1], [2, -1, 0, 0]])),
        functional=lambda F, layer, x, y: F.multilabel_margin_loss(x, y),
        wrong=[lambda make: (make((2, 4)), make.index((2, 3), 3))],
    ),
    ModuleSample(
        layer="MultiLabelSoftMarginLoss",
        build=lambda torch: torch.nn.MultiLabelSoftMarginLoss(torch.tensor(WEIGHT)),
        inputs=lambda make: (make((3, 4)), make((3, 4), 0, 1)),
        functional=lambda F, layer, x, y: F.multilabel_soft_margin_loss(x, y, layer.weight),
    ),
    ModuleSample(
        layer="CTCLoss",
        build=lambda torch: torch.nn.CTCLoss(blank=2, zero_infinity=True),
        inputs=lambda make: (make((6, 2, 4), -3, -0.5), np.array([[0, 1, 3], [3, 3, 0]]), (6, 5), (3, 2)),
        call=lambda torch, layer, x, *rest: layer(x.log_softmax(2), *rest),
        functional=lambda F, layer, x, y, of_x, of_y: F.ctc_loss(x.log_softmax(2), y, of_x, of_y, 2, "mean", True),
        steps=128,
    ),
    ModuleSample(
        layer="MarginRankingLoss",
        build=lambda torch: torch.nn.MarginRankingLoss(0.3),
        inputs=lambda make: (make((6,)), make((6,)), signs(make, (6,))),
        functional=lambda F, layer, x, y, t: F.margin_ranking_loss(x, y, t, 0.3),
        wrong=[lambda make: (make((6,)), make((6,)), signs(make, (5,)))],
    ),
    ModuleSample(
        layer="CosineEmbeddingLoss",
        build=lambda torch: torch.nn.CosineEmbeddingLoss(0.3),
        inputs=lambda make: (make.nonzero((4, 3)), make.nonzero((4, 3)), np.array([1, -1, 1, -1])),
        functional=lambda F, layer, x, y, t: F.cosine_embedding_loss(x, y, t, 0.3),
        wrong=[lambda make: (make((4, 3)), make((4, 2)), np.array([1, -1, 1, -1]))],
    ),
    ModuleSample(
        layer="TripletMarginLoss",
        build=lambda torch: torch.nn.TripletMarginLoss(2.5, 3.0, swap=True),
        inputs=lambda make: (make((4, 3)), make((4, 3)), make((4, 3))),
        functional=lambda F, layer, a, p, n: F.triplet_margin_loss(a, p, n, 2.5, 3.0, swap=True),
        wrong=[lambda make: (make((4, 3)), make((4, 2)), make((4, 3)))],
    ),
    ModuleSample(
        layer="TripletMarginWithDistanceLoss",
        build=lambda torch: torch.nn.TripletMarginWithDistanceLoss(margin=2.5, swap=True),
        inputs=lambda make: (make((4, 3)), make((4, 3)), make((4, 3))),
        functional=lambda F, layer, a, p, n: F.triplet_margin_loss(a, p, n, 2.5, swap=True),
    ),
]
