"""Vision: shown as ``polyad.vision``, with torchvision's names.

models        networks with torchvision's state-dict keys
"""

from . import models

__all__ = ["models"]
