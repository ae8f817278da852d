"""The public functions of tensors, one import a name.

Written by ``python -m polyad.ops.declaring.stubs``; do not edit.
"""

from .ops.control_flow import cond as cond
from .ops.control_flow import while_loop as while_loop
from .ops.creation.factories import arange as arange
from .ops.creation.factories import as_tensor as as_tensor
from .ops.creation.factories import asarray as asarray
from .ops.creation.factories import empty as empty
from .ops.creation.factories import empty_like as empty_like
from .ops.creation.factories import empty_permuted as empty_permuted
from .ops.creation.factories import empty_strided as empty_strided
from .ops.creation.factories import full as full
from .ops.creation.factories import full_like as full_like
from .ops.creation.factories import ones as ones
from .ops.creation.factories import ones_like as ones_like
from .ops.creation.factories import range as range
from .ops.creation.factories import scalar_tensor as scalar_tensor
from .ops.creation.factories import tensor as tensor
from .ops.creation.factories import zeros as zeros
from .ops.creation.factories import zeros_like as zeros_like
from .ops.creation.sequences import eye as eye
from .ops.creation.sequences import linspace as linspace
from .ops.creation.sequences import logspace as logspace
from .ops.fft.stft import istft as istft
from .ops.fft.stft import stft as stft
from .ops.fft.window_functions import bartlett_window as bartlett_window
from .ops.fft.window_functions import blackman_window as blackman_window
from .ops.fft.window_functions import hamming_window as hamming_window
from .ops.fft.window_functions import hann_window as hann_window
from .ops.fft.window_functions import kaiser_window as kaiser_window
from .ops.indexing.gather_scatter import gather as gather
from .ops.indexing.gather_scatter import scatter as scatter
from .ops.indexing.gather_scatter import scatter_add as scatter_add
from .ops.indexing.index_put import index_put as index_put
from .ops.indexing.index_select import index_add as index_add
from .ops.indexing.index_select import index_copy as index_copy
from .ops.indexing.index_select import index_fill as index_fill
from .ops.indexing.index_select import index_reduce as index_reduce
from .ops.indexing.index_select import index_select as index_select
from .ops.indexing.masking import masked_fill as masked_fill
from .ops.indexing.masking import masked_scatter as masked_scatter
from .ops.indexing.masking import masked_select as masked_select
from .ops.indexing.nonzero import argwhere as argwhere
from .ops.indexing.nonzero import nonzero as nonzero
from .ops.indexing.nonzero import nonzero_static as nonzero_static
from .ops.indexing.scatter_reduce import scatter_reduce as scatter_reduce
from .ops.indexing.segment_reduce import segment_reduce as segment_reduce
from .ops.indexing.slicing import narrow as narrow
from .ops.indexing.slicing import select as select
from .ops.indexing.take import put as put
from .ops.indexing.take import take as take
from .ops.indexing.take import take_along_dim as take_along_dim
from .ops.indexing.unravel_index import unravel_index as unravel_index
from .ops.indexing.view_scatter import as_strided_scatter as as_strided_scatter
from .ops.indexing.view_scatter import diagonal_scatter as diagonal_scatter
from .ops.indexing.view_scatter import select_scatter as select_scatter
from .ops.indexing.view_scatter import slice_scatter as slice_scatter
from .ops.linalg.cholesky import cholesky_inverse as cholesky_inverse
from .ops.linalg.cholesky import cholesky_solve as cholesky_solve
from .ops.linalg.determinants import logdet as logdet
from .ops.linalg.factorizations import geqrf as geqrf
from .ops.linalg.factorizations import lu_unpack as lu_unpack
from .ops.linalg.low_rank import pca_lowrank as pca_lowrank
from .ops.linalg.low_rank import svd_lowrank as svd_lowrank
from .ops.linalg.norms import renorm as renorm
from .ops.linalg.older_names import cholesky as cholesky
from .ops.linalg.older_names import det as det
from .ops.linalg.older_names import frobenius_norm as frobenius_norm
from .ops.linalg.older_names import inverse as inverse
from .ops.linalg.older_names import lu as lu
from .ops.linalg.older_names import lu_solve as lu_solve
from .ops.linalg.older_names import matrix_exp as matrix_exp
from .ops.linalg.older_names import matrix_power as matrix_power
from .ops.linalg.older_names import norm as norm
from .ops.linalg.older_names import norm_except_dim as norm_except_dim
from .ops.linalg.older_names import nuclear_norm as nuclear_norm
from .ops.linalg.older_names import orgqr as orgqr
from .ops.linalg.older_names import ormqr as ormqr
from .ops.linalg.older_names import pinverse as pinverse
from .ops.linalg.older_names import qr as qr
from .ops.linalg.older_names import slogdet as slogdet
from .ops.linalg.older_names import svd as svd
from .ops.linalg.older_names import triangular_solve as triangular_solve
from .ops.linalg.vander import vander as vander
from .ops.memory.conversion import to as to
from .ops.memory.copying import clone as clone
from .ops.memory.copying import contiguous as contiguous
from .ops.memory.copying import detach as detach
from .ops.memory.copying import fill as fill
from .ops.memory.placement import get_device as get_device
from .ops.nn.activation.piecewise import hardshrink as hardshrink
from .ops.nn.activation.rectifiers import celu as celu
from .ops.nn.activation.rectifiers import celu_ as celu_
from .ops.nn.activation.rectifiers import prelu as prelu
from .ops.nn.activation.rectifiers import relu as relu
from .ops.nn.activation.rectifiers import rrelu as rrelu
from .ops.nn.activation.rectifiers import rrelu_ as rrelu_
from .ops.nn.activation.rectifiers import selu as selu
from .ops.nn.activation.rectifiers import selu_ as selu_
from .ops.nn.activation.rectifiers import threshold as threshold
from .ops.nn.activation.rectifiers import threshold_ as threshold_
from .ops.nn.activation.softmax import log_softmax as log_softmax
from .ops.nn.activation.softmax import softmax as softmax
from .ops.nn.convolution import conv1d as conv1d
from .ops.nn.convolution import conv2d as conv2d
from .ops.nn.convolution import conv3d as conv3d
from .ops.nn.convolution import conv_transpose1d as conv_transpose1d
from .ops.nn.convolution import conv_transpose2d as conv_transpose2d
from .ops.nn.convolution import conv_transpose3d as conv_transpose3d
from .ops.nn.distance import cdist as cdist
from .ops.nn.distance import cosine_similarity as cosine_similarity
from .ops.nn.distance import dist as dist
from .ops.nn.distance import pairwise_distance as pairwise_distance
from .ops.nn.distance import pdist as pdist
from .ops.nn.dropout import alpha_dropout as alpha_dropout
from .ops.nn.dropout import dropout as dropout
from .ops.nn.dropout import feature_alpha_dropout as feature_alpha_dropout
from .ops.nn.linear import bilinear as bilinear
from .ops.nn.linear import linear as linear
from .ops.nn.main_namespace import adaptive_max_pool1d as adaptive_max_pool1d
from .ops.nn.main_namespace import affine_grid_generator as affine_grid_generator
from .ops.nn.main_namespace import alpha_dropout_ as alpha_dropout_
from .ops.nn.main_namespace import batch_norm as batch_norm
from .ops.nn.main_namespace import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .ops.nn.main_namespace import cosine_embedding_loss as cosine_embedding_loss
from .ops.nn.main_namespace import ctc_loss as ctc_loss
from .ops.nn.main_namespace import dropout_ as dropout_
from .ops.nn.main_namespace import embedding as embedding
from .ops.nn.main_namespace import embedding_bag as embedding_bag
from .ops.nn.main_namespace import embedding_renorm_ as embedding_renorm_
from .ops.nn.main_namespace import feature_alpha_dropout_ as feature_alpha_dropout_
from .ops.nn.main_namespace import feature_dropout as feature_dropout
from .ops.nn.main_namespace import feature_dropout_ as feature_dropout_
from .ops.nn.main_namespace import grid_sampler as grid_sampler
from .ops.nn.main_namespace import hinge_embedding_loss as hinge_embedding_loss
from .ops.nn.main_namespace import instance_norm as instance_norm
from .ops.nn.main_namespace import kl_div as kl_div
from .ops.nn.main_namespace import margin_ranking_loss as margin_ranking_loss
from .ops.nn.main_namespace import max_pool1d_with_indices as max_pool1d_with_indices
from .ops.nn.main_namespace import poisson_nll_loss as poisson_nll_loss
from .ops.nn.main_namespace import triplet_margin_loss as triplet_margin_loss
from .ops.nn.normalization import group_norm as group_norm
from .ops.nn.normalization import layer_norm as layer_norm
from .ops.nn.normalization import rms_norm as rms_norm
from .ops.nn.padding import constant_pad_nd as constant_pad_nd
from .ops.nn.pixel_shuffle import channel_shuffle as channel_shuffle
from .ops.nn.pixel_shuffle import pixel_shuffle as pixel_shuffle
from .ops.nn.pixel_shuffle import pixel_unshuffle as pixel_unshuffle
from .ops.nn.pooling.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from .ops.nn.pooling.average import avg_pool1d as avg_pool1d
from .ops.nn.pooling.maximum import max_pool1d as max_pool1d
from .ops.nn.pooling.maximum import max_pool2d as max_pool2d
from .ops.nn.pooling.maximum import max_pool3d as max_pool3d
from .ops.nn.recurrent.cells import gru_cell as gru_cell
from .ops.nn.recurrent.cells import lstm_cell as lstm_cell
from .ops.nn.recurrent.cells import rnn_relu_cell as rnn_relu_cell
from .ops.nn.recurrent.cells import rnn_tanh_cell as rnn_tanh_cell
from .ops.nn.recurrent.networks import gru as gru
from .ops.nn.recurrent.networks import lstm as lstm
from .ops.nn.recurrent.networks import rnn_relu as rnn_relu
from .ops.nn.recurrent.networks import rnn_tanh as rnn_tanh
from .ops.pointwise.arithmetic import abs as abs
from .ops.pointwise.arithmetic import absolute as absolute
from .ops.pointwise.arithmetic import add as add
from .ops.pointwise.arithmetic import addcdiv as addcdiv
from .ops.pointwise.arithmetic import addcmul as addcmul
from .ops.pointwise.arithmetic import conj as conj
from .ops.pointwise.arithmetic import div as div
from .ops.pointwise.arithmetic import divide as divide
from .ops.pointwise.arithmetic import floor_divide as floor_divide
from .ops.pointwise.arithmetic import fmod as fmod
from .ops.pointwise.arithmetic import lerp as lerp
from .ops.pointwise.arithmetic import mul as mul
from .ops.pointwise.arithmetic import multiply as multiply
from .ops.pointwise.arithmetic import neg as neg
from .ops.pointwise.arithmetic import negative as negative
from .ops.pointwise.arithmetic import positive as positive
from .ops.pointwise.arithmetic import remainder as remainder
from .ops.pointwise.arithmetic import rsub as rsub
from .ops.pointwise.arithmetic import sgn as sgn
from .ops.pointwise.arithmetic import sign as sign
from .ops.pointwise.arithmetic import sub as sub
from .ops.pointwise.arithmetic import subtract as subtract
from .ops.pointwise.arithmetic import true_divide as true_divide
from .ops.pointwise.bitwise import bitwise_and as bitwise_and
from .ops.pointwise.bitwise import bitwise_left_shift as bitwise_left_shift
from .ops.pointwise.bitwise import bitwise_not as bitwise_not
from .ops.pointwise.bitwise import bitwise_or as bitwise_or
from .ops.pointwise.bitwise import bitwise_right_shift as bitwise_right_shift
from .ops.pointwise.bitwise import bitwise_xor as bitwise_xor
from .ops.pointwise.bitwise import logical_and as logical_and
from .ops.pointwise.bitwise import logical_not as logical_not
from .ops.pointwise.bitwise import logical_or as logical_or
from .ops.pointwise.bitwise import logical_xor as logical_xor
from .ops.pointwise.clamp import clamp as clamp
from .ops.pointwise.clamp import clamp_max as clamp_max
from .ops.pointwise.clamp import clamp_min as clamp_min
from .ops.pointwise.clamp import clip as clip
from .ops.pointwise.comparison import allclose as allclose
from .ops.pointwise.comparison import eq as eq
from .ops.pointwise.comparison import equal as equal
from .ops.pointwise.comparison import ge as ge
from .ops.pointwise.comparison import greater as greater
from .ops.pointwise.comparison import greater_equal as greater_equal
from .ops.pointwise.comparison import gt as gt
from .ops.pointwise.comparison import isclose as isclose
from .ops.pointwise.comparison import isfinite as isfinite
from .ops.pointwise.comparison import isinf as isinf
from .ops.pointwise.comparison import isnan as isnan
from .ops.pointwise.comparison import isneginf as isneginf
from .ops.pointwise.comparison import isposinf as isposinf
from .ops.pointwise.comparison import le as le
from .ops.pointwise.comparison import less as less
from .ops.pointwise.comparison import less_equal as less_equal
from .ops.pointwise.comparison import lt as lt
from .ops.pointwise.comparison import ne as ne
from .ops.pointwise.comparison import not_equal as not_equal
from .ops.pointwise.complex_numbers import angle as angle
from .ops.pointwise.complex_numbers import complex as complex
from .ops.pointwise.complex_numbers import conj_physical as conj_physical
from .ops.pointwise.complex_numbers import imag as imag
from .ops.pointwise.complex_numbers import is_conj as is_conj
from .ops.pointwise.complex_numbers import is_neg as is_neg
from .ops.pointwise.complex_numbers import isreal as isreal
from .ops.pointwise.complex_numbers import polar as polar
from .ops.pointwise.complex_numbers import real as real
from .ops.pointwise.complex_numbers import resolve_conj as resolve_conj
from .ops.pointwise.complex_numbers import resolve_neg as resolve_neg
from .ops.pointwise.complex_numbers import view_as_complex as view_as_complex
from .ops.pointwise.complex_numbers import view_as_real as view_as_real
from .ops.pointwise.divisors import gcd as gcd
from .ops.pointwise.divisors import lcm as lcm
from .ops.pointwise.exponential import exp as exp
from .ops.pointwise.exponential import exp2 as exp2
from .ops.pointwise.exponential import expm1 as expm1
from .ops.pointwise.exponential import log as log
from .ops.pointwise.exponential import log10 as log10
from .ops.pointwise.exponential import log1p as log1p
from .ops.pointwise.exponential import log2 as log2
from .ops.pointwise.exponential import logaddexp as logaddexp
from .ops.pointwise.exponential import logaddexp2 as logaddexp2
from .ops.pointwise.exponential import logit as logit
from .ops.pointwise.exponential import sigmoid as sigmoid
from .ops.pointwise.exponential import xlogy as xlogy
from .ops.pointwise.float_parts import copysign as copysign
from .ops.pointwise.float_parts import frexp as frexp
from .ops.pointwise.float_parts import ldexp as ldexp
from .ops.pointwise.float_parts import nextafter as nextafter
from .ops.pointwise.float_parts import signbit as signbit
from .ops.pointwise.heaviside import heaviside as heaviside
from .ops.pointwise.maximum import fmax as fmax
from .ops.pointwise.maximum import fmin as fmin
from .ops.pointwise.maximum import maximum as maximum
from .ops.pointwise.maximum import minimum as minimum
from .ops.pointwise.nan_to_num import nan_to_num as nan_to_num
from .ops.pointwise.powers import float_power as float_power
from .ops.pointwise.powers import hypot as hypot
from .ops.pointwise.powers import pow as pow
from .ops.pointwise.powers import reciprocal as reciprocal
from .ops.pointwise.powers import rsqrt as rsqrt
from .ops.pointwise.powers import sqrt as sqrt
from .ops.pointwise.powers import square as square
from .ops.pointwise.rounding import ceil as ceil
from .ops.pointwise.rounding import fix as fix
from .ops.pointwise.rounding import floor as floor
from .ops.pointwise.rounding import frac as frac
from .ops.pointwise.rounding import round as round
from .ops.pointwise.rounding import trunc as trunc
from .ops.pointwise.trigonometry import acos as acos
from .ops.pointwise.trigonometry import acosh as acosh
from .ops.pointwise.trigonometry import arccos as arccos
from .ops.pointwise.trigonometry import arccosh as arccosh
from .ops.pointwise.trigonometry import arcsin as arcsin
from .ops.pointwise.trigonometry import arcsinh as arcsinh
from .ops.pointwise.trigonometry import arctan as arctan
from .ops.pointwise.trigonometry import arctan2 as arctan2
from .ops.pointwise.trigonometry import arctanh as arctanh
from .ops.pointwise.trigonometry import asin as asin
from .ops.pointwise.trigonometry import asinh as asinh
from .ops.pointwise.trigonometry import atan as atan
from .ops.pointwise.trigonometry import atan2 as atan2
from .ops.pointwise.trigonometry import atanh as atanh
from .ops.pointwise.trigonometry import cos as cos
from .ops.pointwise.trigonometry import cosh as cosh
from .ops.pointwise.trigonometry import deg2rad as deg2rad
from .ops.pointwise.trigonometry import rad2deg as rad2deg
from .ops.pointwise.trigonometry import sin as sin
from .ops.pointwise.trigonometry import sinc as sinc
from .ops.pointwise.trigonometry import sinh as sinh
from .ops.pointwise.trigonometry import tan as tan
from .ops.pointwise.trigonometry import tanh as tanh
from .ops.pointwise.where import where as where
from .ops.products.addmm import addbmm as addbmm
from .ops.products.addmm import addmm as addmm
from .ops.products.addmm import addmv as addmv
from .ops.products.addmm import addr as addr
from .ops.products.addmm import baddbmm as baddbmm
from .ops.products.cross import cross as cross
from .ops.products.dot import dot as dot
from .ops.products.dot import inner as inner
from .ops.products.dot import vdot as vdot
from .ops.products.einsum import einsum as einsum
from .ops.products.grouped import _scaled_mm as _scaled_mm
from .ops.products.matmul import matmul as matmul
from .ops.products.mm import bmm as bmm
from .ops.products.mm import chain_matmul as chain_matmul
from .ops.products.mm import mm as mm
from .ops.products.mm import mv as mv
from .ops.products.mm import spmm as spmm
from .ops.products.outer import ger as ger
from .ops.products.outer import kron as kron
from .ops.products.outer import outer as outer
from .ops.products.tensordot import tensordot as tensordot
from .ops.queries import is_complex as is_complex
from .ops.queries import is_floating_point as is_floating_point
from .ops.queries import is_inference as is_inference
from .ops.queries import is_same_size as is_same_size
from .ops.queries import is_signed as is_signed
from .ops.queries import is_tensor as is_tensor
from .ops.queries import numel as numel
from .ops.queries import result_type as result_type
from .ops.random.poisson import binomial as binomial
from .ops.random.poisson import poisson as poisson
from .ops.random.sampling import bernoulli as bernoulli
from .ops.random.sampling import multinomial as multinomial
from .ops.random.sampling import normal as normal
from .ops.random.sampling import rand as rand
from .ops.random.sampling import rand_like as rand_like
from .ops.random.sampling import randint as randint
from .ops.random.sampling import randint_like as randint_like
from .ops.random.sampling import randn as randn
from .ops.random.sampling import randn_like as randn_like
from .ops.random.sampling import randperm as randperm
from .ops.reductions.any_all import all as all
from .ops.reductions.any_all import any as any
from .ops.reductions.any_all import count_nonzero as count_nonzero
from .ops.reductions.any_all import is_nonzero as is_nonzero
from .ops.reductions.covariance import corrcoef as corrcoef
from .ops.reductions.covariance import cov as cov
from .ops.reductions.cumulative import cummax as cummax
from .ops.reductions.cumulative import cummin as cummin
from .ops.reductions.cumulative import cumprod as cumprod
from .ops.reductions.cumulative import cumsum as cumsum
from .ops.reductions.cumulative import logcumsumexp as logcumsumexp
from .ops.reductions.diff import diff as diff
from .ops.reductions.diff import gradient as gradient
from .ops.reductions.histogram import bincount as bincount
from .ops.reductions.histogram import histc as histc
from .ops.reductions.histogram import histogram as histogram
from .ops.reductions.histogram import histogramdd as histogramdd
from .ops.reductions.logsumexp import logsumexp as logsumexp
from .ops.reductions.max_min import amax as amax
from .ops.reductions.max_min import amin as amin
from .ops.reductions.max_min import aminmax as aminmax
from .ops.reductions.max_min import argmax as argmax
from .ops.reductions.max_min import argmin as argmin
from .ops.reductions.max_min import max as max
from .ops.reductions.max_min import min as min
from .ops.reductions.median import kthvalue as kthvalue
from .ops.reductions.median import median as median
from .ops.reductions.median import mode as mode
from .ops.reductions.median import nanmedian as nanmedian
from .ops.reductions.quantile import nanquantile as nanquantile
from .ops.reductions.quantile import quantile as quantile
from .ops.reductions.sums import mean as mean
from .ops.reductions.sums import nanmean as nanmean
from .ops.reductions.sums import nansum as nansum
from .ops.reductions.sums import prod as prod
from .ops.reductions.sums import sum as sum
from .ops.reductions.trace import trace as trace
from .ops.reductions.trapezoid import cumulative_trapezoid as cumulative_trapezoid
from .ops.reductions.trapezoid import trapezoid as trapezoid
from .ops.reductions.trapezoid import trapz as trapz
from .ops.reductions.variance import std as std
from .ops.reductions.variance import std_mean as std_mean
from .ops.reductions.variance import var as var
from .ops.reductions.variance import var_mean as var_mean
from .ops.shaping.combinatorics import cartesian_prod as cartesian_prod
from .ops.shaping.combinatorics import combinations as combinations
from .ops.shaping.diagonals import diag as diag
from .ops.shaping.diagonals import diag_embed as diag_embed
from .ops.shaping.diagonals import diagflat as diagflat
from .ops.shaping.diagonals import diagonal as diagonal
from .ops.shaping.flipping import flip as flip
from .ops.shaping.flipping import fliplr as fliplr
from .ops.shaping.flipping import flipud as flipud
from .ops.shaping.flipping import roll as roll
from .ops.shaping.flipping import rot90 as rot90
from .ops.shaping.joining import atleast_1d as atleast_1d
from .ops.shaping.joining import atleast_2d as atleast_2d
from .ops.shaping.joining import atleast_3d as atleast_3d
from .ops.shaping.joining import block_diag as block_diag
from .ops.shaping.joining import cat as cat
from .ops.shaping.joining import column_stack as column_stack
from .ops.shaping.joining import concat as concat
from .ops.shaping.joining import concatenate as concatenate
from .ops.shaping.joining import dstack as dstack
from .ops.shaping.joining import hstack as hstack
from .ops.shaping.joining import meshgrid as meshgrid
from .ops.shaping.joining import row_stack as row_stack
from .ops.shaping.joining import stack as stack
from .ops.shaping.joining import vstack as vstack
from .ops.shaping.repeating import repeat_interleave as repeat_interleave
from .ops.shaping.repeating import tile as tile
from .ops.shaping.reshape import adjoint as adjoint
from .ops.shaping.reshape import broadcast_shapes as broadcast_shapes
from .ops.shaping.reshape import broadcast_tensors as broadcast_tensors
from .ops.shaping.reshape import broadcast_to as broadcast_to
from .ops.shaping.reshape import expand as expand
from .ops.shaping.reshape import expand_as as expand_as
from .ops.shaping.reshape import flatten as flatten
from .ops.shaping.reshape import moveaxis as moveaxis
from .ops.shaping.reshape import movedim as movedim
from .ops.shaping.reshape import permute as permute
from .ops.shaping.reshape import ravel as ravel
from .ops.shaping.reshape import reshape as reshape
from .ops.shaping.reshape import reshape_as as reshape_as
from .ops.shaping.reshape import squeeze as squeeze
from .ops.shaping.reshape import swapaxes as swapaxes
from .ops.shaping.reshape import swapdims as swapdims
from .ops.shaping.reshape import t as t
from .ops.shaping.reshape import transpose as transpose
from .ops.shaping.reshape import unflatten as unflatten
from .ops.shaping.reshape import unsqueeze as unsqueeze
from .ops.shaping.reshape import view as view
from .ops.shaping.reshape import view_as as view_as
from .ops.shaping.splitting import chunk as chunk
from .ops.shaping.splitting import dsplit as dsplit
from .ops.shaping.splitting import hsplit as hsplit
from .ops.shaping.splitting import split as split
from .ops.shaping.splitting import split_with_sizes as split_with_sizes
from .ops.shaping.splitting import tensor_split as tensor_split
from .ops.shaping.splitting import unbind as unbind
from .ops.shaping.splitting import unsafe_chunk as unsafe_chunk
from .ops.shaping.splitting import unsafe_split as unsafe_split
from .ops.shaping.splitting import unsafe_split_with_sizes as unsafe_split_with_sizes
from .ops.shaping.splitting import vsplit as vsplit
from .ops.shaping.strided import as_strided as as_strided
from .ops.shaping.triangles import tril as tril
from .ops.shaping.triangles import tril_indices as tril_indices
from .ops.shaping.triangles import triu as triu
from .ops.shaping.triangles import triu_indices as triu_indices
from .ops.shaping.view_copies import alias_copy as alias_copy
from .ops.shaping.view_copies import as_strided_copy as as_strided_copy
from .ops.shaping.view_copies import detach_copy as detach_copy
from .ops.shaping.view_copies import diagonal_copy as diagonal_copy
from .ops.shaping.view_copies import expand_copy as expand_copy
from .ops.shaping.view_copies import narrow_copy as narrow_copy
from .ops.shaping.view_copies import permute_copy as permute_copy
from .ops.shaping.view_copies import select_copy as select_copy
from .ops.shaping.view_copies import slice_copy as slice_copy
from .ops.shaping.view_copies import split_copy as split_copy
from .ops.shaping.view_copies import split_with_sizes_copy as split_with_sizes_copy
from .ops.shaping.view_copies import squeeze_copy as squeeze_copy
from .ops.shaping.view_copies import t_copy as t_copy
from .ops.shaping.view_copies import transpose_copy as transpose_copy
from .ops.shaping.view_copies import unbind_copy as unbind_copy
from .ops.shaping.view_copies import unfold_copy as unfold_copy
from .ops.shaping.view_copies import unsqueeze_copy as unsqueeze_copy
from .ops.shaping.view_copies import view_as_complex_copy as view_as_complex_copy
from .ops.shaping.view_copies import view_as_real_copy as view_as_real_copy
from .ops.shaping.view_copies import view_copy as view_copy
from .ops.sorting.searchsorted import bucketize as bucketize
from .ops.sorting.searchsorted import isin as isin
from .ops.sorting.searchsorted import searchsorted as searchsorted
from .ops.sorting.sort import argsort as argsort
from .ops.sorting.sort import msort as msort
from .ops.sorting.sort import sort as sort
from .ops.sorting.sort import topk as topk
from .ops.sorting.unique import unique as unique
from .ops.sorting.unique import unique_consecutive as unique_consecutive
from .ops.special.bessel import i0 as i0
from .ops.special.error_functions import erf as erf
from .ops.special.error_functions import erfc as erfc
from .ops.special.error_functions import erfinv as erfinv
from .ops.special.gamma import digamma as digamma
from .ops.special.gamma import lgamma as lgamma
from .ops.special.gamma import mvlgamma as mvlgamma
from .ops.special.gamma import polygamma as polygamma
from .ops.special.incomplete_gamma import igamma as igamma
from .ops.special.incomplete_gamma import igammac as igammac
from .tensor import Tensor as _Tensor

