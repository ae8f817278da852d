"""Processes of a launcher, at PyTorch's path."""

from ....compatibility.absent import lacking

__getattr__ = lacking(__name__)
