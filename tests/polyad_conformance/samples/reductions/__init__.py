"""Samples of ``polyad.ops.reductions``, by family."""
