"""Normalisation and dropout."""

from __future__ import annotations

from . import ModuleSample

SPATIAL = {1: (5,), 2: (3, 2), 3: (2, 2, 3)}


def batch(layer, d):
    return ModuleSample(
        layer=layer,
        name="" if layer != "SyncBatchNorm" else f"{d}-d",
        build=lambda torch: getattr(torch.nn, layer)(3, eps=1e-3, momentum=0.3),
        inputs=lambda make: (make((4, 3, *SPATIAL[d])),),
        functional=lambda F, layer, x: F.batch_norm(
            x, layer.running_mean, layer.running_var, layer.weight, layer.bias, layer.training, 0.3, 1e-3
        ),
        wrong=[lambda make: (make((4, 2, *SPATIAL[d])),), lambda make: (make((4,)),)],
        steps=128,
    )


def instance(d):
    return ModuleSample(
        layer=f"InstanceNorm{d}d",
        build=lambda torch: getattr(torch.nn, f"InstanceNorm{d}d")(3, eps=1e-3),
        inputs=lambda make: (make((2, 3, *SPATIAL[d])),),
        functional=lambda F, layer, x: F.instance_norm(x, eps=1e-3),
        wrong=[lambda make: (make((3,)),)],
        steps=128,
    )


def tracked_instance(d):
    return ModuleSample(
        layer=f"InstanceNorm{d}d",
        name="affine, tracked, without batch",
        build=lambda torch: getattr(torch.nn, f"InstanceNorm{d}d")(3, affine=True, track_running_stats=True),
        inputs=lambda make: (make((3, *SPATIAL[d])),),
        functional=lambda F, layer, x: F.instance_norm(
            x[None], layer.running_mean, layer.running_var, layer.weight, layer.bias, layer.training
        )[0],
        wrong=[lambda make: (make((2, *SPATIAL[d])),)],
        steps=128,
    )


def dropout(layer, shape):
    return ModuleSample(
        layer=layer,
        build=lambda torch: getattr(torch.nn, layer)(0.4),
        inputs=lambda make: (make(shape),),
        functional=lambda F, layer, x: x,
        random="training",
    )


SAMPLES = [
    *(batch(f"BatchNorm{d}d", d) for d in SPATIAL),
    batch("SyncBatchNorm", 2),
    *(instance(d) for d in SPATIAL),
    *(tracked_instance(d) for d in SPATIAL),
    ModuleSample(
        layer="BatchNorm1d",
        name="untracked",
        build=lambda torch: torch.nn.BatchNorm1d(3, track_running_stats=False, bias=False),
        inputs=lambda make: (make((6, 3)),),
        functional=lambda F, layer, x: F.batch_norm(x, None, None, layer.weight, None, True),
        steps=128,
    ),
    ModuleSample(
        layer="BatchNorm1d",
        name="mean of all batches",
        build=lambda torch: torch.nn.BatchNorm1d(3, momentum=None, affine=False),
        inputs=lambda make: (make((6, 3)),),
        functional=lambda F, layer, x: F.batch_norm(
            x, layer.running_mean, layer.running_var, None, None, layer.training, 1.0
        ),
        steps=128,
    ),
    ModuleSample(
        layer="LayerNorm",
        build=lambda torch: torch.nn.LayerNorm((3, 4)),
        inputs=lambda make: (make((2, 3, 4)),),
        functional=lambda F, layer, x: F.layer_norm(x, (3, 4), layer.weight, layer.bias),
        wrong=[lambda make: (make((2, 4, 3)),)],
        steps=128,
    ),
    ModuleSample(
        layer="LayerNorm",
        name="no bias",
        build=lambda torch: torch.nn.LayerNorm(4, eps=1e-3, bias=False),
        inputs=lambda make: (make((2, 4)),),
        functional=lambda F, layer, x: F.layer_norm(x, (4,), layer.weight, None, 1e-3),
        steps=128,
    ),
    ModuleSample(
        layer="RMSNorm",
        build=lambda torch: torch.nn.RMSNorm((3, 4), eps=1e-3),
        inputs=lambda make: (make((2, 3, 4)),),
        functional=lambda F, layer, x: F.rms_norm(x, (3, 4), layer.weight, 1e-3),
        wrong=[lambda make: (make((2, 4, 3)),)],
        steps=128,
    ),
    ModuleSample(
        layer="GroupNorm",
        build=lambda torch: torch.nn.GroupNorm(2, 4, eps=1e-3),
        inputs=lambda make: (make((2, 4, 3)),),
        functional=lambda F, layer, x: F.group_norm(x, 2, layer.weight, layer.bias, 1e-3),
        wrong=[lambda make: (make((2, 3, 3)),), lambda make: (make((4,)),)],
        steps=128,
    ),
    ModuleSample(
        layer="LocalResponseNorm",
        build=lambda torch: torch.nn.LocalResponseNorm(2, 0.1, 0.5, 2.0),
        inputs=lambda make: (make((2, 4, 3)),),
        functional=lambda F, layer, x: F.local_response_norm(x, 2, 0.1, 0.5, 2.0),
        wrong=[lambda make: (make((4, 3)),)],
        steps=128,
    ),
    ModuleSample(
        layer="CrossMapLRN2d",
        build=lambda torch: torch.nn.CrossMapLRN2d(3, 0.1, 0.5, 2.0),
        inputs=lambda make: (make((2, 4, 3, 2)),),
        wrong=[lambda make: (make((2, 4, 3)),)],
        steps=128,
    ),
    dropout("Dropout", (5, 8)),
    dropout("Dropout1d", (4, 8, 3)),
    dropout("Dropout2d", (4, 8, 3, 2)),
    dropout("Dropout3d", (4, 8, 2, 2, 2)),
    dropout("AlphaDropout", (5, 8)),
    dropout("FeatureAlphaDropout", (4, 8, 3)),
]
