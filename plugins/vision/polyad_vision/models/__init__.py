"""Models that tutorials name, with torchvision's names, arguments and state-dict keys.

``weights`` is the path of a file or a state dict: nothing is downloaded.

weights.py             what ``weights`` may be
layers.py              layers that several models share
resnet.py, vgg.py, mobilenetv2.py, mobilenetv3.py, efficientnet.py, vision_transformer.py  the models

To add a model, add a module with ``__all__`` and its functions, and the module's name to FAMILIES below.
"""

from __future__ import annotations

from typing import Any

from polyad import nn
from polyad.errors import ArgumentError

from . import efficientnet, layers, mobilenetv2, mobilenetv3, resnet, vgg, vision_transformer
from .efficientnet import *  # noqa: F403  # each module says in __all__ what is public
from .mobilenetv2 import MobileNetV2, mobilenet_v2
from .mobilenetv3 import MobileNetV3, mobilenet_v3_large, mobilenet_v3_small
from .resnet import *  # noqa: F403
from .vgg import *  # noqa: F403
from .vision_transformer import *  # noqa: F403

FAMILIES = (efficientnet, mobilenetv2, mobilenetv3, resnet, vgg, vision_transformer)
MODELS = {name: getattr(module, name) for module in FAMILIES for name in module.__all__ if name.islower()}

__all__ = [
    "MobileNetV2", "MobileNetV3", "get_model", "layers", "list_models", "mobilenet_v2", "mobilenet_v3_large",
    "mobilenet_v3_small", *efficientnet.__all__, *resnet.__all__, *vgg.__all__, *vision_transformer.__all__,
]  # fmt: skip


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
