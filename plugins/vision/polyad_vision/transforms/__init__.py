"""Transforms of pictures, with torchvision's names: of tensors, and of Pillow's pictures.

inputs.py      what a transform takes
functional.py  transforms as functions, with all numbers given
on_tensors.py  what those of tensors compute; those of pictures are Pillow's own
fixed.py       classes without chance, and those that call others
chance.py      classes that draw numbers; the same class runs on both

A transform draws from the generators that a `DataLoader` starts anew for each sample, so augmentation depends on the
seed, the epoch and the sample's index, and on nothing else.

To add a transform, add the function to functional.py, and a class to fixed.py or chance.py.
"""

from . import chance, fixed, functional
from .chance import *  # noqa: F403  # each module says in __all__ what is public
from .fixed import *  # noqa: F403
from .functional import InterpolationMode

__all__ = ["InterpolationMode", "functional", *chance.__all__, *fixed.__all__]
