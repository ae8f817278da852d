"""Names of PyTorch's inner modules, of which polyad has the thing under another name.

Libraries import them, so they are found; polyad's own place of each is the one to read and to document. A module of
which nothing but such names (and absent ones) is known is made by `polyad.compatibility.absent`; a module of polyad's
that lacks them takes ``__getattr__ = lacking(__name__)``, as for absent names.

To add a name, add a row: its path under ``torch``, and the path under ``polyad`` where the thing is.
"""

from __future__ import annotations

__all__ = ["ALIASES"]


def _same(module: str, there: str, names: str) -> dict[str, str]:
    return {f"{module}.{name}": f"{there}.{name}" for name in names.split()}


ALIASES: dict[str, str] = {
    "_C.Future": "futures.Future",
    "_C._nn._parse_to": "nn.conversion.parsed_to",
    "_dynamo.exc.TorchDynamoException": "errors.PolyadError",
    "_jit_internal.Future": "futures.Future",
    "_subclasses.fake_tensor.is_fake": "_C._is_fake",
    "_tensor.Tensor": "tensor.Tensor",
    **_same("cuda.amp.autocast_mode", "cuda.amp", "autocast custom_bwd custom_fwd"),
    **_same("cuda.amp.grad_scaler", "cuda.amp", "GradScaler"),
    **_same(
        "functional",
        "functions",
        """
        atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
        chain_matmul einsum lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index
        """,
    ),
    "distributed.constants.default_pg_timeout": "distributed.default_pg_timeout",
    "distributions.transforms._InverseTransform": "distributions.transform._InverseTransform",
    "distributions.utils._standard_normal": "distributions.utils.standard_normal",
    "distributions.utils._sum_rightmost": "distributions.utils.sum_rightmost",
    **_same("nn.parallel.scatter_gather", "nn.parallel.data_parallel", "gather scatter"),
    **_same("distributed._tensor", "distributed.placements", "Partial Replicate Shard"),
    **_same("distributed.tensor", "distributed.placements", "Partial Placement Replicate Shard"),
    **_same("distributed.tensor.placement_types", "distributed.placements", "Partial Placement Replicate Shard"),
    "legacy_contiguous_format": "base.memory_formats.contiguous_format",
    "nn.modules.transformer._get_activation_fn": "nn.modules.transformer.activation_named",
    "optim.optimizer.ParamsT": "optim.optimizer.Params",
    "optim.optimizer._default_to_fused_or_foreach": "optim.of_others.fused_or_foreach",
    "optim.optimizer._get_capturable_supported_devices": "optim.of_others.capturable_devices",
    "optim.optimizer._use_grad_for_differentiable": "optim.of_others.with_grad_if_differentiable",
    "optim.optimizer.required": "optim.of_others.required",
    "serialization.MAP_LOCATION": "serialization.MapLocation",
    **_same("profiler.profiler", "profiler", "ProfilerAction profile schedule tensorboard_trace_handler"),
}
"""Where a name of PyTorch's is in polyad."""
