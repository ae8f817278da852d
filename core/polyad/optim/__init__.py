"""Optimizers, with PyTorch's names, arguments and state layout.

    optimizer.py  the base class: groups, state, hooks
    inplace.py    writing a step's results over its operands
    sgd.py adam.py ...   one family a file; their arithmetic is declared in polyad/ops/optimizer.py
"""

from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
