"""Control flow as calls, at PyTorch's paths: faces of `polyad.ops.control_flow`.

As there, the function `map` has the place of the module that it comes from, and so have the others.
"""

from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
