"""Custom ops: functions that become ops of the library, at PyTorch's path ``polyad.library``.

schema.py      what a function's annotations say about it as an op
definition.py  `custom_op`, and what is registered for it: kernels, a gradient, a rule for batches
checking.py    the checks that an author runs on an op

docs/custom-ops.md is the guide. Ops of the library itself are declared in `polyad.ops` (docs/write-an-op.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .definition import (
    CustomOpDef,
    CustomOpError,
    custom_op,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from .schema import infer_schema

if TYPE_CHECKING:
    from .checking import opcheck as opcheck

__all__ = [
    "CustomOpDef",
    "CustomOpError",
    "custom_op",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]


def __getattr__(name: str) -> Any:
    # It needs capture and transforms, which a program that only calls ops need not load.
    if name == "opcheck":
        from importlib import import_module

        return import_module(".checking", __name__).opcheck
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
