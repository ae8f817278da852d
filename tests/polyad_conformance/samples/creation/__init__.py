"""Samples of ``polyad.ops.creation``, by family."""
