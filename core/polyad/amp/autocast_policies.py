"""Which dtype suits which function: the lists behind `polyad.autocast`.

`POLICIES` gives each function its policy, by device type:

    lower      in autocast's dtype: products, which are what half types are fast at
    float32    what loses digits or overflows in half types: sums, losses, exponentials, decompositions
    widest     in the widest dtype among the arguments
    refused    would give infinities in float16, and has a better form

Functions that are not listed take their arguments as they are. A policy is for the function that users call and for the
op of the same name. These are PyTorch's policies, and a backend may change them for its devices
(``Capabilities.autocast``). What a policy does to a call is in `polyad.dispatch.autocast`.

To give a function a policy, add its name to a list.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..dispatch.autocast import AS_GIVEN, FLOAT32, LOWER, REFUSED, WIDEST

__all__ = ["KINDS", "POLICIES"]

KINDS = (LOWER, FLOAT32, WIDEST, REFUSED, AS_GIVEN)
"""The policies that there are."""


def _name_list(names: str) -> list[str]:
    return names.split()


_PRODUCTS = _name_list("""
addbmm addmm addmv addr attention baddbmm bmm chain_matmul conv1d conv2d conv3d conv_transpose1d
conv_transpose2d conv_transpose3d convolution convolution_transposed gemm gru gru_cell linear lstm lstm_cell matmul mm
multi_dot mv prelu rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention vecdot vector_product
""")
_LOSSES = _name_list("""
binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss kl_div
l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss
smooth_l1_loss soft_margin_loss triplet_margin_loss
""")
_RANGE = _name_list("""
acos asin cdist cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm layer_norm log log10
log1p log2 log_softmax logsumexp matrix_norm norm pdist pow prod reciprocal renorm rsqrt sinh softmax softplus
sum tan vector_norm
""")
_MIXED = _name_list("""
addcdiv addcmul atan2 bilinear cat cross dot grid_sample index_put scatter_add stack tensordot vdot
""")
_DECOMPOSITIONS = _name_list("""
adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cdist cholesky cholesky_ex
cholesky_inverse cholesky_solve cond ctc_loss eig eigh eigvals eigvalsh fft fft2 fftn fractional_max_pool2d
fractional_max_pool3d geqrf grid_sample hfft householder_product ifft ifft2 ifftn ihfft inv inv_ex inverse irfft
irfft2 irfftn lstsq lu_solve matrix_rank max_pool3d max_unpool2d max_unpool3d nanquantile orgqr ormqr pinverse
polar prod qr quantile rfft rfft2 rfftn solve stft svd svdvals tensorinv tensorsolve trace triangular_solve
""")
_RECURRENT = ["gru", "gru_cell", "lstm_cell"]
"""What PyTorch computes in float32 on a cpu, whose LSTM and RNN work in bfloat16."""

POLICIES: Mapping[str, Mapping[str, str]] = {
    # float16 overflows in sums and exponentials, so accelerators compute them in float32.
    "": {
        **dict.fromkeys(_PRODUCTS, LOWER),
        **dict.fromkeys([*_LOSSES, *_RANGE], FLOAT32),
        **dict.fromkeys(_MIXED, WIDEST),
        "binary_cross_entropy": REFUSED,
    },
    # bfloat16, the dtype on a cpu, has float32's range; what it has no kernels for in PyTorch is computed in float32.
    "cpu": {
        **dict.fromkeys(_PRODUCTS, LOWER),
        **dict.fromkeys(("addmv", "addr", "bilinear", "mv"), AS_GIVEN),
        **dict.fromkeys([*_LOSSES, *_DECOMPOSITIONS, *_RECURRENT], FLOAT32),
        **dict.fromkeys(("stack", "cat", "index_copy"), WIDEST),
    },
}
"""The policy of each function by device type; "" stands for all types that are not named."""
