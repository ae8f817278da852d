"""Functions of ``nn.functional`` whose namesakes in ``polyad`` have other parameters: an ``inplace``, an optional
``dim``.
"""

from __future__ import annotations

from ....base.dtypes import DType
from ....dispatch.op import function, in_place
from ....tensor import Tensor
from .rectifiers import relu as _relu
from .softmax import _along, _log_softmax, _softmax, implicit_dim


@function(namespace="nn.functional")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(0, x), elementwise; with *inplace* the input itself is overwritten.

    >>> import polyad
    >>> polyad.nn.functional.relu(polyad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else _relu(input)


relu_ = in_place(relu)


@function(namespace="nn.functional")
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """exp(x) divided by its sum along *dim*.

    Without *dim*, which is deprecated, along 0 for inputs of 0, 1 or 3 dimensions, else along 1. With *dtype*, the
    input is cast first. Raises IndexError for a dim that does not exist.

    >>> import polyad
    >>> polyad.nn.functional.softmax(polyad.zeros(4), dim=0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return _along("softmax", _softmax, input, implicit_dim("softmax", input) if dim is None else dim, dtype)


@function(namespace="nn.functional")
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`, computed without overflow; arguments as there.

    >>> import polyad
    >>> polyad.nn.functional.log_softmax(polyad.zeros(1), dim=0)
    tensor([0.])
    """
    return _along("log_softmax", _log_softmax, input, implicit_dim("log_softmax", input) if dim is None else dim, dtype)
