"""From how many elements on C that core generates is quicker than NumPy's kernels, and for which ops it is not.

One thread of an x86-64 processor with AVX-512; float32; 64, 4,096 and 262,144 elements; the two by turns, the best of
ten. Ratios are the time of C by that of NumPy's kernel, or of the body where NumPy has none, at the size where C is
worst.
"""

from __future__ import annotations

USUAL = {"primitive": 1 << 10, "elements": 1 << 8, "reduction": 1 << 8, "rows": 1, "opaque": None}
"""By what a kernel is generated from, see `polyad.backend.runtime.Runtime.pays_from`; None for never. Smaller tensors
gain little, and a first run would wait for the compiler."""

EARLIER = {
    "gelu": (1, 0.1), "gelu_backward": (1, 0.2), "batch_norm": (1, 0.14), "batch_norm_backward": (1, 0.31),
    "layer_norm_backward": (1, 0.19), "rms_norm_backward": (1, 0.26), "batch_norm_by": (1 << 8, 0.38),
    "cdist": (1 << 8, 0.16),
}  # fmt: skip
"""What gains from fewer elements on than its kind, or though nothing is said of its structure, and the ratio."""

SLOWER = {
    "argmax": 2.9, "argmin": 2.9, "asgd_rates": 1.5, "frexp": 45.0, "igamma": 3.3, "igammac": 2.7, "ldexp": 2.7,
    "log_gamma_slope": 6.7, "special_bessel_j0": 1.3, "special_bessel_j1": 1.3, "special_bessel_y0": 1.05,
    "special_bessel_y1": 1.5,
}  # fmt: skip
"""What C computes more slowly, and the ratio."""

SLOWER_IN_DOUBLE = {"erfinv": 1.4, "special_ndtr": 1.5, "special_ndtri": 1.6}
"""What C computes more slowly in float64 alone: in float32 it takes a fifth of NumPy's time."""

NOT_LOWERED = {
    "at_ranks", "complex", "copy_strided", "counted_index", "cummax", "cummin", "cumprod_backward", "fft_c2c",
    "fft_c2r", "fft_r2c", "gcd", "isreal", "kthvalue", "lcm", "linalg_det", "linalg_eigvals", "linalg_eigvalsh",
    "linalg_inv_ex", "linalg_matrix_exp", "linalg_qr", "linalg_slogdet", "linalg_svdvals", "logcumsumexp",
    "lstm_gates", "max_dim", "median", "median_dim", "min_dim", "mode", "nanmedian", "nanmedian_dim", "nextafter",
    "philox_bits_from", "polar", "product_of_others", "sorted", "topk",
}  # fmt: skip
"""Bodies that are more than a few loops: to ask would cost a first call some milliseconds, and give nothing."""

DEGREES = {
    "special_chebyshev_polynomial_t", "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_v",
    "special_chebyshev_polynomial_w", "special_hermite_polynomial_h", "special_hermite_polynomial_he",
    "special_laguerre_polynomial_l", "special_legendre_polynomial_p", "special_shifted_chebyshev_polynomial_t",
    "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_v",
    "special_shifted_chebyshev_polynomial_w",
}  # fmt: skip
"""Each degree would be a kernel of its own, to be compiled."""


def least_elements(op: str, kind: str, double: bool = False) -> int | None:
    """From how many elements on C is quicker; None for never. *double*: for float64."""
    if op in SLOWER or op in NOT_LOWERED or op in DEGREES or (double and op in SLOWER_IN_DOUBLE):
        return None
    return EARLIER[op][0] if op in EARLIER else USUAL[kind]
