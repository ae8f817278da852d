"""ResNets, with torchvision's names, arguments and state-dict keys.

``weights`` is the path of a file or a state dict: nothing is downloaded.

weights.py     what ``weights`` may be
resnet.py      the models
"""

from __future__ import annotations

from typing import Any

from polyad import nn
from polyad.errors import ArgumentError

from . import resnet
from .resnet import *  # noqa: F403  # it says in __all__ what is public

MODELS = {name: getattr(resnet, name) for name in resnet.__all__ if name.islower()}

__all__ = ["get_model", "list_models", *resnet.__all__]


def list_models() -> list[str]:
    """The names of the models, sorted.

    >>> from polyad.vision.models import list_models
    >>> list_models()[-1]
    'wide_resnet50_2'
    """
    return sorted(MODELS)


def get_model(name: str, **config: Any) -> nn.Module:
    """The model *name*, built with *config*.

    Raises:
        ValueError: no model has this name.

    >>> from polyad.vision.models import get_model
    >>> get_model("resnet18", num_classes=10).fc
    Linear(in_features=512, out_features=10, bias=True)
    """
    if name.lower() not in MODELS:
        raise ArgumentError(f"get_model: there is no model {name!r}", fix=f"pass one of {', '.join(list_models())}")
    model: nn.Module = MODELS[name.lower()](**config)
    return model
