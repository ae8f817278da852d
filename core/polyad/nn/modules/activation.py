"""Layers that apply a function elementwise or along a dimension; `PReLU` alone has a parameter.

What each computes, and what raises, is documented with its functional form in `polyad.nn.functional`.
"""

from __future__ import annotations

from ...base.device import Device
from ...base.dtypes import DType
from ...base.state import warn_user
from ...errors import ArgumentError, ConditionError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .attention import MultiheadAttention
from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _MayOverwrite(Module):
    """What the layers that can overwrite their input have in common."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def _settings(self) -> str:
        return ""

    def extra_repr(self) -> str:
        return ", ".join(filter(None, (self._settings(), "inplace=True" if self.inplace else "")))


class ReLU(_MayOverwrite):
    """max(0, x), elementwise. With *inplace* the input itself is overwritten.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReLU()(polyad.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class LeakyReLU(_MayOverwrite):
    """x where it is positive, else x times *negative_slope*, elementwise (Maas et al. 2013).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LeakyReLU(0.5)(polyad.tensor([-1.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    negative_slope: float

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def _settings(self) -> str:
        return f"negative_slope={self.negative_slope}"


class RReLU(_MayOverwrite):
    """A leaky ReLU whose negative slope is drawn for each element from [lower, upper) in training, and is their mean in
    evaluation (Xu et al. 2015).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.RReLU(0.0, 1.0).eval()(polyad.tensor([-1.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    lower: float
    upper: float

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def _settings(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


class PReLU(Module):
    """A leaky ReLU whose negative slope is learnt: a single one, or one for each channel (He et al. 2015).

    Shapes: input (N, C, *) -> the same; weight (num_parameters,).

    Args:
        num_parameters: 1, or C.
        init: the slope to start with.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.PReLU()(polyad.tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    num_parameters: int
    init: float
    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = uninitialized((num_parameters,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slope to ``init``."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class ELU(_MayOverwrite):
    """x where it is positive, else alpha * (exp(x) - 1), elementwise (Clevert et al. 2016).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ELU()(polyad.tensor([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    alpha: float

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def _settings(self) -> str:
        return f"alpha={self.alpha}"


class CELU(_MayOverwrite):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), elementwise (Barron 2017).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CELU()(polyad.tensor([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    alpha: float

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def _settings(self) -> str:
        return f"alpha={self.alpha}"


class SELU(_MayOverwrite):
    """`ELU` with the scale and alpha by which a network keeps mean 0 and variance 1 (Klambauer et al. 2017).

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.SELU()(polyad.ones(1)).item(), 4)
    1.0507
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_MayOverwrite):
    """x * sigmoid(x), elementwise (Elfwing et al. 2018). With *inplace* the input itself is overwritten.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.SiLU()(polyad.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_MayOverwrite):
    """x * tanh(softplus(x)), elementwise (Misra 2020).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Mish()(polyad.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Threshold(_MayOverwrite):
    """x where it is greater than *threshold*, else *value*, elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Threshold(1.0, 20.0)(polyad.tensor([1.0, 2.0])).tolist()
    [20.0, 2.0]
    """

    threshold: float
    value: float

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def _settings(self) -> str:
        return f"threshold={self.threshold}, value={self.value}"


class Hardtanh(_MayOverwrite):
    """x limited to [min_val, max_val], elementwise.

    Args:
        min_val: the least value.
        max_val: the greatest value, more than the least.
        inplace: overwrite the input.
        min_value, max_value: older names of the limits, deprecated.

    Raises:
        ValueError: the limits are not in order.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Hardtanh()(polyad.tensor([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """

    min_val: float
    max_val: float

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        if min_value is not None:
            warn_user("Hardtanh: min_value is deprecated; it is called min_val", FutureWarning)
            min_val = min_value
        if max_value is not None:
            warn_user("Hardtanh: max_value is deprecated; it is called max_val", FutureWarning)
            max_val = max_value
        if not min_val < max_val:
            raise ConditionError(
                f"{type(self).__name__}: max_val must be greater than min_val",
                operands={"min_val": min_val, "max_val": max_val},
                fix="exchange them",
            )
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def _settings(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class ReLU6(Hardtanh):
    """x limited to [0, 6], elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReLU6()(polyad.tensor([-3.0, 8.0])).tolist()
    [0.0, 6.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def _settings(self) -> str:
        return ""


class Hardsigmoid(_MayOverwrite):
    """x / 6 + 1 / 2 limited to [0, 1], elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Hardsigmoid()(polyad.tensor([-3.0, 0.0])).tolist()
    [0.0, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""  # PyTorch shows no inplace here


class Hardswish(_MayOverwrite):
    """x * hardsigmoid(x), elementwise (Howard et al. 2019).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Hardswish()(polyad.tensor([-3.0, 3.0])).tolist()
    [-0.0, 3.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""  # as in Hardsigmoid


class Hardshrink(Module):
    """x where its magnitude is greater than *lambd*, else 0, elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Hardshrink()(polyad.tensor([0.25, 2.0])).tolist()
    [0.0, 2.0]
    """

    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """x moved towards 0 by *lambd*, and 0 where its magnitude is less than that, elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Softshrink()(polyad.tensor([0.25, 2.0])).tolist()
    [0.0, 1.5]
    """

    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Tanhshrink(Module):
    """x - tanh(x), elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Tanhshrink()(polyad.zeros(1)).tolist()
    [0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softsign(Module):
    """x / (1 + abs(x)), elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Softsign()(polyad.ones(1)).tolist()
    [0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, elementwise; x itself where beta * x is greater than *threshold*.

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.Softplus()(polyad.zeros(1)).item(), 4)
    0.6931
    """

    beta: float
    threshold: float

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Sigmoid(Module):
    """1 / (1 + exp(-x)), elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Sigmoid()(polyad.zeros(2)).tolist()
    [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))), elementwise, computed without overflow.

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.LogSigmoid()(polyad.zeros(1)).item(), 4)
    -0.6931
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent, elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Tanh()(polyad.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class GELU(Module):
    """x * P(X <= x) for a standard normal X, elementwise (Hendrycks and Gimpel 2016).

    Args:
        approximate: ``"none"``, or ``"tanh"`` for the formula that replaces the error function by a tanh.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.GELU()(polyad.zeros(2)).tolist()
    [0.0, 0.0]
    """

    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half of dimension *dim* times the sigmoid of the second half (Dauphin et al. 2017).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.GLU()(polyad.tensor([4.0, 0.0])).tolist()
    [2.0]
    """

    dim: int

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _AlongDim(Module):
    """What the layers that normalise along a dimension have in common."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(x) divided by its sum along *dim*, so that the results along it are positive and add up to 1.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Softmax(dim=1)(polyad.zeros(1, 4)).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """The logarithm of `Softmax` along *dim*, computed without overflow.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LogSoftmax(dim=0)(polyad.zeros(1)).tolist()
    [0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(_AlongDim):
    """`Softmax` of -x along *dim*.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Softmin(dim=0)(polyad.zeros(2)).tolist()
    [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """`Softmax` over the channels of an image (N, C, H, W) or (C, H, W), at each place of it.

    Raises:
        ValueError: the input has another number of dimensions.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Softmax2d()(polyad.zeros(2, 1, 1)).flatten().tolist()
    [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        check_tensor(input, type(self).__name__, "input")
        if input.ndim not in (3, 4):
            raise ArgumentError(
                f"Softmax2d: input must be 3-d or 4-d, not {input.ndim}-d",
                operands={"input": input},
                fix="use Softmax(dim) for another number of dimensions",
            )
        return F.softmax(input, -3)
