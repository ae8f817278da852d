"""Tools for modules and their parameters.

init.py       a module whose parameters are not set: `skip_init`
rnn.py        sequences of different lengths, padded or packed
stateless.py  a module called with other parameters: `functional_call`
"""

from . import rnn as rnn, stateless as stateless
from .init import skip_init as skip_init

__all__ = ["rnn", "skip_init", "stateless"]
