"""Optimizers, with PyTorch's names, arguments and state layout.

The base class with groups, state and hooks is in optimizer.py; sgd.py, adam.py, ... hold a family each, whose
arithmetic is declared in polyad/ops/optim.py; inplace.py writes a step's results over its operands.
"""

from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
