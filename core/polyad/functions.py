"""The public functions of tensors in ``polyad`` itself, each loaded with its family when it is named.

Some in-place methods are functions, too: ``polyad.abs_(x)`` is ``x.abs_()``. `IN_PLACE` says which.

What editors and type checkers see is functions.pyi, which ``python -m polyad.ops.declaring.stubs`` writes from the
declarations.
"""

from typing import Any

from .dispatch.catalogue import functions_of
from .tensor import Tensor

IN_PLACE = frozenset(
    [
        "abs_",
        "acos_",
        "acosh_",
        "addmv_",
        "arccos_",
        "arccosh_",
        "arcsin_",
        "arcsinh_",
        "arctan_",
        "arctanh_",
        "as_strided_",
        "asin_",
        "asinh_",
        "atan_",
        "atanh_",
        "ceil_",
        "clamp_",
        "clamp_max_",
        "clamp_min_",
        "clip_",
        "conj_physical_",
        "cos_",
        "cosh_",
        "deg2rad_",
        "detach_",
        "erf_",
        "erfc_",
        "exp2_",
        "exp_",
        "expm1_",
        "fill_",
        "fix_",
        "floor_",
        "frac_",
        "gcd_",
        "i0_",
        "index_put_",
        "lcm_",
        "ldexp_",
        "log10_",
        "log1p_",
        "log2_",
        "log_",
        "logit_",
        "nan_to_num_",
        "neg_",
        "negative_",
        "rad2deg_",
        "reciprocal_",
        "relu_",
        "resize_as_",
        "round_",
        "rsqrt_",
        "sigmoid_",
        "sin_",
        "sinc_",
        "sinh_",
        "sqrt_",
        "square_",
        "tan_",
        "tanh_",
        "trunc_",
        "xlogy_",
        "zero_",
    ]
)
"""The in-place methods that PyTorch has as functions."""

_public, _names = functions_of("", globals())


def __getattr__(name: str) -> Any:
    return getattr(Tensor, name) if name in IN_PLACE else _public(name)


def __dir__() -> list[str]:
    return sorted({*_names(), *IN_PLACE} - {"Any", "IN_PLACE", "Tensor"})
