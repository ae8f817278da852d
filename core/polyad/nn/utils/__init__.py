"""Tools for modules and their parameters.

init.py       a module whose parameters are not set: `skip_init`
stateless.py  a module called with other parameters: `functional_call`
"""

from . import stateless as stateless
from .init import skip_init as skip_init

__all__ = ["skip_init", "stateless"]
