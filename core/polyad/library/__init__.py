"""Custom ops: functions that become ops of the library, at PyTorch's path ``polyad.library``.

schema.py        what an op takes and gives, by a function's annotations
parsing.py       the same, by a text
definition.py    `custom_op`, and what is registered for it: kernels, a gradient, a rule for batches
registering.py   `Library`, `define` and `impl`: ops defined by a schema
spaces.py        ``polyad.ops.mylib``
checking.py      the checks that an author runs on an op
compiled.py      libraries that are compiled against PyTorch, and what stands in for some

docs/custom-ops.md is the guide. Ops of the library itself are declared in `polyad.ops` (docs/write-an-op.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..compatibility.absent import lacking
from .definition import (
    CustomOpDef,
    CustomOpError,
    custom_op,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from .registering import (
    Library,
    _scoped_library as _scoped_library,
    define,
    fallthrough_kernel,
    get_ctx,
    get_kernel,
    impl,
    impl_abstract,
    register_autocast,
    register_torch_dispatch,
)
from .schema import infer_schema

if TYPE_CHECKING:
    from .checking import opcheck as opcheck

__all__ = [
    "CustomOpDef",
    "CustomOpError",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

_lacking = lacking(__name__)


def __getattr__(name: str) -> Any:
    # It needs capture and transforms, which a program that only calls ops need not load.
    if name == "opcheck":
        from importlib import import_module

        return import_module(".checking", __name__).opcheck
    return _lacking(name)
