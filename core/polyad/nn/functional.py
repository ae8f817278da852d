"""What the layers compute, as functions. They are declared in polyad/ops and exported here under PyTorch's names.

Defined here are only those that differ from the op of the same name, by an ``inplace`` or an optional ``dim``.

To add a function, declare it in its family in polyad/ops and import it here.
"""

from __future__ import annotations

from ..dtypes import DType
from ..ops.nn.activation import rectifiers as _rectifiers, softmax as _softmax
from ..ops.nn.activation.piecewise import (
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    relu6 as relu6,
    softshrink as softshrink,
)
from ..ops.nn.activation.rectifiers import (
    celu as celu,
    elu as elu,
    leaky_relu as leaky_relu,
    prelu as prelu,
    rrelu as rrelu,
    selu as selu,
    threshold as threshold,
)
from ..ops.nn.activation.smooth import (
    gelu as gelu,
    glu as glu,
    logsigmoid as logsigmoid,
    mish as mish,
    silu as silu,
    softplus as softplus,
    softsign as softsign,
    tanhshrink as tanhshrink,
)
from ..ops.nn.activation.softmax import gumbel_softmax as gumbel_softmax, softmin as softmin
from ..ops.nn.attention import (
    multi_head_attention_forward as multi_head_attention_forward,
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from ..ops.nn.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from ..ops.nn.distance import (
    cosine_similarity as cosine_similarity,
    normalize as normalize,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
)
from ..ops.nn.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from ..ops.nn.embedding import embedding as embedding, embedding_bag as embedding_bag, one_hot as one_hot
from ..ops.nn.fold import (
    channel_shuffle as channel_shuffle,
    fold as fold,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    unfold as unfold,
)
from ..ops.nn.grid_sampling import affine_grid as affine_grid, grid_sample as grid_sample
from ..ops.nn.interpolate import interpolate as interpolate
from ..ops.nn.losses.binary import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    soft_margin_loss as soft_margin_loss,
)
from ..ops.nn.losses.classification import (
    cross_entropy as cross_entropy,
    linear_cross_entropy as linear_cross_entropy,
    nll_loss as nll_loss,
)
from ..ops.nn.losses.ranking import (
    cosine_embedding_loss as cosine_embedding_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from ..ops.nn.losses.regression import (
    gaussian_nll_loss as gaussian_nll_loss,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from ..ops.nn.losses.sequence import ctc_loss as ctc_loss
from ..ops.nn.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    local_response_norm as local_response_norm,
    rms_norm as rms_norm,
)
from ..ops.nn.padding import pad as pad
from ..ops.nn.pooling.adaptive import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
)
from ..ops.nn.pooling.average import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
)
from ..ops.nn.pooling.fractional import (
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool3d as fractional_max_pool3d,
)
from ..ops.nn.pooling.maximum import max_pool1d as max_pool1d, max_pool2d as max_pool2d, max_pool3d as max_pool3d
from ..ops.nn.pooling.unpooling import (
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from ..ops.pointwise.exponential import sigmoid as sigmoid
from ..ops.pointwise.trigonometry import tanh as tanh
from ..ops.products.matmul import linear as linear
from ..ops.products.mm import bilinear as bilinear
from ..tensor import Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(0, x), elementwise; with *inplace* the input itself is overwritten.

    >>> import polyad
    >>> polyad.nn.functional.relu(polyad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else _rectifiers.relu(input)


def relu_(input: Tensor) -> Tensor:
    """`relu` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.relu_(polyad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_()


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.celu_(polyad.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.elu_(polyad.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.hardtanh_(polyad.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.leaky_relu_(polyad.tensor([-1.0, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    return leaky_relu(input, negative_slope, True)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.rrelu_(polyad.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    return rrelu(input, lower, upper, training, True)


def selu_(input: Tensor) -> Tensor:
    """`selu` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.selu_(polyad.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return selu(input, True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` that overwrites its input.

    >>> import polyad
    >>> polyad.nn.functional.threshold_(polyad.tensor([-1.0, 2.0]), 0.5, 7.0)
    tensor([7., 2.])
    """
    return _rectifiers.threshold(input, threshold, value, True)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """exp(x) divided by its sum along *dim*.

    Without *dim*, which is deprecated, along 0 for inputs of 0, 1 or 3 dimensions, else along 1. With *dtype*, the
    input is cast first. Raises IndexError for a dim that does not exist.

    >>> import polyad
    >>> polyad.nn.functional.softmax(polyad.zeros(4), dim=0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return _softmax.softmax(input, _softmax.implicit_dim("softmax", input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`, computed without overflow; arguments as there.

    >>> import polyad
    >>> polyad.nn.functional.log_softmax(polyad.zeros(1), dim=0)
    tensor([0.])
    """
    return _softmax.log_softmax(input, _softmax.implicit_dim("log_softmax", input) if dim is None else dim, dtype)
