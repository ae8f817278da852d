"""Samples of ``polyad.ops.sorting``, by family."""
