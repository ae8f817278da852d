"""Parametrizations of weights: `weight_norm`, `spectral_norm` and `orthogonal`.

Each registers a module by `polyad.nn.utils.parametrize.register_parametrization`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ... import functions, linalg
from ...arguments import explain
from ...base.dtypes import finfo
from ...errors import ArgumentError, NotSupported, safe_repr
from ...functions import cat, dot, eye, mv, randn, vdot, where, zeros_like
from ...history.grad_mode import no_grad
from ...tensor import Tensor
from .. import functional as F
from ..modules.conv import ConvTransposeNd
from ..modules.module import Module
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)
_MAPS = ("matrix_exp", "cayley", "householder")


def tensor_of(op: str, module: Module, name: str) -> Tensor:
    """The parameter or buffer *name* of *module*; ValueError if there is none."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentError(
            f"{op}: {type(module).__name__} has no parameter or buffer {safe_repr(name)}", fix="name one of its tensors"
        )
    return weight


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / functions.norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return functions.norm_except_dim(weight, 2, self.dim), weight


class _ReadsOlder:
    """Gives the keys of the older weight_norm their new names in a state that is loaded."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Module, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        older = [f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"]
        if all(key in state for key in older):
            for number, key in enumerate(older):
                state[f"{prefix}parametrizations.{self.name}.original{number}"] = state.pop(key)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Store a tensor as its length and its direction (Salimans and Kingma 2016). Returns *module*.

    Args:
        module: what has the tensor.
        name: the tensor's name.
        dim: there is a length for each index of this dimension; None for a single one.

    The length is stored as ``parametrizations.<name>.original0``, the direction, of any length, as ``original1``; a
    state of the older `polyad.nn.utils.weight_norm` can be loaded.

    >>> from polyad import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    polyad.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module.register_load_state_dict_pre_hook(_ReadsOlder(name))
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < max(weight.ndim, 1):
            raise ArgumentError(
                f"spectral_norm: dim must be in [{-weight.ndim}, {weight.ndim})",
                operands={"dim": dim, "weight": weight},
                fix="name a dimension of the tensor",
            )
        if n_power_iterations <= 0:
            raise ArgumentError(
                "spectral_norm: n_power_iterations must be positive",
                operands={"n_power_iterations": n_power_iterations},
                fix="pass 1 or more",
            )
        self.dim = dim % max(weight.ndim, 1)
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            with no_grad():
                matrix = self._as_matrix(weight)
                u, v = matrix.new_empty(matrix.shape[0]).normal_(), matrix.new_empty(matrix.shape[1]).normal_()
                self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies: a second forward pass would write what backward of the first needs.
        u, v = self._u.clone(), self._v.clone()
        sigma = vdot(u, mv(matrix, v)) if u.is_complex() else dot(u, mv(matrix, v))
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a tensor by its largest singular value (Miyato et al. 2018), found by power iteration. Returns *module*.

    Args:
        module: what has the tensor.
        name: the tensor's name.
        n_power_iterations: iterations in each forward pass in training.
        eps: the least length of a vector that is normalised.
        dim: the dimension of the results, the matrix's rows; by default 1 for transposed convolutions and 0 for others.

    Raises:
        ValueError: there is no such tensor, or *n_power_iterations* is not positive.

    >>> from polyad import nn
    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(20, 40))
    >>> round(layer.weight.detach().norm(2).item(), 4) >= 1
    True
    """
    weight = tensor_of("spectral_norm", module, name)
    if dim is None:
        dim = 1 if isinstance(module, ConvTransposeNd) else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ArgumentError(
                "orthogonal: the map householder takes no complex tensors",
                operands={"weight": weight},
                fix='use "matrix_exp" or "cayley"',
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        result = self._columns(X.mT if wide else X)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if wide else result

    def _columns(self, x: Tensor) -> Tensor:
        """A matrix of orthogonal columns from the lower triangle of *x*, which has at least as many rows as columns."""
        rows, columns = x.shape[-2:]
        if self.orthogonal_map == "householder":
            reflectors = x.tril(-1)
            tau = 2.0 / (1.0 + reflectors.square().sum(-2))
            signs = x.detach().diagonal(dim1=-2, dim2=-1)
            return linalg.householder_product(reflectors, tau) * signs.unsqueeze(-2)
        x = x.tril()
        if rows != columns:
            x = cat([x, x.new_zeros((*x.shape[:-1], rows - columns))], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            full = functions.matrix_exp(skew)
        else:
            identity = eye(rows, dtype=x.dtype, device=x.device)
            full = linalg.solve(identity - skew / 2, identity + skew / 2)
        return full[..., :columns]

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ArgumentError(
                f"orthogonal: the tensor must have shape {tuple(self.shape)}", operands={"value": Q}, fix="reshape it"
            )
        with no_grad():
            wide = Q.shape[-2] < Q.shape[-1]
            columns = Q.mT if wide else Q
            if not hasattr(self, "base"):
                stored = self._reflectors(columns)
                return stored.mT if wide else stored
            self.base = _orthonormal(columns)
            # -1 on the diagonal, and so no reflection, gives the base itself.
            return zeros_like(Q) - eye(*Q.shape[-2:], dtype=Q.dtype, device=Q.device)

    def _reflectors(self, columns: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotSupported(
                f"orthogonal: with the map {self.orthogonal_map} and use_trivialization=False nothing can be assigned",
                fix="use householder, or use_trivialization=True",
            )
        packed, tau = functions.geqrf(columns)
        diagonal = packed.diagonal(dim1=-2, dim2=-1)
        signs = where(tau == 0, -diagonal.sign(), diagonal.sign())
        stored: Tensor = packed.diagonal_scatter(signs, dim1=-2, dim2=-1)
        return stored


def _orthonormal(columns: Tensor) -> Tensor:
    """A square matrix with orthonormal columns that begins with *columns*, made orthonormal themselves if need be."""
    rows, count = columns.shape[-2:]
    if rows == count:
        near = (columns.mH @ columns - eye(count, dtype=columns.dtype, device=columns.device)).abs().max()
        if near.item() <= 10 * count * finfo(columns.dtype).eps:
            return columns.clone()
    else:
        more = randn((*columns.shape[:-1], rows - count), dtype=columns.dtype, device=columns.device)
        columns = cat([columns, more], -1)
    q, r = linalg.qr(columns)
    result: Tensor = q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return result


def orthogonal(
    module: M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> M:
    """Keep a matrix, or batch of matrices, orthogonal: its columns, or its rows if there are more columns. Returns
    *module*.

    Args:
        module: what has the tensor.
        name: the tensor's name.
        orthogonal_map: how it is computed from what is stored: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``; by
            default the first for square and complex matrices and the last for others.
        use_trivialization: multiply by a matrix that is kept as ``base``, so that the tensor has its value in the
            beginning (Lezcano-Casado 2019).

    Raises:
        ValueError: there is no such tensor, it has fewer than two dimensions, or the map is unknown.

    >>> import polyad
    >>> from polyad import nn
    >>> w = nn.utils.parametrizations.orthogonal(nn.Linear(2, 4)).weight.detach()
    >>> (w.T @ w).round(decimals=4).abs().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    weight = tensor_of("orthogonal", module, name)
    if weight.ndim < 2:
        raise ArgumentError(
            "orthogonal: the tensor must have at least two dimensions", operands={name: weight}, fix="pass a matrix"
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ArgumentError(
            f"orthogonal: unknown orthogonal_map {safe_repr(orthogonal_map)}", fix=f"use one of {', '.join(_MAPS)}"
        )
    register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
    return module


explain(globals())
