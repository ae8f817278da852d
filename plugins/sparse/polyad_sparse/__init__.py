"""polyad.sparse: tensors of which only the elements that are not zero are held.

    patterns.py     where the elements are: coordinates, compressed rows or columns, blocks
    tensor.py       `SparseTensor`, and how functions answer for PyTorch's names
    validation.py   what parts must be, and the errors that say so
    creation.py     sparse tensors of their parts
    functions.py    what is called as ``polyad.sparse.mm``, ...
    conversion.py   layouts, dtypes, devices, the parts of a tensor
    arithmetic.py   sums, products, functions that keep zero
    products.py     products of matrices
    shaping.py      transposing, selecting, joining
    reductions.py   sums, norms, softmax
    embeddings.py   rows of a table with a sparse gradient
    printing.py     how they print
    legacy.py       ``sparse.FloatTensor`` and its like

Nothing here is a kernel: a sparse tensor is made of dense ones, and computes with ops that every device has.

>>> import polyad
>>> a = polyad.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
>>> polyad.sparse.mm(a, polyad.ones(2, 1))
tensor([[2.],
        [3.]])
"""

from polyad.compatibility.absent import lacking

from . import printing as printing
from .creation import (
    _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr,
    _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo,
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
    spdiags,
)
from .functions import addmm, log_softmax, mm, sampled_addmm, softmax, sum
from .legacy import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .products import hspmm, saddmm, smm, sspaddmm
from .tensor import SparseTensor
from .validation import check_sparse_tensor_invariants

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "SparseTensor",
    "addmm",
    "check_sparse_tensor_invariants",
    "hspmm",
    "log_softmax",
    "mm",
    "saddmm",
    "sampled_addmm",
    "smm",
    "softmax",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
    "spdiags",
    "sspaddmm",
    "sum",
]

dsmm, hsmm = mm, hspmm
__getattr__ = lacking(__name__)
