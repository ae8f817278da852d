"""Tools around training that are not tensors.

benchmark     times of statements, and tables that compare them
checkpoint    forgetting what a part of a network saves for backward, and computing it again
data          datasets, samplers, loaders
dlpack        tensors of other libraries
flop_counter  what the matrix products and convolutions of a program take
hooks         what code for PyTorch asks of hooks
tensorboard   files for TensorBoard
viz           pictures of graphs

Keeps PyTorch's import paths (``polyad.utils.data.DataLoader``). To add a tool, add a module under the path it has in
PyTorch; nothing is defined in this file.
"""

import importlib
from types import ModuleType

from polyad.inspection import viz
from polyad.utils import checkpoint, data, dlpack

__all__ = ["benchmark", "checkpoint", "data", "dlpack", "flop_counter", "hooks", "tensorboard", "viz"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
