"""Vision: shown as ``polyad.vision``, with torchvision's names.

models        networks with torchvision's state-dict keys
transforms    of tensors and of Pillow's pictures
"""

from . import models, transforms

__all__ = ["models", "transforms"]
