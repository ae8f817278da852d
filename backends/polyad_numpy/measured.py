"""Why kernels of composites stand here: what the body of each takes by what the kernel takes, without a compiler.

Processor time of one thread of a busy x86-64 processor, the two by turns, at about 64, 2**14 and 2**20 elements, sizes
left out at which a call takes a second or a gigabyte; float32 where the op takes it. ``tools/measure_overrides.py``
prints the lines, and says what is called. A kernel whose body is less than 1.15 slower at each size, and takes no more
memory, should be deleted.
"""

from __future__ import annotations

SLOWER: dict[str, tuple[float, ...]] = {
    "adam_step": (1.99, 1.65, 1.24), "addcdiv": (1.30, 1.12, 0.96), "addcmul": (1.29, 1.11, 0.98),
    "addmm": (3.82, 1.21, 1.01), "addmv": (1.82, 1.60, 1.07), "amsgrad_step": (1.91, 1.48, 1.09),
    "at_ranks": (1.22, 0.73, 0.89), "attention": (1.16, 1.25, 1.12), "attention_backward": (1.27, 1.40, 1.26),
    "baddbmm": (2.87, 1.42, 1.07), "bag_max": (1.68, 0.94, 0.81), "bag_sum": (1.11, 1.15, 1.10),
    "batch_norm": (2.71, 2.32, 1.62), "batch_norm_backward": (2.75, 2.93, 3.32), "batch_norm_by": (2.50, 2.01, 1.10),
    "bin_counts": (1.95, 1.76, 2.01), "binary_cross_entropy": (1.52, 1.24, 0.98), "bincount": (2.33, 1.76, 1.56),
    "block_diag": (5.44, 3.66, 2.90), "bmm": (1.46, 1.12, 1.01), "cdist": (0.88, 2.64, 51.3),
    "chances": (2.36, 2.34, 2.33), "chances_of": (1.38, 1.06, 0.98), "clamp": (1.03, 2.71, 6.48),
    "clamp_backward": (1.44, 1.32, 1.01), "combinations": (3.21, 1.89, 1.70), "copysign": (5.08, 1.75, 2.51),
    "count_nonzero": (1.22, 1.03, 0.91), "cross": (3.05, 3.02, 1.62), "cross_entropy": (2.25, 1.48, 1.10),
    "cross_entropy_backward": (2.36, 1.75, 1.89), "ctc_loss": (2.23, 2.43, 1.14), "cummax": (18.7, 7.13, 9.16),
    "cummin": (19.3, 7.35, 9.13), "cumprod_backward": (4.76, 1.13, 0.59), "digamma": (88.5, 3.88, 4.34),
    "distinct": (4.65, 1.15, 1.04), "dot": (7.31, 4.24, 1.22), "dropout": (1.91, 1.31, 1.02), "elu": (1.60, 1.20, 1.41),
    "elu_backward": (1.63, 1.22, 0.90), "embedding": (2.15, 1.36), "embedding_backward": (1.29, 0.97, 1.18),
    "erf": (12.1, 5.04, 4.85), "erfc": (62.9, 4.01, 3.60), "erfinv": (82.7, 3.06, 2.24), "exp2": (2.78, 2.63, 2.88),
    "exponential": (2.45, 2.67, 2.71), "fft_c2c": (3.54, 8.05, 5.30), "fft_c2r": (2.09, 1.30, 2.33),
    "fft_r2c": (1.59, 1.98, 2.20), "fmax": (7.58, 5.77, 3.01), "fmin": (7.81, 6.01, 3.24), "frac": (1.48, 1.31, 1.43),
    "frexp": (20.0, 28.7, 35.8), "from_front": (3.89, 4.96, 6.32), "gaussian_nll": (1.25, 1.19, 1.30),
    "ge": (8.09, 3.86, 1.05), "gelu": (0.42, 1.36, 1.36), "gelu_backward": (0.81, 1.42, 1.42),
    "glu": (1.41, 1.04, 1.10), "gru_gates": (1.27, 0.76), "gt": (7.77, 3.96, 1.43), "hardshrink": (1.55, 1.30, 1.06),
    "hardshrink_backward": (1.52, 1.30, 1.04), "hardsigmoid": (1.65, 1.22, 1.06),
    "hardsigmoid_backward": (1.59, 1.22, 0.94), "hardswish": (1.31, 1.20, 1.04),
    "hardswish_backward": (1.87, 1.76, 2.10), "hardtanh": (1.28, 1.17, 1.03), "hardtanh_backward": (1.55, 1.33, 1.16),
    "hypot": (16.8, 1.02, 1.07), "i0": (29.9, 0.48, 0.54), "igamma": (112.0, 2.94), "index": (2.41, 1.46, 1.04),
    "index_copy": (1.72, 0.07, 0.00), "index_put": (5.72, 7.04, 9.33), "integers": (2.14, 2.15, 2.26),
    "isfinite": (3.15, 2.44, 2.55), "isin": (1.21, 1.77, 2.35), "isinf": (3.12, 2.39, 2.57),
    "isnan": (1.75, 1.29, 1.32), "kthvalue": (1.08, 1.69, 2.74), "layer_norm": (2.63, 1.59, 1.51),
    "layer_norm_backward": (1.98, 1.48, 1.44), "lcm": (14.4, 2.35, 2.08), "ldexp": (1.49, 2.69, 2.29),
    "leaky_relu": (2.38, 3.29, 3.69), "leaky_relu_backward": (1.40, 1.13, 1.31), "lerp": (1.86, 1.24, 1.16),
    "lexsort": (51.6, 6.92, 1.82), "lgamma": (22.0, 2.96, 4.21), "linalg_eigvals": (1.28, 1.71),
    "linalg_householder_product": (2.67,), "linear": (1.63, 1.04, 1.01), "linear_weight_grad": (5.17, 1.16, 1.00),
    "linspace": (2.59, 3.77), "log10": (2.62, 2.54, 2.45), "log2": (2.44, 1.88, 1.95),
    "log_sigmoid": (1.32, 1.06, 1.07), "log_softmax": (2.67, 1.42, 0.99), "log_softmax_backward": (1.94, 1.47, 1.15),
    "logaddexp": (9.28, 1.61, 2.05), "logaddexp2": (10.2, 1.60, 1.86), "logcumsumexp": (30.9, 1.56, 1.68),
    "logical_and": (9.00, 0.82, 0.33), "logical_or": (8.01, 0.82, 0.80), "logical_xor": (8.00, 0.82, 0.34),
    "masked_fill": (1.93,), "masked_scatter": (1.34, 1.40, 2.01), "max_all": (1.45, 1.33, 1.03),
    "max_pool": (3.10, 5.41, 13.1), "max_pool_backward": (2.94, 2.08, 2.77), "mean": (1.67, 1.28, 1.03),
    "median": (4.16, 2.61, 4.08), "median_dim": (1.35, 1.47, 2.65), "min_all": (1.45, 1.31, 1.03),
    "mish": (0.85, 1.36, 1.04), "mish_backward": (1.44, 1.38, 1.25), "mm": (1.96, 1.04, 1.01), "mv": (6.30, 3.99, 1.23),
    "nan_to_num": (4.29, 6.51, 7.05), "nanmedian": (6.95, 2.34, 3.89), "nanmedian_dim": (1.54, 1.36, 2.44),
    "ne": (2.32, 1.76, 1.32), "nextafter": (25.7, 2.32, 3.36), "nll_loss": (2.90, 2.69, 2.14),
    "nll_loss_backward": (2.65, 2.84, 2.75), "norm2": (3.11, 2.41, 1.98), "normal": (9.43, 10.0, 6.32),
    "pad_constant": (2.75, 2.24, 2.25), "pad_repeated": (1.45, 1.45, 1.02), "pad_repeated_backward": (1.73, 1.56, 1.20),
    "pdist": (3.51, 5.23, 9.56), "permutation": (2.12, 1.99, 1.95), "product_of_others": (4.14, 1.09, 1.13),
    "reciprocal": (1.89, 0.81, 0.53), "relu": (1.84, 2.47, 3.67), "relu_backward": (2.54, 1.44, 1.01),
    "repeat_interleave": (12.4, 1.13, 0.48), "resample": (4.80, 18.6, 11.9), "resample_backward": (4.71, 24.1),
    "rms_norm": (1.80, 2.07, 1.43), "rms_norm_backward": (1.31, 1.30, 1.44), "roll": (2.73, 2.27, 1.13),
    "rows_dot": (4.05, 3.53), "rsqrt": (1.65, 0.95, 0.93), "scatter_reduce": (1.60, 1.36, 1.32),
    "sgd_step": (1.03, 0.98, 1.34), "share": (3.20,), "sigmoid": (1.62, 1.03, 1.16),
    "sigmoid_backward": (1.80, 1.61, 1.57), "signbit": (8.74, 7.41, 8.45), "silu": (1.44, 1.09, 1.10),
    "silu_backward": (1.79, 1.28, 1.18), "softmax": (2.83, 1.63, 1.02), "softmax_backward": (2.00, 1.47, 1.39),
    "softplus": (1.90, 1.22, 1.04), "softplus_backward": (1.59, 1.20, 0.97), "softshrink": (3.14, 2.21, 2.26),
    "sorted": (4.30, 4.27, 2.81), "square": (1.68, 1.38, 1.11), "stack": (3.70, 2.20, 1.08), "std": (2.03, 1.02, 1.02),
    "tanh_backward": (1.76, 1.39, 1.53), "threshold": (1.49, 1.16, 1.02), "threshold_backward": (1.47, 1.23, 1.04),
    "trunc_divide": (2.83, 1.75, 1.29), "uniform": (2.75, 3.30, 3.18), "var": (1.77, 1.26, 1.10),
    "vdot": (1.28, 1.13, 1.02), "vector_product": (2.09, 1.17, 1.00), "weighted_rows": (7.16, 20.4, 9.12),
    "weighted_rows_backward": (5.71, 23.9),
}  # fmt: skip
"""The body's time by the kernel's."""

