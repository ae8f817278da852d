"""Filling tensors with starting values.

All functions write into their tensor, record nothing and return it. Those named after an author choose the spread
such that signals keep their variance through a layer: forwards (fan_in), backwards (fan_out) or in between (xavier).
"""

from __future__ import annotations

import math
import warnings
from functools import wraps
from typing import Any

from .. import linalg, special
from ..arguments import check_choice, check_dims, check_divisible, check_type, explain
from ..base.dtypes import float32, float64
from ..base.state import warn_user
from ..compatibility.absent import lacking
from ..devices import registry
from ..errors import ArgumentError
from ..functions import empty, rand
from ..history.grad_mode import no_grad
from ..random import Generator
from ..tensor import Tensor
from ..tensor.tensor import has_data

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

__getattr__ = lacking(__name__)

_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_GAINS = {
    **dict.fromkeys(("linear", *_CONVOLUTIONS, "sigmoid"), 1.0),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def _check(op: str, tensor: Any) -> Tensor:
    if not isinstance(tensor, Tensor):
        check_type(op, "tensor", tensor, Tensor, "a Tensor")
    checked: Tensor = tensor
    return checked


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By what factor a layer's weights must be larger so that the nonlinearity after it keeps the variance.

    Args:
        nonlinearity: ``"relu"``, ``"tanh"``, ``"leaky_relu"``, ``"selu"``, or a linear function such as ``"linear"`` or
        ``"sigmoid"``. param: the negative slope of ``"leaky_relu"``, 0.01 by default.

    Raises:
        ValueError: the nonlinearity is unknown, or *param* no number.

    >>> from polyad import nn
    >>> nn.init.calculate_gain("relu") ** 2
    2.0000000000000004
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ArgumentError(
                "calculate_gain: the negative slope must be a number", operands={"param": param}, fix="pass a float"
            )
        return math.sqrt(2.0 / (1 + slope**2))
    check_choice("calculate_gain", "nonlinearity", nonlinearity, ("leaky_relu", *_GAINS))
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.uniform_(polyad.empty(3, 5), -1, 1).abs().max().item() <= 1
    True
    """
    with no_grad():
        return _check("uniform_", tensor).uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn from the normal distribution.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.normal_(polyad.empty(3, 5), std=0.02).shape
    polyad.Size([3, 5])
    """
    with no_grad():
        return _check("normal_", tensor).normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers drawn from the normal distribution, those outside [a, b] being drawn again.

    Args:
        tensor: what to fill.
        mean, std: of the normal distribution.
        a, b: the least and the greatest number.
        generator: where the random numbers come from; the device's default generator unless given.

    Numbers are found by the inverse of the distribution function, so that none is really drawn twice.

    Raises:
        ValueError: *a* is not less than *b*, or *std* not positive.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.trunc_normal_(polyad.empty(3, 5), a=0.5, b=1.0).min().item() >= 0.5
    True
    """
    _check("trunc_normal_", tensor)
    if not a < b or not std > 0:
        raise ArgumentError(
            "trunc_normal_: a must be less than b, and std positive",
            operands={"a": a, "b": b, "std": std},
            fix="exchange the limits, or choose a positive std",
        )
    low, high = (a - mean) / std, (b - mean) / std
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user("trunc_normal_: mean is more than 2 std outside of [a, b]", UserWarning)
    if not has_data(tensor):
        return tensor
    side = -1.0 if low > 0 else 1.0  # small probabilities keep their digits, those near 1 do not
    if side < 0:
        low, high = -high, -low
    declared = registry.get(tensor.device.type).capabilities(tensor.device).dtypes
    wide = float64 if float64 in declared else float32
    with no_grad():
        drawn = empty(tensor.shape, dtype=wide, device=tensor.device)
        drawn.uniform_(_probability_below(low), _probability_below(high), generator=generator)
        tensor.copy_((special.ndtri(drawn) * (side * std) + mean).clamp(a, b))
    return tensor


def _probability_below(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.constant_(polyad.empty(2), 0.5).tolist()
    [0.5, 0.5]
    """
    with no_grad():
        return _check("constant_", tensor).fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.ones_(polyad.empty(2)).tolist()
    [1.0, 1.0]
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.zeros_(polyad.empty(2)).tolist()
    [0.0, 0.0]
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a 2-d tensor with the identity matrix: a linear layer that passes its input.

    Raises:
        ValueError: the tensor is not 2-d.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.eye_(polyad.empty(2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    check_dims("eye_", "tensor", _check("eye_", tensor), (2,))
    with no_grad():
        tensor.zero_()
        for position in range(min(tensor.shape)):
            tensor[position, position] = 1
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight (out, in, *kernel) so that it passes as many of its channels as it can.

    Raises:
        ValueError: the tensor is not 3-d to 5-d, or its first size is not divisible by *groups*.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.dirac_(polyad.empty(1, 1, 3)).tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    check_dims("dirac_", "tensor", _check("dirac_", tensor), (3, 4, 5), "pass a convolution's weight")
    check_divisible("dirac_", "tensor.shape[0]", tensor.shape[0], "groups", groups)
    each = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(each, tensor.shape[1])):
                tensor[(group * each + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output of a weight (out, in, *kernel) depends on, and how many outputs an input reaches."""
    if tensor.ndim < 2:
        check_dims("init", "tensor", tensor, range(2, 65), "use uniform_ or normal_: fan_in and fan_out need a matrix")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower() if isinstance(mode, str) else mode
    check_choice("init", "mode", mode, ("fan_in", "fan_out"))
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill uniformly in +-gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    Raises:
        ValueError: the tensor has fewer than 2 dimensions.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.xavier_uniform_(polyad.empty(3, 5)).abs().max().item() <= (6 / 8) ** 0.5
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(_check("xavier_uniform_", tensor))
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out)) if fan_in + fan_out else 0.0
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill from the normal distribution with deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    Raises:
        ValueError: the tensor has fewer than 2 dimensions.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.xavier_normal_(polyad.empty(3, 5)).shape
    polyad.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(_check("xavier_normal_", tensor))
    std = gain * math.sqrt(2.0 / (fan_in + fan_out)) if fan_in + fan_out else 0.0
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(op: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The deviation of He et al.'s initialisation, or None for a tensor without elements, after a warning."""
    if 0 in _check(op, tensor).shape:
        warnings.warn(f"{op}: a tensor without elements has nothing to initialise", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill uniformly in +-gain * sqrt(3 / fan) (He et al. 2015).

    Args:
        tensor: a weight (out, in, *kernel).
        a: the negative slope of a leaky ReLU after this layer.
        mode: ``"fan_in"`` keeps the variance forwards, ``"fan_out"`` backwards.
        nonlinearity: what follows; see `calculate_gain`.
        generator: where the random numbers come from; the device's default generator unless given.

    Raises:
        ValueError: the tensor has fewer than 2 dimensions, or the mode or the nonlinearity is unknown.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.kaiming_uniform_(polyad.empty(3, 6), nonlinearity="relu").abs().max().item() <= 1
    True
    """
    std = _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill from the normal distribution with deviation gain / sqrt(fan) (He et al. 2015). Arguments as
    `kaiming_uniform_`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.init.kaiming_normal_(polyad.empty(3, 5), mode="fan_out").shape
    polyad.Size([3, 5])
    """
    std = _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a random orthogonal matrix times *gain* (Saxe et al. 2014).

    Rows, or columns if there are more rows, are orthogonal and of length 1. All dimensions but the first are columns.

    Raises:
        ValueError: the tensor has fewer than 2 dimensions.

    >>> import polyad
    >>> from polyad import nn
    >>> w = nn.init.orthogonal_(polyad.empty(2, 3))
    >>> (w @ w.T).round(decimals=4).abs().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_dims("orthogonal_", "tensor", _check("orthogonal_", tensor), range(2, 65))
    if 0 in tensor.shape or not has_data(tensor):
        return tensor
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    with no_grad():
        drawn = tensor.new_empty((max(rows, columns), min(rows, columns))).normal_(generator=generator)
        q, r = linalg.qr(drawn)
        q = q * r.diagonal().sgn()  # all orthogonal matrices alike (Mezzadri 2007)
        tensor.copy_((q.T if rows < columns else q).reshape(tensor.shape) * gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix from the normal distribution with deviation *std*, and the part *sparsity* of each column with 0
    (Martens 2010).

    Raises:
        ValueError: the tensor is not 2-d.

    >>> import polyad
    >>> from polyad import nn
    >>> (nn.init.sparse_(polyad.empty(10, 3), 0.5) == 0).sum(0).tolist()
    [5, 5, 5]
    """
    check_dims("sparse_", "tensor", _check("sparse_", tensor), (2,))
    zeros = math.ceil(sparsity * tensor.shape[0])
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        order = rand(tensor.shape, device=tensor.device, generator=generator).argsort(0)
        return tensor.scatter_(0, order[:zeros], 0)


def _older_name(function: Any) -> Any:
    """The function under the name without an underscore, which PyTorch deprecates."""

    @wraps(function)
    def older(*args: Any, **kwargs: Any) -> Any:
        warn_user(f"init.{older.__name__}: deprecated; use init.{function.__name__}", FutureWarning)
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = function.__name__.rstrip("_")
    older.__doc__ = f"Deprecated: use `{function.__name__}`."
    return older


uniform = _older_name(uniform_)
normal = _older_name(normal_)
constant = _older_name(constant_)
eye = _older_name(eye_)
dirac = _older_name(dirac_)
xavier_uniform = _older_name(xavier_uniform_)
xavier_normal = _older_name(xavier_normal_)
kaiming_uniform = _older_name(kaiming_uniform_)
kaiming_normal = _older_name(kaiming_normal_)
orthogonal = _older_name(orthogonal_)
sparse = _older_name(sparse_)


def uniform_fan_in_(bias: Tensor, weight: Tensor) -> Tensor:
    """Fill a layer's bias uniformly in +-1/sqrt(fan_in) of its *weight*, as linear and convolution layers start."""
    fan_in, _ = _calculate_fan_in_and_fan_out(weight)
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return uniform_(bias, -bound, bound)


explain(globals())
