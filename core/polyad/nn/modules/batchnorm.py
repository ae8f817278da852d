"""Batch normalisation (Ioffe and Szegedy 2015).

To add a dimensionality, derive from `BatchNorm` with the numbers of dimensions that its input may have.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ...device import Device
from ...dtypes import DType, int64
from ...errors import ArgumentError
from ...ops.creation.factories import ones, tensor, zeros
from ...tensor import Tensor, has_data
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["BatchNorm", "BatchNorm1d", "BatchNorm2d"]


class BatchNorm(Module):
    """What the batch normalisation layers have in common.

    Parameters weight and bias (num_features,), buffers running_mean and running_var (num_features,) and
    num_batches_tracked ().
    """

    _version = 2  # 1 had no num_batches_tracked
    input_dims: ClassVar[tuple[int, ...]]

    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", uninitialized((num_features,), device, dtype) if affine else None)
        self.register_parameter("bias", uninitialized((num_features,), device, dtype) if affine and bias else None)
        tracked: dict[str, Tensor | None] = dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"))
        if track_running_stats:
            tracked["running_mean"] = zeros(num_features, device=device, dtype=dtype)
            tracked["running_var"] = ones(num_features, device=device, dtype=dtype)
            tracked["num_batches_tracked"] = tensor(0, dtype=int64, device=device)
        for name, buffer in tracked.items():
            self.register_buffer(name, buffer)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was tracked."""
        if self.running_mean is not None:
            self.running_mean.zero_()
        if self.running_var is not None:
            self.running_var.fill_(1)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget what was tracked and set weight to 1 and bias to 0."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input(self, input: Tensor) -> None:
        if input.ndim not in self.input_dims:
            wanted = " or ".join(f"{count}-d" for count in self.input_dims)
            raise ArgumentError(
                f"{self._get_name()}: input must be {wanted}, not {input.ndim}-d",
                operands={"input": input},
                fix="reshape the input, or use the layer for its rank",
            )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise *input* (N, num_features, ...) over all but the features; in training, track mean and variance."""
        self._check_input(input)
        track = self.training and self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        if track and self.momentum is None and self.num_batches_tracked is not None:
            so_far = self.num_batches_tracked.item() if has_data(self.num_batches_tracked) else 0
            momentum = 1.0 / (so_far + 1)  # a plain mean of all batches so far
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        result = F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            from_batch,
            momentum,
            self.eps,
        )
        if track and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)  # last, so that a refused batch does not count
        return result

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.num_batches_tracked is not None and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _describe(self) -> str:
        return f"{self._get_name()} {self.num_features}"


class BatchNorm1d(BatchNorm):
    """Normalises each feature of (N, C) or (N, C, L) over the batch, then scales and shifts it.

    In training with the batch's mean and variance, of which running values are kept; in evaluation with the running
    values.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: weight of a new batch in the running values; None for a plain mean over all batches.
        affine: whether there are learnt weight and bias.
        track_running_stats: whether running values are kept; without them, evaluation uses the batch's too.
        bias: with ``affine``, whether there is a bias.

    Raises:
        ValueError: the input has another number of dimensions, or one value a channel in training.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.BatchNorm1d(2)(polyad.tensor([[1.0, 4.0], [3.0, 4.0]])).round(decimals=3).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    input_dims = (2, 3)


class BatchNorm2d(BatchNorm):
    """Normalises each channel of (N, C, H, W) over batch, height and width, then scales and shifts it.

    Arguments and modes as in `BatchNorm1d`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.BatchNorm2d(3)(polyad.zeros(4, 3, 5, 5)).shape
    polyad.Size([4, 3, 5, 5])
    """

    input_dims = (4,)
