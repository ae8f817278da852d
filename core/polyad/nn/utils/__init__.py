"""Tools for modules and their parameters.

stateless.py  a module called with other parameters: `functional_call`
"""

from . import stateless as stateless

__all__ = ["stateless"]
