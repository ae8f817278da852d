"""Linear algebra under PyTorch's path ``polyad.linalg``, one import a name.

Written by ``python -m polyad.ops.declaring.stubs``; do not edit.
"""

from .errors import LinAlgError as LinAlgError
from .ops.linalg.cholesky import cholesky as cholesky
from .ops.linalg.cholesky import cholesky_ex as cholesky_ex
from .ops.linalg.determinants import det as det
from .ops.linalg.determinants import slogdet as slogdet
from .ops.linalg.eigenvalues import eig as eig
from .ops.linalg.eigenvalues import eigh as eigh
from .ops.linalg.eigenvalues import eigvals as eigvals
from .ops.linalg.eigenvalues import eigvalsh as eigvalsh
from .ops.linalg.factorizations import householder_product as householder_product
from .ops.linalg.factorizations import ldl_factor as ldl_factor
from .ops.linalg.factorizations import ldl_factor_ex as ldl_factor_ex
from .ops.linalg.factorizations import ldl_solve as ldl_solve
from .ops.linalg.factorizations import lu as lu
from .ops.linalg.factorizations import lu_factor as lu_factor
from .ops.linalg.factorizations import lu_factor_ex as lu_factor_ex
from .ops.linalg.factorizations import lu_solve as lu_solve
from .ops.linalg.factorizations import qr as qr
from .ops.linalg.matrix_functions import matrix_exp as matrix_exp
from .ops.linalg.matrix_functions import matrix_power as matrix_power
from .ops.linalg.norms import matrix_norm as matrix_norm
from .ops.linalg.norms import norm as norm
from .ops.linalg.norms import vector_norm as vector_norm
from .ops.linalg.products import cross as cross
from .ops.linalg.products import diagonal as diagonal
from .ops.linalg.products import multi_dot as multi_dot
from .ops.linalg.products import vander as vander
from .ops.linalg.products import vecdot as vecdot
from .ops.linalg.solving import inv as inv
from .ops.linalg.solving import inv_ex as inv_ex
from .ops.linalg.solving import lstsq as lstsq
from .ops.linalg.solving import solve as solve
from .ops.linalg.solving import solve_ex as solve_ex
from .ops.linalg.solving import tensorinv as tensorinv
from .ops.linalg.solving import tensorsolve as tensorsolve
from .ops.linalg.svd import cond as cond
from .ops.linalg.svd import matrix_rank as matrix_rank
from .ops.linalg.svd import pinv as pinv
from .ops.linalg.svd import svd as svd
from .ops.linalg.svd import svdvals as svdvals
from .ops.linalg.triangular import solve_triangular as solve_triangular
from .ops.products.matmul import matmul as matmul
