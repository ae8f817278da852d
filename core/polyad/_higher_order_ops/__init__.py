"""Control flow as calls, at PyTorch's paths: faces of `polyad.ops.control_flow`.

As there, the function `map` has the place of the module that it comes from, and so have the others.
"""

from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["cond", "map", "scan", "while_loop"]