MEMORY = {"sgd_momentum_step": 2.0}
"""The peak of the body's memory by the kernel's, where that alone is the reason."""

UNMEASURED = {
    "ctc_loss_backward", "gcd", "gru_gates_backward", "gru_sequence", "gru_sequence_backward", "igammac", "linalg_det",
    "linalg_eigvalsh", "linalg_inv_ex", "linalg_lstsq", "linalg_lu_solve", "linalg_matrix_exp", "linalg_qr",
    "linalg_slogdet", "linalg_solve_ex", "linalg_svdvals", "lstm_gates", "lstm_gates_backward", "lstm_sequence",
    "lstm_sequence_backward", "polygamma", "rnn_sequence", "rnn_sequence_backward", "special_airy_ai",
    "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1",
    "special_chebyshev_polynomial_t", "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_v",
    "special_chebyshev_polynomial_w", "special_erfcx", "special_hermite_polynomial_h", "special_hermite_polynomial_he",
    "special_i0e", "special_i1", "special_i1e", "special_laguerre_polynomial_l", "special_legendre_polynomial_p",
    "special_log_ndtr", "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
    "special_modified_bessel_k1", "special_ndtr", "special_ndtri", "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1", "special_shifted_chebyshev_polynomial_t",
    "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_v",
    "special_shifted_chebyshev_polynomial_w", "special_spherical_bessel_j0", "special_zeta", "topk",
}  # fmt: skip
"""What has not been measured yet. This can only become smaller."""
