"""Samples of special functions."""
