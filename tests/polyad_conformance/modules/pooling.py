"""Pooling and unpooling, padding, and changes of size."""

from __future__ import annotations

from . import ModuleSample

SPATIAL = {1: (7,), 2: (6, 5), 3: (4, 5, 6)}


def fields(d):
    """Values of which none is near another, so that rounding decides no maximum."""
    return lambda make: (make.distinct((2, 2, *SPATIAL[d])) if d < 3 else make.distinct((1, 2, *SPATIAL[d])),)


def pool(layer, d, arguments, keywords, function, name="", **rest):
    return ModuleSample(
        layer=f"{layer}{d}d",
        name=name,
        build=lambda torch: getattr(torch.nn, f"{layer}{d}d")(*arguments, **keywords),
        inputs=fields(d),
        functional=lambda F, module, x: getattr(F, f"{function}{d}d")(x, *arguments, **keywords),
        **rest,
    )


def unpool(d):
    def inputs(make):
        x = make.distinct((1, 2, *(2 * (size // 2) for size in SPATIAL[d])))
        spatial = x.shape[2:]
        halves = x.reshape(2, *(size for whole in spatial for size in (whole // 2, 2)))
        order = (0, *range(1, 2 * d, 2), *range(2, 2 * d + 1, 2))
        windows = halves.transpose(order).reshape(2, *(size // 2 for size in spatial), 2**d)
        place = make.random.integers(0, 1, windows.shape[:-1])
        flat = _flat_places(spatial, place, d)
        return windows[..., 0][None], flat[None]

    return ModuleSample(
        layer=f"MaxUnpool{d}d",
        build=lambda torch: getattr(torch.nn, f"MaxUnpool{d}d")(2),
        inputs=inputs,
        functional=lambda F, layer, x, indices: getattr(F, f"max_unpool{d}d")(x, indices, 2),
        wrong=[lambda make: (make((1, 2, *SPATIAL[d])), make.index((1, 2, *(2,) * d), 4))],
    )


def _flat_places(spatial, place, d):
    """Where the first element of each window is in the flattened field."""
    import numpy as np

    corners = np.meshgrid(*(np.arange(0, size, 2) for size in spatial), indexing="ij")
    flat = np.ravel_multi_index(corners, spatial)
    return np.broadcast_to(flat, place.shape).astype(np.int64)


def pad(kind, d, arguments, mode, name=""):
    short = (1, 2, 2, 0, 1, 1)[: 2 * d] if name else 1
    sides = short if name else (1,) * (2 * d)
    return ModuleSample(
        layer=f"{kind}Pad{d}d",
        name=name,
        build=lambda torch: getattr(torch.nn, f"{kind}Pad{d}d")(short, *arguments),
        inputs=lambda make: (make((1, 2, *SPATIAL[d])),),
        functional=lambda F, layer, x: F.pad(x, sides, mode, *arguments),
        wrong=[] if mode == "constant" else [lambda make: (make((3,)),)],
    )


PADS = {"Constant": ((2.5,), "constant"), "Zero": ((), "constant"), "Reflection": ((), "reflect")}
PADS |= {"Replication": ((), "replicate"), "Circular": ((), "circular")}

SAMPLES = [
    *(
        pool(
            "MaxPool",
            d,
            (2,),
            {},
            "max_pool",
            wrong=[lambda make, d=d: (make((2,) * (d + 3)),), lambda make: (make(()),)],
        )
        for d in SPATIAL
    ),
    *(
        pool(
            "MaxPool",
            d,
            (3, 2, 1),
            {"dilation": 1, "return_indices": True, "ceil_mode": True},
            "max_pool",
            "settings",
        )
        for d in SPATIAL
    ),
    *(unpool(d) for d in SPATIAL),
    *(pool("AvgPool", d, (2,), {}, "avg_pool", wrong=[lambda make: (make(()),)]) for d in SPATIAL),
    *(
        pool("AvgPool", d, (3, 2, 1), {"ceil_mode": True, "count_include_pad": False}, "avg_pool", "settings")
        for d in SPATIAL
    ),
    *(pool("AvgPool", d, (2, 1), {"divisor_override": 3}, "avg_pool", "divisor") for d in (2, 3)),
    *(
        ModuleSample(
            layer=f"LPPool{d}d",
            build=lambda torch, d=d: getattr(torch.nn, f"LPPool{d}d")(2, 2, ceil_mode=True),
            inputs=lambda make, d=d: (make.positive((1, 2, *SPATIAL[d])),),
            functional=lambda F, layer, x, d=d: getattr(F, f"lp_pool{d}d")(x, 2.0, 2, ceil_mode=True),
        )
        for d in SPATIAL
    ),
    *(
        ModuleSample(
            layer=f"FractionalMaxPool{d}d",
            build=lambda torch, d=d: getattr(torch.nn, f"FractionalMaxPool{d}d")(2, output_size=3),
            inputs=lambda make, d=d: (make.distinct((1, 2, *(7, 7, 5)[:d])),),
            random="always",
            wrong=[lambda make: (make((2, 2)),)],
        )
        for d in (2, 3)
    ),
    *(
        ModuleSample(
            layer=f"FractionalMaxPool{d}d",
            name="ratio and places",
            build=lambda torch, d=d: getattr(torch.nn, f"FractionalMaxPool{d}d")(
                2, output_ratio=0.5, return_indices=True, _random_samples=torch.tensor([[[0.3] * d] * 2])
            ),
            inputs=lambda make, d=d: (make.distinct((1, 2, *(7, 7, 5)[:d])),),
        )
        for d in (2, 3)
    ),
    *(pool("AdaptiveAvgPool", d, (3,), {}, "adaptive_avg_pool", wrong=[lambda make: (make((2,)),)]) for d in SPATIAL),
    *(
        pool(
            "AdaptiveMaxPool",
            d,
            (3,),
            {"return_indices": True},
            "adaptive_max_pool",
            wrong=[lambda make: (make((2,)),)],
        )
        for d in SPATIAL
    ),
    *(pool("AdaptiveAvgPool", d, ((3, None, 2)[:d],), {}, "adaptive_avg_pool", "None") for d in (2, 3)),
    *(pad(kind, d, *how) for kind, how in PADS.items() for d in SPATIAL),
    *(pad(kind, d, *how, "sides") for kind, how in PADS.items() for d in SPATIAL),
    ModuleSample(
        layer="Upsample",
        build=lambda torch: torch.nn.Upsample(scale_factor=2),
        inputs=lambda make: (make((1, 2, 3)),),
        functional=lambda F, layer, x: F.interpolate(x, scale_factor=2.0),
        wrong=[lambda make: (make((2, 3)),)],
    ),
    ModuleSample(
        layer="Upsample",
        name="bilinear",
        build=lambda torch: torch.nn.Upsample((5, 4), mode="bilinear", align_corners=True),
        inputs=lambda make: (make((1, 2, 3, 3)),),
        functional=lambda F, layer, x: F.interpolate(x, (5, 4), mode="bilinear", align_corners=True),
        wrong=[lambda make: (make((1, 2, 3)),)],
    ),
    ModuleSample(
        layer="UpsamplingBilinear2d",
        build=lambda torch: torch.nn.UpsamplingBilinear2d(scale_factor=(2, 1.5)),
        inputs=lambda make: (make((1, 2, 3, 4)),),
        functional=lambda F, layer, x: F.interpolate(x, (6, 6), mode="bilinear", align_corners=True),
    ),
    ModuleSample(
        layer="UpsamplingNearest2d",
        build=lambda torch: torch.nn.UpsamplingNearest2d(5),
        inputs=lambda make: (make((1, 2, 3, 3)),),
        functional=lambda F, layer, x: F.interpolate(x, 5),
    ),
    ModuleSample(
        layer="PixelShuffle",
        build=lambda torch: torch.nn.PixelShuffle(2),
        inputs=lambda make: (make((1, 8, 2, 3)),),
        functional=lambda F, layer, x: F.pixel_shuffle(x, 2),
        wrong=[lambda make: (make((1, 7, 2, 3)),)],
    ),
    ModuleSample(
        layer="PixelUnshuffle",
        build=lambda torch: torch.nn.PixelUnshuffle(2),
        inputs=lambda make: (make((1, 2, 4, 6)),),
        functional=lambda F, layer, x: F.pixel_unshuffle(x, 2),
        wrong=[lambda make: (make((1, 2, 3, 6)),)],
    ),
    ModuleSample(
        layer="ChannelShuffle",
        build=lambda torch: torch.nn.ChannelShuffle(2),
        inputs=lambda make: (make((1, 6, 2)),),
        functional=lambda F, layer, x: F.channel_shuffle(x, 2),
        wrong=[lambda make: (make((1, 5, 2)),)],
    ),
]
