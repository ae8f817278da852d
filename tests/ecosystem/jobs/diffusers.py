"""diffusers: networks that remove noise, autoencoders, schedulers, a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..job import Run, job
from . import load_torchvision

load_torchvision()

import diffusers  # noqa: E402

PACKAGE = "diffusers"

UNET = {"sample_size": 16, "in_channels": 4, "out_channels": 4, "layers_per_block": 1, "block_out_channels": (16, 32),
        "norm_num_groups": 8}  # fmt: skip
TEXT = {"cross_attention_dim": 16, "attention_head_dim": 8,
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D")}  # fmt: skip
BLOCKS = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2,
          "block_out_channels": (16, 32), "norm_num_groups": 8, "sample_size": 16}  # fmt: skip
HEADS = {"num_attention_heads": 2, "attention_head_dim": 8, "num_layers": 2, "sample_size": 8, "patch_size": 2,
         "in_channels": 4}  # fmt: skip


def network(name: str, options: dict[str, Any], inputs: Callable[[Run], dict[str, Any]]) -> None:
    def run_network(run: Run) -> None:
        model = run.same(getattr(diffusers, name)(**options).eval())
        given = inputs(run)
        with run.torch.no_grad():
            output = model(**given).sample
            run.record("output", output)

        def forward() -> Any:
            with run.torch.no_grad():
                return model(**given)

        run.time("forward", forward)
        model.save_pretrained(run.folder / "model")
        again = type(model).from_pretrained(run.other / "model")
        run.record("read", all(bool((one == again.state_dict()[key]).all()) for key, one in model.state_dict().items()))
        run.train(model, lambda model: model(**given).sample.square().mean(), rate=1e-3)

    job(name)(run_network)


def noised(run: Run, **more: Any) -> dict[str, Any]:
    return {"sample": run.normal(2, 4, 16, 16), "timestep": run.integers(100, 2), **more}


def patches(run: Run, **more: Any) -> dict[str, Any]:
    return {"hidden_states": run.normal(2, 4, 8, 8), "timestep": run.integers(100, 2), **more}


network("UNet2DModel", {**UNET, "attention_head_dim": 8, "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
                        "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}, noised)  # fmt: skip
network(
    "UNet2DConditionModel", UNET | TEXT, lambda run: noised(run, encoder_hidden_states=run.normal(2, 7, 16, seed=2))
)
network("UNet1DModel", {"sample_size": 32, "in_channels": 2, "out_channels": 2, "extra_in_channels": 64,
                        "block_out_channels": (32, 64), "down_block_types": ("DownBlock1DNoSkip", "AttnDownBlock1D"),
                        "up_block_types": ("AttnUpBlock1D", "UpBlock1DNoSkip")},
        lambda run: {"sample": run.normal(2, 2, 32), "timestep": run.integers(100, 2)})  # fmt: skip
network("UNet3DConditionModel", {**UNET, "cross_attention_dim": 16, "attention_head_dim": 8,
                                 "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
                                 "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D")},
        lambda run: {"sample": run.normal(1, 4, 3, 16, 16), "timestep": 10,
                     "encoder_hidden_states": run.normal(1, 7, 16, seed=2)})  # fmt: skip
network("AutoencoderKL", {**BLOCKS, "latent_channels": 4}, lambda run: {"sample": run.normal(2, 3, 16, 16)})
network("VQModel", {**BLOCKS, "num_vq_embeddings": 16, "latent_channels": 4},
        lambda run: {"sample": run.normal(2, 3, 16, 16)})  # fmt: skip
network("AutoencoderTiny", {"encoder_block_out_channels": (16, 16), "decoder_block_out_channels": (16, 16),
                            "num_encoder_blocks": (1, 1), "num_decoder_blocks": (1, 1)},
        lambda run: {"sample": run.normal(2, 3, 16, 16)})  # fmt: skip
network("DiTTransformer2DModel", {**HEADS, "num_embeds_ada_norm": 100, "norm_num_groups": 4},
        lambda run: patches(run, class_labels=run.integers(100, 2, seed=3)))  # fmt: skip
network("PixArtTransformer2DModel", {**HEADS, "cross_attention_dim": 16, "caption_channels": 12, "norm_num_groups": 4,
                                     "use_additional_conditions": False, "out_channels": 8},
        lambda run: patches(run, encoder_hidden_states=run.normal(2, 5, 12, seed=4)))  # fmt: skip
network("SD3Transformer2DModel", {**HEADS, "joint_attention_dim": 16, "caption_projection_dim": 16, "out_channels": 4,
                                  "pooled_projection_dim": 24, "pos_embed_max_size": 8},
        lambda run: patches(run, encoder_hidden_states=run.normal(2, 5, 16, seed=4),
                            pooled_projections=run.normal(2, 24, seed=5)))  # fmt: skip

SCHEDULERS: dict[str, dict[str, Any]] = {
    "DDPMScheduler": {},
    "DDIMScheduler": {},
    "DDIMInverseScheduler": {},
    "PNDMScheduler": {"skip_prk_steps": True},
    "LMSDiscreteScheduler": {},
    "EulerDiscreteScheduler": {},
    "EulerAncestralDiscreteScheduler": {},
    "HeunDiscreteScheduler": {},
    "KDPM2DiscreteScheduler": {},
    "KDPM2AncestralDiscreteScheduler": {},
    "DPMSolverMultistepScheduler": {},
    "DPMSolverSinglestepScheduler": {},
    "DEISMultistepScheduler": {},
    "UniPCMultistepScheduler": {},
    "SASolverScheduler": {},
    "EDMEulerScheduler": {},
    "FlowMatchEulerDiscreteScheduler": {},
    "FlowMatchHeunDiscreteScheduler": {},
    "LCMScheduler": {},
    "TCDScheduler": {},
}
"""Schedulers; what is drawn in a step is replaced by numbers that are the same on both sides."""


def schedule(name: str) -> Callable[[Run], None]:
    def run_scheduler(run: Run) -> None:
        scheduler = getattr(diffusers, name)(**SCHEDULERS[name])
        with_fixed_noise(run, scheduler)
        scheduler.set_timesteps(8)
        sample = run.normal(2, 3, 8, 8)
        run.record("timesteps", scheduler.timesteps, depth=8)
        for number, time in enumerate(scheduler.timesteps):
            given = scheduler.scale_model_input(sample, time) if hasattr(scheduler, "scale_model_input") else sample
            sample = scheduler.step(0.1 * given, time, sample).prev_sample
            run.record(f"sample{number}", sample, depth=16 * (number + 1))
        if hasattr(scheduler, "add_noise"):
            noise = run.normal(2, 3, 8, 8, seed=1)
            times = scheduler.timesteps[:2]
            run.record("noised", scheduler.add_noise(run.normal(2, 3, 8, 8), noise, times), depth=16)

    return run_scheduler


def with_fixed_noise(run: Run, scheduler: Any) -> None:
    """Let the scheduler's module draw the same noise on both sides."""
    import importlib

    module = importlib.import_module(type(scheduler).__module__)
    seeds = iter(range(100, 200))

    def randn(shape: Any, **options: Any) -> Any:
        return run.normal(*shape, seed=next(seeds))

    if hasattr(module, "randn_tensor"):
        module.randn_tensor = randn


for name in SCHEDULERS:
    job(name)(schedule(name))


@job("DDIMPipeline, from noise to a picture, written and read")
def pipeline(run: Run) -> None:
    unet = run.same(diffusers.UNet2DModel(**{**UNET, "in_channels": 3, "out_channels": 3,
                                             "down_block_types": ("DownBlock2D",) * 2,
                                             "up_block_types": ("UpBlock2D",) * 2}).eval())  # fmt: skip
    made = diffusers.DDIMPipeline(unet=unet, scheduler=diffusers.DDIMScheduler())
    made.set_progress_bar_config(disable=True)
    made.save_pretrained(run.folder / "pipeline")
    read = diffusers.DDIMPipeline.from_pretrained(run.other / "pipeline")
    read.set_progress_bar_config(disable=True)
    with_fixed_picture(run)
    run.record("picture", read(batch_size=1, num_inference_steps=4, output_type="np").images, depth=16 * run.depth)


def with_fixed_picture(run: Run) -> None:
    """Let the pipeline begin with the same noise on both sides."""
    import importlib

    module = importlib.import_module("diffusers.pipelines.ddim.pipeline_ddim")
    module.randn_tensor = lambda shape, **options: run.normal(*shape, seed=7)  # type: ignore[attr-defined]
