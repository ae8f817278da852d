"""Sums of products: matmul, mm, addmm, einsum, tensordot."""
