"""Samples of ``polyad.linalg``, by family."""
