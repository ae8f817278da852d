"""Run by each Python that a program under ``python -m polyad.as_torch`` starts: installs the stand-in there, too.

Python runs the first ``sitecustomize`` that it finds, so the environment's own, which this one hides, is run after it.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

if os.environ.get("POLYAD_AS_TORCH") == "1":
    import polyad.as_torch

    polyad.as_torch.install()

_here = os.path.dirname(os.path.abspath(__file__))
_hidden = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path or ".") != _here])
if _hidden is not None and _hidden.loader is not None:
    _hidden.loader.exec_module(module_from_spec(_hidden))
