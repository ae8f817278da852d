"""Linear algebra: factorizations and what follows from them, under PyTorch's path ``polyad.linalg``.

Primitives are what LAPACK computes: Cholesky, LU, LDL and QR factors, eigenvalues, singular values, triangular systems.
Everything else is computed with them and products. An op never raises for the values of a matrix where PyTorch has a
form that does not (``inv_ex``): it gives an ``info``, from which the public function raises a
`polyad.linalg.LinAlgError`.

Results of a single matrix are column-major on the "cpu" device, as PyTorch's are, those of a batch may be row-major.

    operands.py          what is checked, products in short
    triangular.py        triangular systems
    cholesky.py          Cholesky factors, solving and inverting with them
    factorizations.py    LU, LDL, QR
    eigenvalues.py       eigenvalues and eigenvectors
    svd.py               singular values, pseudo-inverse, rank, condition
    solving.py           systems, inverses, least squares
    determinants.py      determinants
    matrix_functions.py  powers, the exponential
    norms.py             norms of vectors and matrices
    vander.py            Vandermonde matrices
    products.py          products and views of matrices
    older_names.py       the functions that PyTorch has outside of ``torch.linalg``

To add a function: its op and formula in the module where it belongs, a kernel of the same name in a backend's
``kernels/linalg`` if other ops cannot express it, samples in ``samples/linalg``.
"""
