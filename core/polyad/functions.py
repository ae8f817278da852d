"""The public functions of tensors in ``polyad`` itself, each loaded with its family when it is named.

Some in-place methods are functions, too: ``polyad.abs_(x)`` is ``x.abs_()``. `polyad.ops.declaring.attach` says which.

What editors and type checkers see is functions.pyi, which ``python -m polyad.ops.declaring.stubs`` writes from the
declarations.
"""

from typing import Any as _Any

from .dispatch.catalogue import functions_of as _functions_of
from .ops.declaring.attach import IN_PLACE as _IN_PLACE
from .tensor import Tensor as _Tensor

_public, _names = _functions_of("", globals())


def __getattr__(name: str) -> _Any:
    if name in _IN_PLACE:
        value = globals()[name] = getattr(_Tensor, name)
        return value
    return _public(name) if name != "__all__" else [*_public(name), *sorted(_IN_PLACE)]


def __dir__() -> list[str]:
    return sorted({*_names(), *_IN_PLACE})
