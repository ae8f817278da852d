"""Samples of ``polyad.ops.memory``, by family."""
