"""Which op has a native kernel, and from how many elements on."""

from __future__ import annotations

from collections.abc import Iterator

from polyad.backend.interface import KernelSupply
from polyad.base.dtypes import bfloat16, float16
from polyad_numpy.kernels.random.sampling import words_from

from .choosing import chosen, quick

PRIORITY = 1
"""Above NumPy's kernels, below what others bring for the same ops."""


def supplies() -> Iterator[KernelSupply]:
    """A kernel for each op."""
    from . import attention, convolutions, moving, pooling, products, recurrent, rows
    from .generated import generated
    from .steps import STEPS, step

    words_from(moving.random_words)
    for op, make, least in (
        ("mm", products.mm, 1 << 10),
        ("bmm", products.bmm, 1 << 10),
        ("convolution", convolutions.convolution, 1 << 10),
        ("convolution_transposed", convolutions.convolution_transposed, 1 << 10),
        ("convolution_weight_grad", convolutions.convolution_weight_grad, 1 << 10),
        ("attention", attention.attention, 1 << 8),
        ("attention_backward", attention.attention_backward, 1 << 8),
        ("lstm_sequence", recurrent.lstm_sequence, 1),
        ("lstm_sequence_backward", recurrent.lstm_sequence_backward, 1),
        ("gru_sequence", recurrent.gru_sequence, 1),
        ("gru_sequence_backward", recurrent.gru_sequence_backward, 1),
        ("rnn_sequence", recurrent.rnn_sequence, 1),
        ("rnn_sequence_backward", recurrent.rnn_sequence_backward, 1),
        ("max_pool", pooling.max_pool, 1 << 10),
        ("max_pool_backward", pooling.max_pool_backward, 1 << 10),
        ("embedding_backward", rows.embedding_backward, 1 << 8),
        ("index_add", rows.index_add, 1 << 10),
        ("scatter_add", rows.scatter_add, 1 << 10),
        ("gather", rows.gather, 1 << 12),
        ("cumsum", rows.cumsum, 1 << 12),
        ("cross_entropy", rows.cross_entropy, 1 << 8),
        ("cross_entropy_backward", rows.cross_entropy_backward, 1 << 8),
        ("copy", moving.copy, 1 << 12),
        ("dropout", moving.dropout, 1),
    ):
        yield KernelSupply("cpu", op, chosen(op, make, least, out=False), PRIORITY)
    yield KernelSupply("cpu", "cat", moving.cat(), PRIORITY)
    for op in ("mv", "vector_product"):  # of other dtypes BLAS's
        halves = chosen(op, products.vector_product, 1 << 10, out=False, only=(bfloat16, float16))
        yield KernelSupply("cpu", op, halves, PRIORITY)
    for op in STEPS:
        yield KernelSupply("cpu", op, step(op), PRIORITY)
    for op, product in (
        ("gemm", products.gemm),
        ("linear", products.linear),
        ("linear_weight_grad", products.linear_weight_grad),
    ):
        yield KernelSupply("cpu", op, chosen(op, product, 1 << 10, out=False, quick=quick("product")), PRIORITY)
    for op, written, least in generated():
        rectified = quick("rectified") if op in ("relu", "relu_backward") else None
        yield KernelSupply("cpu", op, chosen(op, written, least, quick=rectified, launches=True), PRIORITY)
