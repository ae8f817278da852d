"""Samples of ``polyad.ops.shaping``, by family."""
