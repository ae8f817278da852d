"""Convolutions and transposed convolutions, and windows as columns."""

from __future__ import annotations

from . import ModuleSample

SPATIAL = {1: (7,), 2: (6, 5), 3: (4, 5, 4)}


def plain(d):
    return ModuleSample(
        layer=f"Conv{d}d",
        build=lambda torch: getattr(torch.nn, f"Conv{d}d")(2, 3, 3),
        inputs=lambda make: (make((2, 2, *SPATIAL[d])),),
        functional=lambda F, layer, x: getattr(F, f"conv{d}d")(x, layer.weight, layer.bias),
        wrong=[
            lambda make: (make((2, 3, *SPATIAL[d])),),
            lambda make: (make((2, 2, *(2,) * d)),),
            lambda make: (make((4,)),),
        ],
    )


def settings(d):
    return ModuleSample(
        layer=f"Conv{d}d",
        name="settings",
        build=lambda torch: getattr(torch.nn, f"Conv{d}d")(4, 2, 3, 2, 1, 2, 2, bias=False),
        inputs=lambda make: (make((4, *SPATIAL[d])),),
        functional=lambda F, layer, x: getattr(F, f"conv{d}d")(x, layer.weight, None, 2, 1, 2, 2),
    )


def padded(d, mode):
    return ModuleSample(
        layer=f"Conv{d}d",
        name=f"same {mode}",
        build=lambda torch: getattr(torch.nn, f"Conv{d}d")(2, 2, 2, padding="same", padding_mode=mode),
        inputs=lambda make: (make((1, 2, *SPATIAL[d])),),
        functional=lambda F, layer, x: getattr(F, f"conv{d}d")(F.pad(x, (0, 1) * d, mode), layer.weight, layer.bias),
    )


def transposed(d):
    return ModuleSample(
        layer=f"ConvTranspose{d}d",
        build=lambda torch: getattr(torch.nn, f"ConvTranspose{d}d")(2, 3, 3),
        inputs=lambda make: (make((2, 2, *SPATIAL[d])),),
        functional=lambda F, layer, x: getattr(F, f"conv_transpose{d}d")(x, layer.weight, layer.bias),
        wrong=[lambda make: (make((2, 3, *SPATIAL[d])),), lambda make: (make((4,)),)],
    )


def transposed_settings(d):
    return ModuleSample(
        layer=f"ConvTranspose{d}d",
        name="settings",
        build=lambda torch: getattr(torch.nn, f"ConvTranspose{d}d")(4, 6, 2, 3, 1, 2, 2, False, 2),
        inputs=lambda make: (make((1, 4, *SPATIAL[d])),),
        functional=lambda F, layer, x: getattr(F, f"conv_transpose{d}d")(x, layer.weight, None, 3, 1, 2, 2, 2),
    )


def transposed_size(d):
    size = tuple(3 * size - 1 for size in SPATIAL[d])
    return ModuleSample(
        layer=f"ConvTranspose{d}d",
        name="output_size",
        build=lambda torch: getattr(torch.nn, f"ConvTranspose{d}d")(2, 1, 2, 3, 1),
        inputs=lambda make: (make((1, 2, *SPATIAL[d])), size),
        functional=lambda F, layer, x, size: getattr(F, f"conv_transpose{d}d")(x, layer.weight, layer.bias, 3, 1, 2),
        wrong=[
            lambda make: (make((1, 2, *SPATIAL[d])), tuple(3 * one for one in size)),
            lambda make: (make((1, 2, *SPATIAL[d])), (*size, 4, 4, 4)),
        ],
    )


SAMPLES = [
    *(form(d) for d in SPATIAL for form in (plain, settings, transposed, transposed_settings, transposed_size)),
    padded(1, "circular"),
    padded(2, "reflect"),
    padded(3, "replicate"),
    ModuleSample(
        layer="Unfold",
        build=lambda torch: torch.nn.Unfold((2, 3), 2, 1, 2),
        inputs=lambda make: (make((2, 3, 5, 6)),),
        functional=lambda F, layer, x: F.unfold(x, (2, 3), 2, 1, 2),
        wrong=[lambda make: (make((3, 5)),), lambda make: (make((2, 3, 1, 1)),)],
    ),
    ModuleSample(
        layer="Fold",
        build=lambda torch: torch.nn.Fold((4, 5), (2, 3), 1, 1, 2),
        inputs=lambda make: (make((2, 12, 9)),),
        functional=lambda F, layer, x: F.fold(x, (4, 5), (2, 3), 1, 1, 2),
        wrong=[lambda make: (make((2, 12, 8)),)],
    ),
]
