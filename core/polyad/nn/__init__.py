"""Layers, models, losses and their parameters, with PyTorch's names, arguments, state keys and starting values.

    modules/        `Module` in module.py; every other file is a family of layers
    functional.py   the layers' arithmetic as functions
    init.py         functions that fill tensors with starting values
    parameter.py    what a module registers when it is assigned

Behind `Module` stand registration.py, conversion.py, state_dict.py, hooks.py and hook_methods.py.

To add a layer, see the docstring of modules/module.py; export it in modules/__init__.py.
"""

from typing import TYPE_CHECKING, Any

from ..compatibility.moved import missing
from . import (
    attention as attention,
    common_types as common_types,
    functional as functional,
    grad as grad,
    init as init,
    modules as modules,
    parallel as parallel,
    utils as utils,
)
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "grad",
    "init",
    "parallel",
    "utils",
]
__all__ += modules.__all__

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
