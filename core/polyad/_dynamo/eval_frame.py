"""The path at which programs look for `OptimizedModule`, to tell whether a module came from `polyad.compile`."""

from ..compiler.entry import OptimizedModule

__all__ = ["OptimizedModule"]
