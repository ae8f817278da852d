"""Linear algebra under PyTorch's path ``polyad.linalg``, one import a name. Written by ``python -m polyad.ops.stubs``; do not edit."""

from .errors import LinAlgError as LinAlgError
from .ops.contraction import multi_dot as multi_dot
from .ops.linalg.products import cross as cross
from .ops.linalg.products import diagonal as diagonal
from .ops.linalg.products import vander as vander
from .ops.linalg.products import vecdot as vecdot
from .ops.linear_algebra import matmul as matmul
from .ops.statistics import vector_norm as vector_norm