abs_ = _Tensor.abs_
acos_ = _Tensor.acos_
acosh_ = _Tensor.acosh_
addmv_ = _Tensor.addmv_
arccos_ = _Tensor.arccos_
arccosh_ = _Tensor.arccosh_
arcsin_ = _Tensor.arcsin_
arcsinh_ = _Tensor.arcsinh_
arctan_ = _Tensor.arctan_
arctanh_ = _Tensor.arctanh_
as_strided_ = _Tensor.as_strided_
asin_ = _Tensor.asin_
asinh_ = _Tensor.asinh_
atan_ = _Tensor.atan_
atanh_ = _Tensor.atanh_
ceil_ = _Tensor.ceil_
clamp_ = _Tensor.clamp_
clamp_max_ = _Tensor.clamp_max_
clamp_min_ = _Tensor.clamp_min_
clip_ = _Tensor.clip_
conj_physical_ = _Tensor.conj_physical_
cos_ = _Tensor.cos_
cosh_ = _Tensor.cosh_
deg2rad_ = _Tensor.deg2rad_
detach_ = _Tensor.detach_
erf_ = _Tensor.erf_
erfc_ = _Tensor.erfc_
exp2_ = _Tensor.exp2_
exp_ = _Tensor.exp_
expm1_ = _Tensor.expm1_
fill_ = _Tensor.fill_
fix_ = _Tensor.fix_
floor_ = _Tensor.floor_
frac_ = _Tensor.frac_
gcd_ = _Tensor.gcd_
i0_ = _Tensor.i0_
index_put_ = _Tensor.index_put_
lcm_ = _Tensor.lcm_
ldexp_ = _Tensor.ldexp_
log10_ = _Tensor.log10_
log1p_ = _Tensor.log1p_
log2_ = _Tensor.log2_
log_ = _Tensor.log_
logit_ = _Tensor.logit_
nan_to_num_ = _Tensor.nan_to_num_
neg_ = _Tensor.neg_
negative_ = _Tensor.negative_
rad2deg_ = _Tensor.rad2deg_
reciprocal_ = _Tensor.reciprocal_
relu_ = _Tensor.relu_
resize_as_ = _Tensor.resize_as_
round_ = _Tensor.round_
rsqrt_ = _Tensor.rsqrt_
sigmoid_ = _Tensor.sigmoid_
sin_ = _Tensor.sin_
sinc_ = _Tensor.sinc_
sinh_ = _Tensor.sinh_
sqrt_ = _Tensor.sqrt_
square_ = _Tensor.square_
tan_ = _Tensor.tan_
tanh_ = _Tensor.tanh_
trunc_ = _Tensor.trunc_
xlogy_ = _Tensor.xlogy_
zero_ = _Tensor.zero_
