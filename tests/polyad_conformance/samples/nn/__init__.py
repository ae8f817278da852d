"""Samples of ``polyad.ops.nn``, by family."""
