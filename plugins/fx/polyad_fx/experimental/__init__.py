"""The ops that a call makes, as a graph."""

from polyad.compatibility.absent import lacking

__getattr__ = lacking(__name__)
