"""Functions of layers as PyTorch's main namespace has them: `polyad.batch_norm`, `polyad.embedding`, ...

Their names are those of `polyad.nn.functional`, their parameters come in another order, and an int says how a loss is
reduced: by default it is not, as PyTorch has it, whose own schemas say "mean". Programs that were written against
PyTorch's C++ functions call these; new ones call `polyad.nn.functional`, where everything is explained. The functions
of both namespaces that agree (`polyad.conv2d`, ...) are one function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.dtypes import int64
from ...dispatch.inplace import check_writable
from ...dispatch.op import function
from ...errors import OptionError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import empty
from . import dropout as dropouts, embedding as embeddings, grid_sampling, normalization
from .losses import binary, ranking, regression, sequence
from .losses.reduction import reduced
from .pooling import adaptive, maximum

if TYPE_CHECKING:
    from collections.abc import Sequence

BY_NUMBER = ("none", "mean", "sum")
INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def name_of_number(op: str, name: str, names: tuple[str, ...], number: Any) -> str:
    """What *number* stands for, the parameter *name* of *op*."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(names):
        told = ", ".join(f"{at} ({each})" for at, each in enumerate(names))
        raise OptionError(f"{op}: {name} is {number!r}", fix=f"pass {told}; nn.functional.{op} takes names")
    return names[number]


# ---------------------------------------------------------------------------------------------------- dropout


@function(method=False)
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`polyad.nn.functional.dropout` that overwrites its input.

    >>> import polyad
    >>> polyad.dropout_(polyad.ones(2), 1.0, True)
    tensor([0., 0.])
    """
    return dropouts.dropout(input, p, train, True)


@function(method=False)
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`polyad.nn.functional.alpha_dropout` that overwrites its input.

    >>> import polyad
    >>> polyad.alpha_dropout_(polyad.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return dropouts.alpha_dropout(input, p, train, True)


@function(method=False)
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`polyad.nn.functional.feature_alpha_dropout` that overwrites its input.

    >>> import polyad
    >>> polyad.feature_alpha_dropout_(polyad.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    return dropouts.feature_alpha_dropout(input, p, train, True)


@function(method=False)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`polyad.dropout` of whole channels: input (N, C, ...), as `polyad.nn.functional.dropout2d` has it for images.

    Raises RuntimeError below two dimensions, and as `dropout`.

    >>> import polyad
    >>> drawn = polyad.feature_dropout(polyad.ones(2, 4, 3), 0.5, True)
    >>> bool((drawn.amax(2) == drawn.amin(2)).all())
    True
    """
    return dropouts.of_channels("feature_dropout", input, p, train, False)


