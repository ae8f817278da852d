"""Layers that multiply by a matrix, those that look rows up, and those that only change the shape."""

from __future__ import annotations

import numpy as np

from . import ModuleSample

SAMPLES = [
    ModuleSample(
        layer="Linear",
        build=lambda torch: torch.nn.Linear(3, 4),
        inputs=lambda make: (make((2, 5, 3)),),
        functional=lambda F, layer, x: F.linear(x, layer.weight, layer.bias),
        wrong=[lambda make: (make((2, 4)),)],
    ),
    ModuleSample(
        layer="Linear",
        name="no bias",
        build=lambda torch: torch.nn.Linear(3, 4, bias=False),
        inputs=lambda make: (make((3,)),),
        functional=lambda F, layer, x: F.linear(x, layer.weight),
    ),
    ModuleSample(
        layer="Bilinear",
        build=lambda torch: torch.nn.Bilinear(3, 4, 2),
        inputs=lambda make: (make((5, 3)), make((5, 4))),
        functional=lambda F, layer, x, y: F.bilinear(x, y, layer.weight, layer.bias),
        wrong=[lambda make: (make((5, 4)), make((5, 4))), lambda make: (make((5, 3)), make((4, 4)))],
    ),
    ModuleSample(layer="Identity", build=lambda torch: torch.nn.Identity(3, a=4), inputs=lambda make: (make((2, 3)),)),
    ModuleSample(
        layer="Flatten",
        build=lambda torch: torch.nn.Flatten(),
        inputs=lambda make: (make((2, 3, 4)),),
        functional=lambda F, layer, x: x.reshape(2, 12),
        wrong=[lambda make: (make((3,)),)],
    ),
    ModuleSample(
        layer="Unflatten",
        build=lambda torch: torch.nn.Unflatten(1, (2, 3)),
        inputs=lambda make: (make((4, 6)),),
        functional=lambda F, layer, x: x.reshape(4, 2, 3),
        wrong=[lambda make: (make((4, 5)),)],
    ),
    ModuleSample(
        layer="Embedding",
        build=lambda torch: torch.nn.Embedding(5, 3),
        inputs=lambda make: (make.index((2, 4), 5),),
        functional=lambda F, layer, x: F.embedding(x, layer.weight),
        wrong=[lambda make: (make.index((2, 4), 5) + 5,)],
    ),
    ModuleSample(
        layer="Embedding",
        name="padding",
        build=lambda torch: torch.nn.Embedding(5, 3, padding_idx=-1),
        inputs=lambda make: (make.index((2, 4), 4),),
        functional=lambda F, layer, x: F.embedding(x, layer.weight, 4),
    ),
    ModuleSample(
        layer="Embedding",
        name="max_norm",
        build=lambda torch: torch.nn.Embedding(5, 3, max_norm=0.5, norm_type=1.0),
        inputs=lambda make: (make.index((2, 4), 5),),
        gradient=False,
    ),
    ModuleSample(
        layer="EmbeddingBag",
        build=lambda torch: torch.nn.EmbeddingBag(5, 3),
        inputs=lambda make: (make.index((4, 3), 5),),
        functional=lambda F, layer, x: F.embedding_bag(x, layer.weight),
        wrong=[lambda make: (make.index((4,), 5), np.array([1, 2]))],
    ),
    ModuleSample(
        layer="EmbeddingBag",
        name="offsets",
        build=lambda torch: torch.nn.EmbeddingBag(5, 3, mode="sum"),
        inputs=lambda make: (make.index((6,), 5), np.array([0, 2, 2])),
        functional=lambda F, layer, x, offsets: F.embedding_bag(x, layer.weight, offsets, mode="sum"),
    ),
    ModuleSample(
        layer="EmbeddingBag",
        name="max and padding",
        build=lambda torch: torch.nn.EmbeddingBag(5, 3, mode="max", padding_idx=0, include_last_offset=True),
        inputs=lambda make: (make.index((6,), 4) + 1, np.array([0, 2, 6])),
        functional=lambda F, layer, x, offsets: F.embedding_bag(
            x, layer.weight, offsets, mode="max", padding_idx=0, include_last_offset=True
        ),
    ),
    ModuleSample(
        layer="EmbeddingBag",
        name="weights",
        build=lambda torch: torch.nn.EmbeddingBag(5, 3, mode="sum"),
        inputs=lambda make: (make.index((2, 3), 5), None, make((2, 3))),
        functional=lambda F, layer, x, offsets, weights: F.embedding_bag(
            x, layer.weight, mode="sum", per_sample_weights=weights
        ),
    ),
    ModuleSample(
        layer="AdaptiveLogSoftmaxWithLoss",
        build=lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0, head_bias=True),
        inputs=lambda make: (make((5, 8)), np.array([0, 2, 4, 7, 11])),
        wrong=[
            lambda make: (make((5, 7)), make.index((5,), 12)),
            lambda make: (make((4, 8)), make.index((5,), 12)),
            lambda make: (make((5, 8)), make.index((5,), 12) + 12),
        ],
    ),
    ModuleSample(
        layer="AdaptiveLogSoftmaxWithLoss",
        name="unbatched",
        build=lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0),
        inputs=lambda make: (make((8,)), np.array(4)),
    ),
    ModuleSample(
        layer="AdaptiveLogSoftmaxWithLoss",
        name="all classes",
        build=lambda torch: torch.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0),
        inputs=lambda make: (make((5, 8)),),
        call=lambda torch, layer, x: (layer.log_prob(x), layer.predict(x)),
    ),
    ModuleSample(
        layer="CosineSimilarity",
        build=lambda torch: torch.nn.CosineSimilarity(dim=0, eps=1e-6),
        inputs=lambda make: (make.nonzero((3, 4)), make.nonzero((3, 4))),
        functional=lambda F, layer, x, y: F.cosine_similarity(x, y, 0, 1e-6),
        wrong=[lambda make: (make((3, 4)), make((3, 5)))],
    ),
    ModuleSample(
        layer="PairwiseDistance",
        build=lambda torch: torch.nn.PairwiseDistance(3.0, keepdim=True),
        inputs=lambda make: (make((3, 4)), make((3, 4)) + 5),
        functional=lambda F, layer, x, y: F.pairwise_distance(x, y, 3.0, keepdim=True),
        wrong=[lambda make: (make((3, 4)), make((3, 5)))],
    ),
]
