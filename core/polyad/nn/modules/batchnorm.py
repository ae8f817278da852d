"""Batch normalisation (Ioffe and Szegedy 2015), in one process and over several.

To add a dimensionality, derive from `BatchNorm` with the numbers of dimensions that its input may have.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ...arguments import check_dims
from ...base.device import Device
from ...base.dtypes import DType, bfloat16, float16, float32, int64
from ...distributed.groups import get_world_size, is_initialized
from ...distributed.nn.functional import all_reduce
from ...functions import cat
from ...history.grad_mode import no_grad
from ...ops.creation.factories import ones, tensor, zeros
from ...tensor import Tensor
from ...tensor.tensor import check_tensor, has_data
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["BatchNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Norm", "SyncBatchNorm"]


class Norm(Module):
    """What batch and instance normalisation have in common.

    Parameters weight and bias (num_features,), buffers running_mean and running_var (num_features,) and
    num_batches_tracked (); each is None where the settings do without it.
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
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Device | str | None,
        dtype: DType | None,
        bias: bool,
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
        check_tensor(input, type(self).__name__, "input")
        check_dims(
            self._get_name(), "input", input, self.input_dims, "reshape the input, or use the layer for its rank"
        )

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


class BatchNorm(Norm):
    """What the batch normalisation layers have in common."""

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
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

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
        result = self._normalize(input, from_batch, keep, momentum)
        if track and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)  # last, so that a refused batch does not count
        return result

    def _normalize(self, input: Tensor, from_batch: bool, keep: bool, momentum: float) -> Tensor:
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            from_batch,
            momentum,
            self.eps,
        )


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


class BatchNorm3d(BatchNorm):
    """Normalises each channel of (N, C, D, H, W) over batch and volume, then scales and shifts it.

    Arguments and modes as in `BatchNorm1d`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.BatchNorm3d(3)(polyad.zeros(4, 3, 2, 5, 5)).shape
    polyad.Size([4, 3, 2, 5, 5])
    """

    input_dims = (5,)


class SyncBatchNorm(BatchNorm):
    """Batch normalisation over the batches of all processes of a group.

    In a single process it is `BatchNorm1d`, `BatchNorm2d` or `BatchNorm3d`, by the input (N, C, *).

    Args:
        num_features: C.
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm1d`.
        process_group: the processes that normalise together.

    Raises:
        ValueError: the input has fewer than 2 dimensions.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.SyncBatchNorm(2)(polyad.tensor([[1.0, 4.0], [3.0, 4.0]])).round(decimals=3).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    process_group: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input(self, input: Tensor) -> None:
        check_tensor(input, type(self).__name__, "input")
        check_dims(self._get_name(), "input", input, range(2, 65), "add a dimension for the batch")

    def _normalize(self, input: Tensor, from_batch: bool, keep: bool, momentum: float) -> Tensor:
        group = self.process_group
        if not from_batch or not is_initialized() or get_world_size(group) == 1:
            return super()._normalize(input, from_batch, keep, momentum)
        # Half types hold neither the count nor the sums. The squares are those of deviations, and so take a second
        # exchange: the difference of large means and squares would leave nothing of the variance.
        x = input.to(float32) if input.dtype in (float16, bfloat16) else input
        axes, shape = [0, *range(2, x.ndim)], (1, -1, *(1,) * (x.ndim - 2))
        here = x.new_full((1,), x.numel() // x.shape[1])
        sums = all_reduce(cat([here, x.sum(axes)]), group=group)
        count, mean = sums[:1], sums[1:] / sums[:1]
        deviations = x - mean.view(shape)
        variance = all_reduce(deviations.square().sum(axes), group=group) / count
        if keep and self.running_mean is not None and self.running_var is not None:
            with no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
                unbiased = variance * (count / (count - 1))
                self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)
        result = deviations * (variance + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            result = result * self.weight.view(shape)
        return (result if self.bias is None else result + self.bias.view(shape)).to(input.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """*module* with each batch normalisation in it replaced by a `SyncBatchNorm` that has the same parameters,
        buffers and settings. A module that is none itself is changed in place and returned.

        >>> from polyad import nn
        >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2)))[0].num_features
        2
        """
        result = module
        if isinstance(module, BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for role in ("_parameters", "_buffers"):
                for name, value in getattr(module, role).items():
                    getattr(result, role)[name] = value
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


# By these names code for PyTorch asks whether a layer is of the family.
_NormBase = Norm
_BatchNorm = BatchNorm
