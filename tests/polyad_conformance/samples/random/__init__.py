"""Samples of ``polyad.ops.random``, by family."""
