"""Which module of ``polyad.ops`` declares which op, public function and attribute of Tensor.

Written by ``python -m polyad.ops.declaring.stubs``; do not edit.
"""

OPS = {
    "creation.factories": """
arange full full_strided
""",
    "creation.sequences": """
eye linspace
""",
    "fft.dft": """
fft_c2c fft_c2r fft_r2c
""",
    "indexing.gather_scatter": """
gather scatter scatter_add
""",
    "indexing.index_put": """
counted_index index index_put
""",
    "indexing.index_select": """
index_add index_copy index_select
""",
    "indexing.masking": """
masked_fill masked_scatter
""",
    "indexing.nonzero": """
nonzero
""",
    "indexing.scatter_reduce": """
scatter_reduce
""",
    "indexing.slicing": """
select slice sliding_windows
""",
    "indexing.subscript": """
subscript
""",
    "indexing.take": """
from_front
""",
    "linalg.cholesky": """
linalg_cholesky_ex
""",
    "linalg.determinants": """
det_backward linalg_det linalg_slogdet
""",
    "linalg.eigenvalues": """
linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
""",
    "linalg.factorizations": """
geqrf linalg_householder_product linalg_ldl_factor_ex linalg_ldl_solve linalg_lu_factor_ex linalg_lu_solve linalg_qr
lu_permutation
""",
    "linalg.matrix_functions": """
linalg_matrix_exp
""",
    "linalg.norms": """
norm norm2
""",
    "linalg.solving": """
linalg_inv_ex linalg_lstsq linalg_solve_ex linalg_solve_factored
""",
    "linalg.svd": """
linalg_matrix_rank linalg_pinv linalg_svd linalg_svdvals
""",
    "linalg.triangular": """
linalg_solve_triangular
""",
    "memory.conversion": """
cast
""",
    "memory.copying": """
copy copy_strided
""",
    "nn.activation.piecewise": """
hardshrink hardshrink_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh
hardtanh_backward softshrink
""",
    "nn.activation.rectifiers": """
elu elu_backward leaky_relu leaky_relu_backward prelu relu relu_backward rrelu threshold threshold_backward
""",
    "nn.activation.smooth": """
gelu gelu_backward glu log_sigmoid mish mish_backward silu silu_backward softplus softplus_backward
""",
    "nn.activation.softmax": """
log_softmax log_softmax_backward softmax softmax_backward
""",
    "nn.attention": """
attention attention_backward
""",
    "nn.convolution": """
convolution convolution_transposed convolution_weight_grad
""",
    "nn.distance": """
cdist euclidean_cdist pdist
""",
    "nn.dropout": """
dropout
""",
    "nn.embedding": """
bag_max bag_sum embedding embedding_backward
""",
    "nn.fold": """
col2im im2col
""",
    "nn.grid_sampling": """
rows_dot weighted_rows weighted_rows_backward
""",
    "nn.interpolate": """
pick resample resample_backward
""",
    "nn.linear": """
linear linear_weight_grad
""",
    "nn.losses.binary": """
binary_cross_entropy
""",
    "nn.losses.classification": """
cross_entropy cross_entropy_backward nll_loss nll_loss_backward
""",
    "nn.losses.regression": """
gaussian_nll huber
""",
    "nn.losses.sequence": """
ctc_loss ctc_loss_backward
""",
    "nn.normalization": """
batch_norm batch_norm_backward batch_norm_by layer_norm layer_norm_backward rms_norm rms_norm_backward
""",
    "nn.padding": """
pad_constant pad_repeated pad_repeated_backward
""",
    "nn.pooling.adaptive": """
adaptive_max_pool range_sum
""",
    "nn.pooling.average": """
avg_pool avg_pool_backward
""",
    "nn.pooling.fractional": """
fractional_max_pool
""",
    "nn.pooling.maximum": """
max_pool max_pool_backward max_pool_with_indices
""",
    "nn.recurrent.cells": """
gru_gates gru_gates_backward lstm_gates lstm_gates_backward
""",
    "nn.recurrent.sequences": """
gru_sequence gru_sequence_backward lstm_sequence lstm_sequence_backward rnn_sequence rnn_sequence_backward
""",
    "optim.adadelta": """
adadelta_step
""",
    "optim.adafactor": """
adafactor_step adafactor_vector_step
""",
    "optim.adagrad": """
adagrad_rates adagrad_step
""",
    "optim.adam": """
adam_step amsgrad_step
""",
    "optim.adamax": """
adamax_rates adamax_step
""",
    "optim.asgd": """
asgd_rates asgd_step
""",
    "optim.counting": """
step_count
""",
    "optim.muon": """
muon_step
""",
    "optim.nadam": """
nadam_rates nadam_step
""",
    "optim.radam": """
radam_rates radam_step
""",
    "optim.rmsprop": """
rmsprop_centered_momentum_step rmsprop_centered_step rmsprop_momentum_step rmsprop_step
""",
    "optim.rprop": """
rprop_step
""",
    "optim.sgd": """
sgd_momentum_step sgd_step
""",
    "pointwise.arithmetic": """
abs add addcdiv addcmul conj div floor_divide fmod lerp mul neg remainder sgn sign sub trunc_divide
""",
    "pointwise.bitwise": """
bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor logical_and logical_not
logical_or logical_xor
""",
    "pointwise.clamp": """
clamp clamp_backward
""",
    "pointwise.comparison": """
eq ge gt isfinite isinf isnan le lt ne
""",
    "pointwise.complex_numbers": """
angle complex imag isreal polar real view_as_complex view_as_real
""",
    "pointwise.divisors": """
gcd lcm
""",
    "pointwise.exponential": """
exp exp2 expm1 log log10 log1p log2 logaddexp logaddexp2 logit sigmoid sigmoid_backward xlogy
""",
    "pointwise.float_parts": """
copysign frexp ldexp nextafter signbit
""",
    "pointwise.heaviside": """
heaviside
""",
    "pointwise.maximum": """
fmax fmin maximum minimum share
""",
    "pointwise.nan_to_num": """
nan_to_num
""",
    "pointwise.powers": """
hypot pow reciprocal rsqrt sqrt square
""",
    "pointwise.rounding": """
ceil floor frac round trunc
""",
    "pointwise.trigonometry": """
acos acosh asin asinh atan atan2 atanh cos cosh deg2rad rad2deg sin sinc sinh tan tanh tanh_backward
""",
    "pointwise.where": """
where
""",
    "products.addmm": """
addmm addmv baddbmm
""",
    "products.cross": """
cross
""",
    "products.dot": """
dot vdot
""",
    "products.grouped": """
grouped
""",
    "products.matmul": """
gemm vector_product
""",
    "products.mm": """
bmm mm mv
""",
    "random.gamma": """
log_gamma log_gamma_slope
""",
    "random.poisson": """
binomial poisson
""",
    "random.sampling": """
chances chances_of exponential integers normal permutation philox_bits philox_bits_from uniform
""",
    "reductions.any_all": """
all any count_nonzero
""",
    "reductions.cumulative": """
cummax cummin cumprod cumprod_backward cumsum logcumsumexp product_of_others
""",
    "reductions.histogram": """
bin_counts bincount bincount_of histc histogram_of
""",
    "reductions.logsumexp": """
logsumexp
""",
    "reductions.max_min": """
amax amin argmax argmin max_all max_dim min_all min_dim
""",
    "reductions.median": """
kthvalue median median_dim mode nanmedian nanmedian_dim
""",
    "reductions.quantile": """
at_ranks
""",
    "reductions.sums": """
mean prod sum
""",
    "reductions.variance": """
std var
""",
    "shaping.combinatorics": """
combinations
""",
    "shaping.diagonals": """
diagonal
""",
    "shaping.flipping": """
flip roll
""",
    "shaping.joining": """
block_diag cat stack
""",
    "shaping.repeating": """
repeat repeat_interleave
""",
    "shaping.reshape": """
expand permute reshape_view squeeze unsqueeze view_dtype
""",
    "shaping.strided": """
as_strided overlap_add window_clear window_put window_take window_write
""",
    "shaping.triangles": """
tril triu
""",
    "sorting.searchsorted": """
isin searchsorted
""",
    "sorting.sort": """
sort sorted topk
""",
    "sorting.unique": """
distinct lexsort
""",
    "special.bessel": """
i0 special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_i0e special_i1
special_i1e special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
special_spherical_bessel_j0
""",
    "special.entropy": """
special_entr special_xlog1py
""",
    "special.error_functions": """
erf erfc erfinv special_erfcx special_log_ndtr special_ndtr special_ndtri
""",
    "special.gamma": """
digamma lgamma polygamma
""",
    "special.incomplete_gamma": """
igamma igammac
""",
    "special.polynomials": """
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
""",
    "special.zeta": """
special_zeta
""",
}

