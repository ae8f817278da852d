"""Sums of products: matmul, mm, dot, outer, addmm, einsum, tensordot."""
