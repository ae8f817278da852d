"""What distributions do with their arguments, at PyTorch's path: broadcasting, probabilities and logits, triangles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import functions as F
from ..arguments import check_dims, check_within, explain
from ..base.dtypes import finfo, get_default_dtype
from ..compatibility.absent import lacking
from ..errors import ArgumentError
from ..history.grad_mode import enable_grad
from ..ops.nn.activation.softmax import softmax
from ..tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

__getattr__ = lacking(__name__)

euler_constant = 0.57721566490153286061
"""The Euler-Mascheroni constant."""

Number = bool | int | float
NUMBERS = (bool, int, float, complex)


def broadcast_all(*values: Tensor | Number) -> tuple[Tensor, ...]:
    """Tensors of one shape; numbers get the dtype and the device of the first tensor. Raises ValueError for others.

    >>> import polyad as torch
    >>> torch.distributions.utils.broadcast_all(1.0, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    wrong = [value for value in values if not isinstance(value, (Tensor, *NUMBERS))]
    if wrong:
        raise ArgumentError(
            f"broadcast_all: a parameter is {type(wrong[0]).__name__}, neither a number nor a Tensor",
            operands={"value": wrong[0]},
            fix="pass numbers or tensors",
        )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype, device = (get_default_dtype(), None) if first is None else (first.dtype, first.device)
    tensors = [v if isinstance(v, Tensor) else F.tensor(v, dtype=dtype, device=device) for v in values]
    return tuple(F.broadcast_tensors(*tensors))


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    return F.randn(shape, dtype=like.dtype, device=like.device)


def standard_uniform(shape: Any, like: Tensor) -> Tensor:
    return F.rand(shape, dtype=like.dtype, device=like.device)


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last *dims* dimensions."""
    return value.sum(tuple(range(-dims, 0))) if dims else value


def clamp_probs(probs: Tensor) -> Tensor:
    """*probs* moved into [eps, 1 - eps] of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log odds (*is_binary*) or of unnormalised log probabilities along the last dimension."""
    return F.sigmoid(logits) if is_binary else softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds (*is_binary*) or log probabilities, with probabilities clamped so that all are finite."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class _LazyProperty:
    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.wrapped.__name__] = value
        return value


def lazy_property(wrapped: Callable[[Any], Any]) -> Any:
    """A property that is computed on first use, with gradients on, and then kept in the instance."""
    return _LazyProperty(wrapped)


def is_lazy(attribute: Any) -> bool:
    return isinstance(attribute, _LazyProperty)


def _below_diagonal(n: int, diag: int, like: Tensor) -> Tensor:
    steps = F.arange(n, device=like.device)
    return steps < steps.reshape(n, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of (..., D, D) matrices on and below diagonal *diag*, row by row. Raises ValueError if there is no
    such diagonal.
    """
    n = mat.shape[-1]
    check_within("tril_matrix_to_vec", "diag", diag, -n, n, what="a diagonal")
    return mat[..., _below_diagonal(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """(..., D, D) matrices of which the vectors hold what is on and below diagonal *diag*, row by row. Raises
    ValueError if no D has so many elements there.
    """
    check_dims("vec_to_tril_matrix", "vec", vec, range(1, 65), "pass (..., n)")
    count = vec.shape[-1]
    first = max(-diag, 0) if count else 0  # below this, nothing is held
    n = next(n for n in range(first, first + math.isqrt(2 * count) + 2) if _held(n, diag) >= count)
    if _held(n, diag) != count:
        raise ArgumentError(
            f"vec_to_tril_matrix: no square matrix has {count} elements on and below diagonal {diag}",
            operands={"vec": vec},
            fix="pass D (D + 1) / 2 elements for diagonal 0, D (D - 1) / 2 for diagonal -1",
        )
    matrix = F.zeros((*vec.shape[:-1], n, n), dtype=vec.dtype, device=vec.device)
    return matrix.masked_scatter(_below_diagonal(n, diag, vec).expand(matrix.shape), vec.contiguous())


def _held(n: int, diag: int) -> int:
    """How many elements of a matrix (n, n) are on and below a diagonal."""
    if diag < 0:
        return math.comb(max(n + diag, 0) + 1, 2)
    return n * n - math.comb(max(n - diag, 1), 2)


explain(globals())
