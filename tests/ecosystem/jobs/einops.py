"""einops: its functions on tensors, its layers with gradients."""

from __future__ import annotations

import einops
import einops.layers.torch as layers

from ..job import Run, job

PACKAGE = "einops"


@job("rearrange, reduce, repeat, einsum, pack")
def functions(run: Run) -> None:
    pictures = run.normal(2, 8, 12, 3).requires_grad_()
    patches = einops.rearrange(pictures, "b (h p) (w q) c -> b (h w) (p q c)", p=4, q=4)
    pooled = einops.reduce(pictures, "b (h 2) (w 2) c -> b c h w", "max")
    tiled = einops.repeat(pooled, "b c h w -> b c (h 2) (w 3)")
    product = einops.einsum(patches, run.normal(48, 5, seed=1), "b n d, d e -> b n e")
    packed, shapes = einops.pack([patches, product.expand(2, 6, 5)], "b n *")
    run.record("results", [patches, pooled, tiled, product, packed])
    run.record("shapes", [tuple(one) for one in shapes])
    (tiled.square().sum() + product.sin().sum() + packed.square().mean()).backward()
    run.record("gradient", pictures.grad)


@job("layers: Rearrange, Reduce, EinMix")
def trained(run: Run) -> None:
    model = run.torch.nn.Sequential(
        layers.Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=4, q=4),
        layers.EinMix("b n d -> b n e", weight_shape="d e", bias_shape="e", d=48, e=16),
        run.torch.nn.GELU(),
        layers.Reduce("b n e -> b e", "mean"),
    )
    run.same(model)
    pictures = run.normal(4, 3, 16, 16)
    run.record("output", model(pictures))
    run.train(model, lambda model: model(pictures).square().sum())
