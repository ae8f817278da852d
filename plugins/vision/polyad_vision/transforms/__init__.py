"""Transforms of pictures, with torchvision's names: of tensors, and of Pillow's pictures.

inputs.py      what a transform takes
functional.py  transforms as functions, with all numbers given
on_tensors.py  what those of tensors compute; those of pictures are Pillow's own
fixed.py       classes without chance, and those that call others
chance.py      classes that draw numbers; the same class runs on both
automatic.py   RandAugment, TrivialAugmentWide: classes that draw operations
v2.py          names of torchvision.transforms.v2

A transform draws from the generators that a `DataLoader` starts anew for each sample, so augmentation depends on the
seed, the epoch and the sample's index, and on nothing else.

To add a transform, add the function to functional.py, and a class to fixed.py or chance.py.
"""

from . import automatic, chance, fixed, functional, v2
from .automatic import *  # noqa: F403
from .chance import *  # noqa: F403  # each module says in __all__ what is public
from .fixed import *  # noqa: F403
from .functional import InterpolationMode

__all__ = ["InterpolationMode", "functional", "v2", *automatic.__all__, *chance.__all__, *fixed.__all__]
