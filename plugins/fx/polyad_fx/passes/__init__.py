"""Passes over graphs: shapes of nodes, modules split in parts."""

from polyad.compatibility.absent import lacking

__getattr__ = lacking(__name__)
