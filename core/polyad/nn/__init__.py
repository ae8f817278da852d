"""Layers, models, losses and their parameters, with PyTorch's names, arguments, state keys and starting values.

    modules/        `Module` in module.py; every other file is a family of layers
    functional.py   the layers' arithmetic as functions
    init.py         functions that fill tensors with starting values
    parameter.py    what a module registers when it is assigned

Behind `Module` stand registration.py, conversion.py, state_dict.py, hooks.py and hook_methods.py.

To add a layer, see the docstring of modules/module.py; export it in modules/__init__.py and here.
"""

from typing import TYPE_CHECKING, Any

from ..compatibility.moved import missing
from . import functional as functional, init as init, modules as modules, utils as utils
from .modules import (
    GELU,
    GRU,
    LSTM,
    RNN,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    BCEWithLogitsLoss,
    Conv2d,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Flatten,
    GRUCell,
    Identity,
    L1Loss,
    LayerNorm,
    Linear,
    LogSoftmax,
    LSTMCell,
    MaxPool2d,
    Module,
    ModuleDict,
    ModuleList,
    MSELoss,
    MultiheadAttention,
    NLLLoss,
    ParameterList,
    ReLU,
    RNNBase,
    RNNCell,
    RNNCellBase,
    Sequential,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
    Unflatten,
)
from .parameter import Buffer, Parameter

__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "GRU",
    "GRUCell",
    "LSTM",
    "LSTMCell",
    "RNN",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "AvgPool2d",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GELU",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ParameterList",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "Unflatten",
    "functional",
    "init",
    "utils",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
