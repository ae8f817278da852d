"""Layers that learn the size of their input from the first input: ``LazyLinear(10)`` instead of ``Linear(784, 10)``.

Until then their parameters are `polyad.nn.UninitializedParameter`, which can be moved, cast, copied, saved and loaded;
then the layer becomes an ordinary one, of the class ``cls_to_become``. Give its parameters to an optimizer after that.

To add a lazy layer: derive from `LazyModuleMixin` and the layer, make it with the size 0, put uninitialised parameters
into the places of its own, and materialise these in ``initialize_parameters``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...base.device import Device
from ...base.dtypes import DType, int64
from ...errors import ArgumentError, NotSupported
from ...history.grad_mode import no_grad
from ...ops.creation.factories import tensor
from ...tensor import Tensor
from ..parameter import UninitializedBuffer, UninitializedError, UninitializedParameter, is_lazy
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, Norm
from .conv import Conv1d, Conv2d, Conv3d, ConvNd, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, ConvTransposeNd
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .linear import Linear
from .module import Module

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LazyModuleMixin",
]


class LazyModuleMixin(Module):
    """What makes a module lazy; stands before the layer's class among the bases of a derived class.

    Attributes:
        cls_to_become: the class that the module has after its first call; None if it keeps its own.

    Raises:
        RuntimeError: at the first call: ``initialize_parameters`` left a parameter without a shape.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.LazyLinear(3)
    >>> layer(polyad.zeros(2, 5)).shape, layer
    (polyad.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become: ClassVar[type[Any] | None] = None
    _waits: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waits = True

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes and starting values, from the arguments of the first call."""
        raise NotSupported(
            f"{type(self).__name__}: initialize_parameters is not defined", fix="define it in the lazy module's class"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise UninitializedError(
                f"{type(self).__name__}: initialize_parameters left parameters without a shape",
                fix="materialize all of them there",
            )
        self._waits = False
        if self.cls_to_become is not None:
            del self._waits
            self.__class__ = self.cls_to_become

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._waits:
            try:
                self._infer_parameters(args, kwargs)
            except Exception as error:
                problem = self._explained(args, kwargs, error)
                if problem is error:
                    raise
                raise problem from error
        return Module.__call__(self, *args, **kwargs)


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose ``in_features`` is the size of the first input's last dimension.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyLinear(3)(polyad.zeros(2, 5)).shape
    polyad.Size([2, 3])
    """

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.bias = UninitializedParameter(device=device, dtype=dtype) if bias else None

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if self.in_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the size from *input* (*, in_features)."""
        known = not self.has_uninitialized_params()  # loaded from a state
        self.in_features = int(self.weight.shape[1] if known else input.shape[-1])
        if not known:
            with no_grad():
                _materialize(self.weight, (self.out_features, self.in_features))
                _materialize(self.bias, (self.out_features,))
                self.reset_parameters()


def _materialize(member: Any, shape: tuple[int, ...]) -> None:
    if is_lazy(member):
        member.materialize(shape)


class _LazyConv(LazyModuleMixin, ConvNd):
    """What the lazy convolutions have in common."""

    def _wait_for_channels(
        self, out_channels: int, bias: bool, device: Device | str | None, dtype: DType | None
    ) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.bias = UninitializedParameter(device=device, dtype=dtype) if bias else None

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if self.in_channels and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *rest: Any, **more: Any) -> None:
        """Take the channels from *input* (N, in_channels, *) or (in_channels, *)."""
        name, d = type(self).__name__, self.spatial_dims
        if self.has_uninitialized_params():
            if input.ndim not in (d + 1, d + 2):
                raise ArgumentError(
                    f"{name}: input must be {d + 1}-d or {d + 2}-d, not {input.ndim}-d",
                    operands={"input": input},
                    fix="reshape the input, or use the layer for its rank",
                )
            channels = input.shape[-d - 1]
            if channels % self.groups:
                raise ArgumentError(
                    f"{name}: the channels of input must be divisible by groups: {channels} and {self.groups}",
                    operands={"input": input},
                    fix="choose groups among the divisors of the channels",
                )
            self.in_channels = channels
            with no_grad():
                _materialize(self.weight, self._weight_shape())
                _materialize(self.bias, (self.out_channels,))
                self.reset_parameters()
        else:  # loaded from a state
            self.in_channels = self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups


class _LazyNorm(LazyModuleMixin, Norm):
    """What the lazy normalisations have in common."""

    def _wait_for_features(
        self,
        affine: bool,
        track_running_stats: bool,
        bias: bool,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set parameters and running values to their starting values, once they have shapes."""
        if self.num_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the channels from *input*."""
        if self.has_uninitialized_params():
            self._check_input(input)
            alone = self.input_dims[-1] - 1 if self.cls_to_become in _WITHOUT_BATCH else -1
            self.num_features = input.shape[0 if input.ndim == alone else 1]
            for member in (self.weight, self.bias, self.running_mean, self.running_var):
                _materialize(member, (self.num_features,))
            self.reset_parameters()
        else:  # loaded from a state, or without parameters and buffers
            known = next((one for one in (self.weight, self.running_mean) if one is not None), None)
            self.num_features = input.shape[1] if known is None else known.shape[0]


_WITHOUT_BATCH = (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)


class _LazyConvolution(_LazyConv):
    """What the lazy convolutions that are not transposed have in common."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._wait_for_channels(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv, ConvTransposeNd):
    """What the lazy transposed convolutions have in common."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._wait_for_channels(out_channels, bias, device, dtype)


class _LazyBatchNorm(_LazyNorm):
    """What the lazy batch normalisations have in common."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self._wait_for_features(affine, track_running_stats, bias, device, dtype)


class _LazyInstanceNorm(_LazyNorm):
    """What the lazy instance normalisations have in common."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self._wait_for_features(affine, track_running_stats, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """`Conv1d` whose ``in_channels`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyConv1d(2, 2)(polyad.zeros(1, 3, 5)).shape
    polyad.Size([1, 2, 4])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """`Conv2d` whose ``in_channels`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyConv2d(2, 2)(polyad.zeros(1, 3, 5, 5)).shape
    polyad.Size([1, 2, 4, 4])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """`Conv3d` whose ``in_channels`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyConv3d(2, 2)(polyad.zeros(1, 3, 5, 5, 5)).shape
    polyad.Size([1, 2, 4, 4, 4])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """`ConvTranspose1d` whose ``in_channels`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyConvTranspose1d(2, 2)(polyad.zeros(1, 3, 5)).shape
    polyad.Size([1, 2, 6])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """`ConvTranspose2d` whose ``in_channels`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyConvTranspose2d(2, 2)(polyad.zeros(1, 3, 5, 5)).shape
    polyad.Size([1, 2, 6, 6])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """`ConvTranspose3d` whose ``in_channels`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyConvTranspose3d(2, 2)(polyad.zeros(1, 3, 5, 5, 5)).shape
    polyad.Size([1, 2, 6, 6, 6])
    """

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyBatchNorm, BatchNorm1d):
    """`BatchNorm1d` whose ``num_features`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyBatchNorm1d()(polyad.zeros(2, 3, 4)).shape
    polyad.Size([2, 3, 4])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm, BatchNorm2d):
    """`BatchNorm2d` whose ``num_features`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyBatchNorm2d()(polyad.zeros(2, 3, 4, 4)).shape
    polyad.Size([2, 3, 4, 4])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyBatchNorm, BatchNorm3d):
    """`BatchNorm3d` whose ``num_features`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyBatchNorm3d()(polyad.zeros(2, 3, 4, 4, 4)).shape
    polyad.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """`InstanceNorm1d` whose ``num_features`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyInstanceNorm1d()(polyad.zeros(2, 3, 4)).shape
    polyad.Size([2, 3, 4])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """`InstanceNorm2d` whose ``num_features`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyInstanceNorm2d()(polyad.zeros(2, 3, 4, 4)).shape
    polyad.Size([2, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """`InstanceNorm3d` whose ``num_features`` is the first input's.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LazyInstanceNorm3d()(polyad.zeros(2, 3, 4, 4, 4)).shape
    polyad.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
