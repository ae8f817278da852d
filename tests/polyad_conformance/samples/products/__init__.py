"""Samples of ``polyad.ops.products``, by family."""
