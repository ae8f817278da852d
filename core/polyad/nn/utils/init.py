"""Making modules without setting their parameters."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from ...arguments import explain
from ...errors import OptionError, safe_repr
from ..modules.module import Module

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """``module_cls(*args, **kwargs)`` with parameters and buffers whose memory is not set, on the device that *kwargs*
    names, else the cpu.

    The module is made on device "meta", where initialisation costs nothing. Raises RuntimeError for what is no class of
    modules, or takes no ``device``.

    >>> from polyad import nn
    >>> nn.utils.skip_init(nn.Linear, 3, 4).weight.shape
    polyad.Size([4, 3])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise OptionError(
            f"skip_init: module_cls is {safe_repr(module_cls)}, not a class of modules", fix="pass a class: nn.Linear"
        )
    parameters = inspect.signature(module_cls).parameters.values()
    if not any(one.name == "device" or one.kind is one.VAR_KEYWORD for one in parameters):
        raise OptionError(
            f"skip_init: {module_cls.__name__} takes no device",
            fix='give its __init__ a parameter device, or make it under `with polyad.device("meta")` and call to_empty',
        )
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)


explain(globals())
