"""Losses whose decomposition costs more than a pass over the data."""