@function(method=False)
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` that overwrites its input.

    >>> import polyad
    >>> polyad.feature_dropout_(polyad.ones(1, 2), 1.0, True)
    tensor([[0., 0.]])
    """
    return dropouts.of_channels("feature_dropout", input, p, train, True)


# ------------------------------------------------------------------------------------------------- embeddings


@function(method=False)
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """`polyad.nn.functional.embedding` with the table first; a negative *padding_idx* names no row.

    >>> import polyad
    >>> polyad.embedding(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), polyad.tensor([1, 0]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    padding = None if padding_idx < 0 else padding_idx
    return embeddings.embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)


@function(method=False)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor | None = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, ...]:
    """`polyad.nn.functional.embedding_bag` with the table first, a *mode* of 0 (sum), 1 (mean) or 2 (max), and three
    more results, here empty: the int64 tensors that PyTorch keeps for its gradient.

    >>> import polyad
    >>> polyad.embedding_bag(polyad.tensor([[1.0], [2.0]]), polyad.tensor([0, 1]), polyad.tensor([0]))[0]
    tensor([[3.]])
    """
    how = name_of_number("embedding_bag", "mode", ("sum", "mean", "max"), mode)
    padding = None if padding_idx is None or padding_idx < 0 else padding_idx
    bags = embeddings.embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, how, sparse, per_sample_weights,
        include_last_offset, padding,
    )  # fmt: skip
    return bags, *(empty(0, dtype=int64, device=weight.device) for _ in range(3))


@function(method=False)
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shorten, in place, the rows of *input* (rows, size) that *indices* name and whose *norm_type*-norm is above
    *max_norm*.

    Raises IndexError for an index out of range, RuntimeError for indices that are no integers, an input that is no
    matrix or not floating point.

    >>> import polyad
    >>> polyad.embedding_renorm_(polyad.tensor([[3.0, 4.0], [6.0, 8.0]]), polyad.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000],
            [6.0000, 8.0000]])
    """
    embeddings._check_table("embedding_renorm_", input, indices, None)
    check_writable("embedding_renorm_", input)
    embeddings._renormalize("embedding_renorm_", input, indices, max_norm, norm_type)
    return input


# ---------------------------------------------------------------------------------------------- normalisation


@function(method=False)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`polyad.nn.functional.batch_norm` with *weight* and *bias* before the running statistics; *cudnn_enabled* changes
    nothing.

    >>> import polyad
    >>> x = polyad.tensor([[1.0], [3.0]])
    >>> polyad.batch_norm(x, None, None, None, None, True, 0.1, 1e-12, False)
    tensor([[-1.],
            [ 1.]])
    """
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@function(method=False)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`polyad.nn.functional.instance_norm` with *weight* and *bias* before the running statistics; *cudnn_enabled*
    changes nothing.

    >>> import polyad
    >>> x = polyad.tensor([[[1.0, 3.0]]])
    >>> polyad.instance_norm(x, None, None, None, None, True, 0.1, 1e-12, False)
    tensor([[[-1.,  1.]]])
    """
    return normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


# ----------------------------------------------------------------------------------------------------- losses


@function(method=False)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """`polyad.nn.functional.binary_cross_entropy_with_logits`; *reduction* is 0 (none, the default), 1 (mean), 2 (sum).

    >>> import polyad
    >>> polyad.binary_cross_entropy_with_logits(polyad.tensor([0.0, 0.0]), polyad.tensor([0.0, 1.0]), reduction=2)
    tensor(1.3863)
    """
    how = name_of_number("binary_cross_entropy_with_logits", "reduction", BY_NUMBER, reduction)
    return binary.binary_cross_entropy_with_logits(input, target, weight, reduction=how, pos_weight=pos_weight)


@function(method=False)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`polyad.nn.functional.cosine_embedding_loss`; *reduction* is 0 (none, the default), 1 (mean) or 2 (sum).

    >>> import polyad
    >>> x, y = polyad.tensor([[1.0, 0.0]]), polyad.tensor([[0.0, 1.0]])
    >>> polyad.cosine_embedding_loss(x, y, polyad.tensor([1]), reduction=0)
    tensor([1.])
    """
    how = name_of_number("cosine_embedding_loss", "reduction", BY_NUMBER, reduction)
    return ranking.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


@function(method=False)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """`polyad.nn.functional.ctc_loss`; *reduction* is 0 (none, the default), 1 (mean) or 2 (sum).

    >>> import polyad
    >>> log_probs = polyad.full((1, 1, 2), 0.5).log()
    >>> polyad.ctc_loss(log_probs, polyad.tensor([[1]]), [1], [1], reduction=2)
    tensor(0.6931)
    """
    how = name_of_number("ctc_loss", "reduction", BY_NUMBER, reduction)
    return sequence.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


@function(method=False)
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """`polyad.nn.functional.hinge_embedding_loss`; *reduction* is 0 (none, the default), 1 (mean) or 2 (sum).

    >>> import polyad
    >>> polyad.hinge_embedding_loss(polyad.tensor([0.25, 0.25]), polyad.tensor([1, -1]), reduction=0)
    tensor([0.2500, 0.7500])
    """
    how = name_of_number("hinge_embedding_loss", "reduction", BY_NUMBER, reduction)
    return ranking.hinge_embedding_loss(input, target, margin, reduction=how)


@function(method=False)
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """`polyad.nn.functional.kl_div`; *reduction* is 0 (none, the default), 1 (mean over elements) or 2 (sum).

    >>> import polyad
    >>> polyad.kl_div(polyad.tensor([-1.0]), polyad.tensor([1.0]), 2)
    tensor(1.)
    """
    how = name_of_number("kl_div", "reduction", BY_NUMBER, reduction)
    return reduced(regression.kl_div(input, target, reduction="none", log_target=log_target), how)


@function(method=False)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`polyad.nn.functional.margin_ranking_loss`; *reduction* is 0 (none, the default), 1 (mean) or 2 (sum).

    >>> import polyad
    >>> polyad.margin_ranking_loss(polyad.tensor([1.0]), polyad.tensor([3.0]), polyad.tensor([1]), 0.0, 2)
    tensor(2.)
    """
    how = name_of_number("margin_ranking_loss", "reduction", BY_NUMBER, reduction)
    return ranking.margin_ranking_loss(input1, input2, target, margin, reduction=how)


@function(method=False)
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`polyad.nn.functional.poisson_nll_loss`; *reduction* is 0 (none), 1 (mean) or 2 (sum).

    >>> import polyad
    >>> polyad.poisson_nll_loss(polyad.tensor([0.0]), polyad.tensor([2.0]), True, False, 1e-8, 1)
    tensor(1.)
    """
    how = name_of_number("poisson_nll_loss", "reduction", BY_NUMBER, reduction)
    return regression.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


@function(method=False)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """`polyad.nn.functional.triplet_margin_loss`; *reduction* is 0 (none, the default), 1 (mean) or 2 (sum).

    >>> import polyad
    >>> x = polyad.tensor([[0.0, 0.0]])
    >>> polyad.triplet_margin_loss(x, x, x)
    tensor([1.])
    """
    how = name_of_number("triplet_margin_loss", "reduction", BY_NUMBER, reduction)
    return ranking.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)


# ----------------------------------------------------------------------------------------- images and windows


@function(method=False)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`polyad.nn.functional.grid_sample`: *interpolation_mode* is 0 (bilinear), 1 (nearest) or 2 (bicubic),
    *padding_mode* 0 (zeros), 1 (border) or 2 (reflection).

    >>> import polyad
    >>> image, places = polyad.tensor([[[[1.0, 3.0]]]]), polyad.tensor([[[[0.0, 0.0]]]])
    >>> polyad.grid_sampler(image, places, 0, 0, True)
    tensor([[[[2.]]]])
    """
    mode = name_of_number("grid_sampler", "interpolation_mode", INTERPOLATIONS, interpolation_mode)
    padding = name_of_number("grid_sampler", "padding_mode", PADDINGS, padding_mode)
    return grid_sampling.grid_sample(input, grid, mode, padding, align_corners)


@function(method=False)
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`polyad.nn.functional.affine_grid`.

    >>> import polyad
    >>> same = polyad.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> polyad.affine_grid_generator(same, (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    return grid_sampling.affine_grid(theta, size, align_corners)


@function(method=False)
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """`polyad.nn.functional.adaptive_max_pool1d` with the indices of the maxima: (values, indices).

    >>> import polyad
    >>> polyad.adaptive_max_pool1d(polyad.tensor([[1.0, 2.0, 0.0]]), 1)
    (tensor([[2.]]), tensor([[1]]))
    """
    return adaptive.adaptive_max_pool1d(check_tensor(input, "adaptive_max_pool1d", "input"), output_size, True)


@function(method=False)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """`polyad.nn.functional.max_pool1d` with the indices of the maxima: (values, indices). A *stride* of () is that of
    the kernel.

    >>> import polyad
    >>> polyad.max_pool1d_with_indices(polyad.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    stride = None if isinstance(stride, (tuple, list)) and not stride else stride
    return maximum.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)