FUNCTIONS = {
    "control_flow": """
cond while_loop
""",
    "creation.factories": """
arange as_tensor asarray empty empty_like empty_permuted empty_strided full full_like ones ones_like range
scalar_tensor tensor zeros zeros_like
""",
    "creation.sequences": """
eye linspace logspace
""",
    "fft.frequencies": """
fft.fftfreq fft.fftshift fft.ifftshift fft.rfftfreq
""",
    "fft.stft": """
istft stft
""",
    "fft.transforms": """
fft.fft fft.fft2 fft.fftn fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.ihfft2 fft.ihfftn
fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
""",
    "fft.window_functions": """
bartlett_window blackman_window hamming_window hann_window kaiser_window
""",
    "indexing.gather_scatter": """
gather scatter scatter_add
""",
    "indexing.index_put": """
index_put
""",
    "indexing.index_select": """
index_add index_copy index_fill index_reduce index_select
""",
    "indexing.masking": """
masked_fill masked_scatter masked_select
""",
    "indexing.nonzero": """
argwhere nonzero nonzero_static
""",
    "indexing.scatter_reduce": """
scatter_reduce
""",
    "indexing.segment_reduce": """
segment_reduce
""",
    "indexing.slicing": """
narrow select
""",
    "indexing.take": """
put take take_along_dim
""",
    "indexing.unravel_index": """
unravel_index
""",
    "indexing.view_scatter": """
as_strided_scatter diagonal_scatter select_scatter slice_scatter
""",
    "linalg.cholesky": """
cholesky_inverse cholesky_solve linalg.cholesky linalg.cholesky_ex
""",
    "linalg.determinants": """
linalg.det linalg.slogdet logdet
""",
    "linalg.eigenvalues": """
linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
""",
    "linalg.factorizations": """
geqrf linalg.householder_product linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linalg.lu linalg.lu_factor
linalg.lu_factor_ex linalg.lu_solve linalg.qr lu_unpack
""",
    "linalg.low_rank": """
pca_lowrank svd_lowrank
""",
    "linalg.matrix_functions": """
linalg.matrix_exp linalg.matrix_power
""",
    "linalg.norms": """
linalg.matrix_norm linalg.norm linalg.vector_norm renorm
""",
    "linalg.older_names": """
cholesky det frobenius_norm inverse lu lu_solve matrix_exp matrix_power norm norm_except_dim nuclear_norm orgqr ormqr
pinverse qr slogdet svd triangular_solve
""",
    "linalg.products": """
linalg.cross linalg.diagonal linalg.multi_dot linalg.vander linalg.vecdot
""",
    "linalg.solving": """
linalg.inv linalg.inv_ex linalg.lstsq linalg.solve linalg.solve_ex linalg.tensorinv linalg.tensorsolve
""",
    "linalg.svd": """
linalg.cond linalg.matrix_rank linalg.pinv linalg.svd linalg.svdvals
""",
    "linalg.triangular": """
linalg.solve_triangular
""",
    "linalg.vander": """
vander
""",
    "memory.conversion": """
to
""",
    "memory.copying": """
clone contiguous detach fill
""",
    "memory.placement": """
get_device
""",
    "nn.activation.namesakes": """
nn.functional.log_softmax nn.functional.relu nn.functional.relu_ nn.functional.softmax
""",
    "nn.activation.piecewise": """
hardshrink nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh
nn.functional.hardtanh_ nn.functional.relu6 nn.functional.softshrink
""",
    "nn.activation.rectifiers": """
celu celu_ nn.functional.celu nn.functional.celu_ nn.functional.elu nn.functional.elu_ nn.functional.leaky_relu
nn.functional.leaky_relu_ nn.functional.prelu nn.functional.rrelu nn.functional.rrelu_ nn.functional.selu
nn.functional.selu_ nn.functional.threshold nn.functional.threshold_ prelu relu rrelu rrelu_ selu selu_ threshold
threshold_
""",
    "nn.activation.smooth": """
nn.functional.gelu nn.functional.glu nn.functional.logsigmoid nn.functional.mish nn.functional.silu
nn.functional.softplus nn.functional.softsign nn.functional.tanhshrink
""",
    "nn.activation.softmax": """
log_softmax nn.functional.gumbel_softmax nn.functional.softmin softmax special.log_softmax special.softmax
""",
    "nn.attention": """
nn.functional.multi_head_attention_forward nn.functional.scaled_dot_product_attention
""",
    "nn.convolution": """
conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d nn.functional.conv1d nn.functional.conv2d
nn.functional.conv3d nn.functional.conv_transpose1d nn.functional.conv_transpose2d nn.functional.conv_transpose3d
""",
    "nn.distance": """
cdist cosine_similarity dist nn.functional.cosine_similarity nn.functional.pairwise_distance nn.functional.pdist
pairwise_distance pdist
""",
    "nn.dropout": """
alpha_dropout dropout feature_alpha_dropout nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout1d
nn.functional.dropout2d nn.functional.dropout3d nn.functional.feature_alpha_dropout
""",
    "nn.embedding": """
nn.functional.embedding nn.functional.embedding_bag nn.functional.one_hot
""",
    "nn.fold": """
nn.functional.fold nn.functional.unfold
""",
    "nn.grid_sampling": """
nn.functional.affine_grid nn.functional.grid_sample
""",
    "nn.interpolate": """
nn.functional.interpolate nn.functional.upsample nn.functional.upsample_bilinear nn.functional.upsample_nearest
""",
    "nn.linear": """
bilinear linear nn.functional.bilinear nn.functional.linear
""",
    "nn.losses.binary": """
nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits
nn.functional.multilabel_soft_margin_loss nn.functional.soft_margin_loss
""",
    "nn.losses.classification": """
nn.functional.cross_entropy nn.functional.linear_cross_entropy nn.functional.nll_loss
""",
    "nn.losses.ranking": """
nn.functional.cosine_embedding_loss nn.functional.hinge_embedding_loss nn.functional.margin_ranking_loss
nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss nn.functional.triplet_margin_loss
nn.functional.triplet_margin_with_distance_loss
""",
    "nn.losses.regression": """
nn.functional.gaussian_nll_loss nn.functional.huber_loss nn.functional.kl_div nn.functional.l1_loss
nn.functional.mse_loss nn.functional.poisson_nll_loss nn.functional.smooth_l1_loss
""",
    "nn.losses.sequence": """
nn.functional.ctc_loss
""",
    "nn.main_namespace": """
adaptive_max_pool1d affine_grid_generator alpha_dropout_ batch_norm binary_cross_entropy_with_logits
cosine_embedding_loss ctc_loss dropout_ embedding embedding_bag embedding_renorm_ feature_alpha_dropout_
feature_dropout feature_dropout_ grid_sampler hinge_embedding_loss instance_norm kl_div margin_ranking_loss
max_pool1d_with_indices poisson_nll_loss triplet_margin_loss
""",
    "nn.normalization": """
group_norm layer_norm nn.functional.batch_norm nn.functional.group_norm nn.functional.instance_norm
nn.functional.layer_norm nn.functional.local_response_norm nn.functional.normalize nn.functional.rms_norm rms_norm
""",
    "nn.padding": """
constant_pad_nd nn.functional.pad
""",
    "nn.pixel_shuffle": """
channel_shuffle nn.functional.channel_shuffle nn.functional.pixel_shuffle nn.functional.pixel_unshuffle pixel_shuffle
pixel_unshuffle
""",
    "nn.pooling.adaptive": """
adaptive_avg_pool1d nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d
nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d
nn.functional.adaptive_max_pool3d
""",
    "nn.pooling.average": """
avg_pool1d nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.lp_pool1d
nn.functional.lp_pool2d nn.functional.lp_pool3d
""",
    "nn.pooling.fractional": """
nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d
""",
    "nn.pooling.maximum": """
max_pool1d max_pool2d max_pool3d nn.functional.max_pool1d nn.functional.max_pool1d_with_indices
nn.functional.max_pool2d nn.functional.max_pool2d_with_indices nn.functional.max_pool3d
nn.functional.max_pool3d_with_indices
""",
    "nn.pooling.unpooling": """
nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d
""",
    "nn.recurrent.cells": """
gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell
""",
    "nn.recurrent.networks": """
gru lstm rnn_relu rnn_tanh
""",
    "pointwise.arithmetic": """
abs absolute add addcdiv addcmul conj div divide floor_divide fmod lerp mul multiply neg negative positive remainder
rsub sgn sign sub subtract true_divide
""",
    "pointwise.bitwise": """
bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor logical_and logical_not
logical_or logical_xor
""",
    "pointwise.clamp": """
clamp clamp_max clamp_min clip
""",
    "pointwise.comparison": """
allclose eq equal ge greater greater_equal gt isclose isfinite isinf isnan isneginf isposinf le less less_equal lt ne
not_equal
""",
    "pointwise.complex_numbers": """
angle complex conj_physical imag is_conj is_neg isreal polar real resolve_conj resolve_neg view_as_complex
view_as_real
""",
    "pointwise.divisors": """
gcd lcm
""",
    "pointwise.exponential": """
exp exp2 expm1 log log10 log1p log2 logaddexp logaddexp2 logit nn.functional.sigmoid sigmoid special.exp2
special.expit special.expm1 special.log1p special.logit special.xlogy xlogy
""",
    "pointwise.float_parts": """
copysign frexp ldexp nextafter signbit
""",
    "pointwise.heaviside": """
heaviside
""",
    "pointwise.maximum": """
fmax fmin maximum minimum
""",
    "pointwise.nan_to_num": """
nan_to_num
""",
    "pointwise.powers": """
float_power hypot pow reciprocal rsqrt sqrt square
""",
    "pointwise.rounding": """
ceil fix floor frac round special.round trunc
""",
    "pointwise.trigonometry": """
acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cos cosh deg2rad
nn.functional.tanh rad2deg sin sinc sinh special.sinc tan tanh
""",
    "pointwise.where": """
where
""",
    "products.addmm": """
addbmm addmm addmv addr baddbmm
""",
    "products.cross": """
cross
""",
    "products.dot": """
dot inner vdot
""",
    "products.einsum": """
einsum
""",
    "products.grouped": """
_scaled_mm nn.functional.grouped_mm nn.functional.scaled_grouped_mm nn.functional.scaled_mm
""",
    "products.matmul": """
linalg.matmul matmul
""",
    "products.mm": """
bmm chain_matmul mm mv spmm
""",
    "products.outer": """
ger kron outer
""",
    "products.tensordot": """
tensordot
""",
    "queries": """
is_complex is_floating_point is_inference is_same_size is_signed is_tensor numel result_type
""",
    "random.poisson": """
binomial poisson
""",
    "random.sampling": """
bernoulli multinomial normal rand rand_like randint randint_like randn randn_like randperm
""",
    "reductions.any_all": """
all any count_nonzero is_nonzero
""",
    "reductions.covariance": """
corrcoef cov
""",
    "reductions.cumulative": """
cummax cummin cumprod cumsum logcumsumexp
""",
    "reductions.diff": """
diff gradient
""",
    "reductions.histogram": """
bincount histc histogram histogramdd
""",
    "reductions.logsumexp": """
logsumexp special.logsumexp
""",
    "reductions.max_min": """
amax amin aminmax argmax argmin max min
""",
    "reductions.median": """
kthvalue median mode nanmedian
""",
    "reductions.quantile": """
nanquantile quantile
""",
    "reductions.sums": """
mean nanmean nansum prod sum
""",
    "reductions.trace": """
trace
""",
    "reductions.trapezoid": """
cumulative_trapezoid trapezoid trapz
""",
    "reductions.variance": """
std std_mean var var_mean
""",
    "shaping.combinatorics": """
cartesian_prod combinations
""",
    "shaping.diagonals": """
diag diag_embed diagflat diagonal
""",
    "shaping.flipping": """
flip fliplr flipud roll rot90
""",
    "shaping.joining": """
atleast_1d atleast_2d atleast_3d block_diag cat column_stack concat concatenate dstack hstack meshgrid row_stack stack
vstack
""",
    "shaping.repeating": """
repeat_interleave tile
""",
    "shaping.reshape": """
Tensor.sum_to_size adjoint broadcast_shapes broadcast_tensors broadcast_to expand expand_as flatten moveaxis movedim
permute ravel reshape reshape_as squeeze swapaxes swapdims t transpose unflatten unsqueeze view view_as
""",
    "shaping.splitting": """
chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes
vsplit
""",
    "shaping.strided": """
as_strided
""",
    "shaping.triangles": """
tril tril_indices triu triu_indices
""",
    "shaping.view_copies": """
alias_copy as_strided_copy detach_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy slice_copy
split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy
view_as_complex_copy view_as_real_copy view_copy
""",
    "sorting.searchsorted": """
bucketize isin searchsorted
""",
    "sorting.sort": """
argsort msort sort topk
""",
    "sorting.unique": """
unique unique_consecutive
""",
    "special.bessel": """
i0 special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.i0 special.i0e
special.i1 special.i1e special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0
special.modified_bessel_k1 special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1
special.spherical_bessel_j0
""",
    "special.entropy": """
special.entr special.xlog1py
""",
    "special.error_functions": """
erf erfc erfinv special.erf special.erfc special.erfcx special.erfinv special.log_ndtr special.ndtr special.ndtri
""",
    "special.gamma": """
Tensor.polygamma digamma lgamma mvlgamma polygamma special.digamma special.gammaln special.multigammaln
special.polygamma special.psi
""",
    "special.incomplete_gamma": """
igamma igammac special.gammainc special.gammaincc
""",
    "special.polynomials": """
special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he
special.laguerre_polynomial_l special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t
special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w
""",
    "special.zeta": """
special.zeta
""",
}

