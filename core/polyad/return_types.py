"""Named results of ops that give several tensors: ``values, indices = x.max(dim=0)`` or ``x.max(dim=0).indices``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "ValuesAndIndices",
    "aminmax",
    "cummax",
    "cummin",
    "frexp",
    "geqrf",
    "histogram",
    "histogramdd",
    "kthvalue",
    "linalg_cholesky_ex",
    "linalg_eig",
    "linalg_eigh",
    "linalg_inv_ex",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_lstsq",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_qr",
    "linalg_slogdet",
    "linalg_solve_ex",
    "linalg_svd",
    "lu_unpack",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "qr",
    "slogdet",
    "sort",
    "svd",
    "topk",
    "triangular_solve",
]


def _shown(self: Any) -> str:
    """The fields, one a line, as PyTorch prints them."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"polyad.return_types.{type(self).__name__}(\n{fields})"


class ValuesAndIndices(NamedTuple):
    """Elements and where they were found; the base of the named results below."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return f"polyad.return_types.{type(self).__name__}(\nvalues={self.values!r},\nindices={self.indices!r})"


class max(ValuesAndIndices):
    """What `polyad.max` over a dimension gives."""


class min(ValuesAndIndices):
    """What `polyad.min` over a dimension gives."""


class median(ValuesAndIndices):
    """What `polyad.median` over a dimension gives."""


class kthvalue(ValuesAndIndices):
    """What `polyad.kthvalue` gives."""


class cummax(ValuesAndIndices):
    """What `polyad.cummax` gives."""


class cummin(ValuesAndIndices):
    """What `polyad.cummin` gives."""


class mode(ValuesAndIndices):
    """What `polyad.mode` gives."""


class nanmedian(ValuesAndIndices):
    """What `polyad.nanmedian` over a dimension gives."""


class sort(ValuesAndIndices):
    """What `polyad.sort` gives."""


class topk(ValuesAndIndices):
    """What `polyad.topk` gives."""


class frexp(NamedTuple):
    """What `polyad.frexp` gives."""

    mantissa: Tensor
    exponent: Tensor

    def __repr__(self) -> str:
        return f"polyad.return_types.frexp(\nmantissa={self.mantissa!r},\nexponent={self.exponent!r})"


class aminmax(NamedTuple):
    """What `polyad.aminmax` gives."""

    min: Tensor
    max: Tensor

    def __repr__(self) -> str:
        return f"polyad.return_types.aminmax(\nmin={self.min!r},\nmax={self.max!r})"


class histogram(NamedTuple):
    """What `polyad.histogram` gives."""

    hist: Tensor
    bin_edges: Tensor

    def __repr__(self) -> str:
        return f"polyad.return_types.histogram(\nhist={self.hist!r},\nbin_edges={self.bin_edges!r})"


class histogramdd(NamedTuple):
    """What `polyad.histogramdd` gives."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]

    def __repr__(self) -> str:
        return f"polyad.return_types.histogramdd(\nhist={self.hist!r},\nbin_edges={self.bin_edges!r})"


class geqrf(NamedTuple):
    """What `polyad.geqrf` gives."""

    a: Tensor
    tau: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class lu_unpack(NamedTuple):
    """What `polyad.lu_unpack` gives."""

    P: Tensor
    L: Tensor
    U: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class qr(NamedTuple):
    """What `polyad.qr` gives."""

    Q: Tensor
    R: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class slogdet(NamedTuple):
    """What `polyad.slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class svd(NamedTuple):
    """What `polyad.svd` gives."""

    U: Tensor
    S: Tensor
    V: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class triangular_solve(NamedTuple):
    """What `polyad.triangular_solve` gives."""

    solution: Tensor
    cloned_coefficient: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_cholesky_ex(NamedTuple):
    """What `polyad.linalg.cholesky_ex` gives."""

    L: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_eig(NamedTuple):
    """What `polyad.linalg.eig` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_eigh(NamedTuple):
    """What `polyad.linalg.eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_inv_ex(NamedTuple):
    """What `polyad.linalg.inv_ex` gives."""

    inverse: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_ldl_factor(NamedTuple):
    """What `polyad.linalg.ldl_factor` gives."""

    LD: Tensor
    pivots: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_ldl_factor_ex(NamedTuple):
    """What `polyad.linalg.ldl_factor_ex` gives."""

    LD: Tensor
    pivots: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_lstsq(NamedTuple):
    """What `polyad.linalg.lstsq` gives."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_lu(NamedTuple):
    """What `polyad.linalg.lu` gives."""

    P: Tensor
    L: Tensor
    U: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_lu_factor(NamedTuple):
    """What `polyad.linalg.lu_factor` gives."""

    LU: Tensor
    pivots: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_lu_factor_ex(NamedTuple):
    """What `polyad.linalg.lu_factor_ex` gives."""

    LU: Tensor
    pivots: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_qr(NamedTuple):
    """What `polyad.linalg.qr` gives."""

    Q: Tensor
    R: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_slogdet(NamedTuple):
    """What `polyad.linalg.slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_solve_ex(NamedTuple):
    """What `polyad.linalg.solve_ex` gives."""

    result: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _shown(self)


class linalg_svd(NamedTuple):
    """What `polyad.linalg.svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor

    def __repr__(self) -> str:
        return _shown(self)
