"""Samples of ``polyad.ops.pointwise``, by family."""
