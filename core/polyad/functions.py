"""The public functions of tensors in ``polyad`` itself, each loaded with its family when it is named.

Some in-place methods are functions, too: ``polyad.abs_(x)`` is ``x.abs_()``. `IN_PLACE` says which.

What editors and type checkers see is functions.pyi, which ``python -m polyad.ops.declaring.stubs`` writes from the
declarations.
"""

from typing import Any

from .dispatch.catalogue import functions_of
from .ops.declaring.attach import IN_PLACE
from .tensor import Tensor

_public, _names = functions_of("", globals())


def __getattr__(name: str) -> Any:
    return getattr(Tensor, name) if name in IN_PLACE else _public(name)


def __dir__() -> list[str]:
    return sorted({*_names(), *IN_PLACE} - {"Any", "IN_PLACE", "Tensor"})
