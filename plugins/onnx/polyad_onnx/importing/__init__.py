"""Reading ONNX: a model as a Module.

reading.py     the file and what lies beside it
elements.py    types of elements, tensors of files
planning.py    from a graph to a list of calls (`blocks.py`); `bodies.py` has functions
fusing.py      steps that are computed at once
operators.py   the table of operators and what their functions are told; `ops/` has them by family
module.py      the Module
"""

from __future__ import annotations

from . import ops
from .module import ONNXModule
from .operators import NotComputed
from .reading import read

__all__ = ["NotComputed", "ONNXModule", "ops", "read"]
