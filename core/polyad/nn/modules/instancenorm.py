"""Instance normalisation (Ulyanov et al. 2017)."""

from __future__ import annotations

from ...base.device import Device
from ...base.dtypes import DType
from ...base.state import warn_user
from ...errors import ArgumentError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import functional as F
from .batchnorm import Norm

__all__ = ["InstanceNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class InstanceNorm(Norm):
    """What the instance normalisation layers have in common."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _without_batch(self) -> int:
        return self.input_dims[-1] - 1

    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel of each element of *input*, which may have no batch."""
        self._check_input(input)
        check_tensor(input, type(self).__name__, "input")
        alone = input.ndim == self._without_batch()
        features = input.shape[0 if alone else 1]
        if features != self.num_features:
            if self.affine:
                raise ArgumentError(
                    f"{self._get_name()}: input must have {self.num_features} channels, it has {features}",
                    operands={"input": input},
                    fix=f"make the layer with num_features={features}",
                )
            warn_user(
                f"{self._get_name()}: input has {features} channels, not {self.num_features}; without affine that "
                "changes nothing",
                UserWarning,
            )
        result = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if alone else result


class InstanceNorm1d(InstanceNorm):
    """Normalises each channel of each element of (N, C, L) or (C, L) over L.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: weight of a new batch in the running values.
        affine: whether there are learnt weight and bias.
        track_running_stats: whether running values are kept, and used in evaluation.
        bias: with ``affine``, whether there is a bias.

    Raises:
        ValueError: the input has another number of dimensions, one value a channel in training, or with ``affine``
        another number of channels.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.InstanceNorm1d(1)(polyad.tensor([[1.0, 3.0]])).round(decimals=3).tolist()
    [[-1.0, 1.0]]
    """

    input_dims = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """Normalises each channel of each image of (N, C, H, W) or (C, H, W). Arguments as in `InstanceNorm1d`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.InstanceNorm2d(3)(polyad.zeros(4, 3, 5, 5)).shape
    polyad.Size([4, 3, 5, 5])
    """

    input_dims = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """Normalises each channel of each volume of (N, C, D, H, W) or (C, D, H, W). Arguments as in `InstanceNorm1d`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.InstanceNorm3d(3)(polyad.zeros(4, 3, 2, 5, 5)).shape
    polyad.Size([4, 3, 2, 5, 5])
    """

    input_dims = (4, 5)


# By this name code for PyTorch asks whether a layer is of the family.
_InstanceNorm = InstanceNorm
