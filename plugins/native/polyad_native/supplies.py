"""Which op has a native kernel, and from how many elements on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from polyad.backend import Kernel
from polyad.backend.interface import KernelSupply, Signature
from polyad.base.dtypes import bfloat16, float16
from polyad_numpy.sharing import words_from

from .choosing import Call, Direct, before, choice

PRIORITY = 1
"""Above NumPy's kernels, below what others bring for the same ops."""

Makers = tuple[tuple[Callable[[Signature], Call | None], int], ...]
"""What makes a kernel for a signature, by the op's name, and from how many elements on it is worth it."""


def supplies() -> Iterator[KernelSupply]:
    """A kernel for each op."""
    from .kernels.random import sampling

    words_from(sampling.random_words)
    for op, kernel in (*_named_kernels(), *_before_generated()):
        yield KernelSupply("cpu", op, kernel, PRIORITY)


@cache
def written() -> frozenset[str]:
    """Ops whose kernels here hand the calls that they leave to NumPy's, not to what is generated."""
    return frozenset(op for op, _ in _named_kernels())


def _before_generated() -> Iterator[tuple[str, Kernel]]:
    from .kernels.nn.activation.rectifiers import RECTIFIERS

    for op in ("relu", "relu_backward"):
        yield op, before(Direct(RECTIFIERS, "relu"))


def _named_kernels() -> Iterator[tuple[str, Kernel]]:
    from .gemm import GEMM
    from .kernels.nn.linear import linear, linear_weight_grad
    from .kernels.optim.steps import STEPS, step
    from .kernels.products.matmul import gemm, vector_product
    from .kernels.shaping.joining import cat

    for make, least in _written():
        yield make.__name__, choice(make, least)
    for make in (gemm, linear, linear_weight_grad):
        yield make.__name__, choice(make, 1 << 10, direct=Direct(GEMM, "product"))
    for op in ("mv", "vector_product"):  # of other dtypes BLAS's
        yield op, choice(vector_product, 1 << 10, only=(bfloat16, float16))
    yield "cat", cat()
    for op in STEPS:
        yield op, step(op)


def _written() -> Makers:
    """Kernels that are written by hand, of ops that have no more to be said of."""
    from .kernels.indexing import gather_scatter, index_put, index_select
    from .kernels.memory import copying
    from .kernels.nn import attention, convolution, dropout, embedding, interpolate
    from .kernels.nn.losses import classification
    from .kernels.nn.pooling import maximum
    from .kernels.nn.recurrent import sequences
    from .kernels.products import mm
    from .kernels.reductions import cumulative
    from .kernels.sorting import sort

    return (
        (mm.mm, 1 << 10),
        (mm.bmm, 1 << 10),
        (convolution.convolution, 1 << 10),
        (convolution.convolution_transposed, 1 << 10),
        (convolution.convolution_weight_grad, 1 << 10),
        (attention.attention, 1 << 8),
        (attention.attention_backward, 1 << 8),
        (sequences.lstm_sequence, 1),
        (sequences.lstm_sequence_backward, 1),
        (sequences.gru_sequence, 1),
        (sequences.gru_sequence_backward, 1),
        (sequences.rnn_sequence, 1),
        (sequences.rnn_sequence_backward, 1),
        (maximum.max_pool, 1 << 10),
        (maximum.max_pool_backward, 1 << 10),
        (embedding.bag_sum, 1 << 8),
        (embedding.embedding_backward, 1 << 8),
        (interpolate.resample, 1),
        (interpolate.resample_backward, 1),
        (index_select.index_add, 1 << 10),
        (index_put.index_put, 1 << 10),
        (gather_scatter.scatter, 1 << 6),
        (gather_scatter.scatter_add, 1 << 6),
        (gather_scatter.gather, 1 << 6),
        *((make, 1 << 12) for make in cumulative.CUMULATIVE),
        (sort.topk, 1 << 6),
        (classification.cross_entropy, 1 << 8),
        (classification.cross_entropy_backward, 1 << 8),
        (copying.copy, 1 << 12),
        (dropout.dropout, 1),
    )