ATTRIBUTES = {
    "creation.factories": """
new_empty new_empty_strided new_full new_ones new_zeros
""",
    "fft.stft": """
istft stft
""",
    "indexing.gather_scatter": """
gather scatter scatter_ scatter_add scatter_add_
""",
    "indexing.index_put": """
index_put index_put_
""",
    "indexing.index_select": """
index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ index_select
""",
    "indexing.masking": """
masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select
""",
    "indexing.nonzero": """
argwhere nonzero nonzero_static
""",
    "indexing.scatter_reduce": """
scatter_reduce scatter_reduce_
""",
    "indexing.slicing": """
narrow select unfold
""",
    "indexing.subscript": """
__delitem__ __getitem__ __reversed__ __setitem__
""",
    "indexing.take": """
put put_ take take_along_dim
""",
    "indexing.view_scatter": """
as_strided_scatter diagonal_scatter fill_diagonal_ select_scatter slice_scatter
""",
    "layouts": """
ccol_indices coalesce col_indices crow_indices dense_dim indices is_coalesced row_indices sparse_dim sparse_mask
to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values
""",
    "linalg.cholesky": """
cholesky_inverse cholesky_solve
""",
    "linalg.determinants": """
logdet
""",
    "linalg.factorizations": """
geqrf
""",
    "linalg.norms": """
renorm renorm_
""",
    "linalg.older_names": """
cholesky det inverse lu lu_solve matrix_exp matrix_power norm orgqr ormqr pinverse qr slogdet svd triangular_solve
""",
    "memory.conversion": """
bfloat16 bool byte cdouble cfloat char cpu double float half int long short to type type_as
""",
    "memory.copying": """
clone contiguous copy_ fill_ zero_
""",
    "memory.interchange": """
__array_namespace__ __cuda_array_interface__ __dlpack__ __dlpack_device__ to_device
""",
    "memory.placement": """
cuda get_device is_cpu is_cuda is_meta is_pinned pin_memory record_stream
""",
    "memory.sharing": """
is_shared share_memory_
""",
    "memory.storage": """
as_subclass resize_ resize_as_ set_
""",
    "memory.storage_types": """
storage storage_type untyped_storage
""",
    "nn.activation.piecewise": """
hardshrink
""",
    "nn.activation.rectifiers": """
prelu relu relu_
""",
    "nn.activation.softmax": """
log_softmax softmax
""",
    "nn.distance": """
dist
""",
    "pointwise.arithmetic": """
abs abs_ absolute absolute_ add add_ addcdiv addcdiv_ addcmul addcmul_ conj div div_ divide divide_ floor_divide
floor_divide_ fmod fmod_ lerp lerp_ mul mul_ multiply multiply_ neg neg_ negative negative_ positive remainder
remainder_ rsub sgn sgn_ sign sign_ sub sub_ subtract subtract_ true_divide true_divide_
""",
    "pointwise.bitwise": """
__invert__ bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or
bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ logical_and logical_and_ logical_not
logical_not_ logical_or logical_or_ logical_xor logical_xor_
""",
    "pointwise.clamp": """
clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_
""",
    "pointwise.comparison": """
allclose eq eq_ equal ge ge_ greater greater_ greater_equal greater_equal_ gt gt_ isclose isfinite isinf isnan
isneginf isposinf le le_ less less_ less_equal less_equal_ lt lt_ ne ne_ not_equal not_equal_
""",
    "pointwise.complex_numbers": """
angle conj_physical conj_physical_ imag is_conj is_neg isreal real resolve_conj resolve_neg
""",
    "pointwise.divisors": """
gcd gcd_ lcm lcm_
""",
    "pointwise.exponential": """
exp exp2 exp2_ exp_ expm1 expm1_ log log10 log10_ log1p log1p_ log2 log2_ log_ logaddexp logaddexp2 logit logit_
sigmoid sigmoid_ xlogy xlogy_
""",
    "pointwise.float_parts": """
copysign copysign_ frexp ldexp ldexp_ nextafter nextafter_ signbit
""",
    "pointwise.heaviside": """
heaviside heaviside_
""",
    "pointwise.maximum": """
fmax fmin maximum minimum
""",
    "pointwise.nan_to_num": """
nan_to_num nan_to_num_
""",
    "pointwise.powers": """
float_power float_power_ hypot hypot_ pow pow_ reciprocal reciprocal_ rsqrt rsqrt_ sqrt sqrt_ square square_
""",
    "pointwise.python_functions": """
apply_ map2_ map_
""",
    "pointwise.rounding": """
ceil ceil_ fix fix_ floor floor_ frac frac_ round round_ trunc trunc_
""",
    "pointwise.trigonometry": """
acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_
arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad
deg2rad_ rad2deg rad2deg_ sin sin_ sinc sinc_ sinh sinh_ tan tan_ tanh tanh_
""",
    "pointwise.where": """
where
""",
    "products.addmm": """
addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_
""",
    "products.cross": """
cross
""",
    "products.dot": """
dot inner vdot
""",
    "products.matmul": """
__matmul__ __rmatmul__ matmul
""",
    "products.mm": """
bmm mm mv
""",
    "products.outer": """
ger kron outer
""",
    "queries": """
dim_order is_complex is_floating_point is_inference is_ipu is_maia is_mkldnn is_mps is_mtia is_nested is_quantized
is_same_size is_set_to is_signed is_sparse is_sparse_csr is_vulkan is_xla is_xpu
""",
    "random.inplace": """
bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_
""",
    "random.sampling": """
bernoulli multinomial
""",
    "reductions.any_all": """
all any count_nonzero is_nonzero
""",
    "reductions.covariance": """
corrcoef cov
""",
    "reductions.cumulative": """
cummax cummin cumprod cumprod_ cumsum cumsum_ logcumsumexp
""",
    "reductions.diff": """
diff
""",
    "reductions.histogram": """
bincount histc histogram
""",
    "reductions.logsumexp": """
logsumexp
""",
    "reductions.max_min": """
amax amin aminmax argmax argmin max min
""",
    "reductions.median": """
kthvalue median mode nanmedian
""",
    "reductions.quantile": """
nanquantile quantile
""",
    "reductions.sums": """
mean nanmean nansum prod sum
""",
    "reductions.trace": """
trace
""",
    "reductions.variance": """
std var
""",
    "shaping.combinatorics": """
combinations
""",
    "shaping.diagonals": """
diag diag_embed diagflat diagonal
""",
    "shaping.flipping": """
flip fliplr flipud roll rot90
""",
    "shaping.repeating": """
repeat repeat_interleave tile
""",
    "shaping.reshape": """
H T adjoint broadcast_to expand expand_as flatten mH mT moveaxis movedim permute ravel reshape reshape_as squeeze
squeeze_ sum_to_size swapaxes swapaxes_ swapdims swapdims_ t t_ transpose transpose_ unflatten unsqueeze unsqueeze_
view view_as
""",
    "shaping.splitting": """
chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes
vsplit
""",
    "shaping.strided": """
as_strided as_strided_
""",
    "shaping.triangles": """
tril tril_ triu triu_
""",
    "shaping.view_copies": """
narrow_copy
""",
    "sorting.sort": """
argsort msort sort topk
""",
    "sorting.unique": """
unique unique_consecutive
""",
    "special.bessel": """
i0 i0_
""",
    "special.error_functions": """
erf erf_ erfc erfc_ erfinv erfinv_
""",
    "special.gamma": """
digamma digamma_ lgamma lgamma_ mvlgamma mvlgamma_ polygamma polygamma_
""",
    "special.incomplete_gamma": """
igamma igamma_ igammac igammac_
""",
}
