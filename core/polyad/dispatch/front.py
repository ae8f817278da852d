"""The function that users call for each `@function`: its definition, and what all of them have in common.

    errors         what Python or NumPy raises for arguments that do not fit is told in polyad's words
    dtype=float    a Python type stands for the dtype of that name, as in PyTorch
    axis=0         NumPy's names of parameters are understood, where there is a ``dim`` or an ``out``
    out=           is written to

The plain ones, which only need the first two, are generated with the definition's own signature, since the ops that
they front are called millions of times.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..dtypes import of_python
from ..tensor import Tensor
from .arguments import explained, explained_call
from .caller import bare_signature, generated, write_out

_PLAIN = """\
def {name}({signature}):
{dtype}    try:
        return definition_({arguments})
    except Exception as error_:
        problem_ = explained_({name!r}, signature_, {{{named}}}, error_)
        if problem_ is error_:
            raise
        raise problem_ from error_
"""

_DTYPE = """\
    if {name}.__class__ is type:
        {name} = of_python_({name})
"""


def plain_front(definition: Callable[..., Any]) -> Callable[..., Any]:
    """*definition* with its errors told in polyad's words."""
    signature = inspect.signature(definition)
    scope = {
        "definition_": definition, "signature_": signature, "explained_": explained, "of_python_": of_python,
        "__name__": __name__,
    }  # fmt: skip

    def source() -> str:
        parameters = signature.parameters.values()
        return _PLAIN.format(
            name=definition.__name__,
            signature=bare_signature(signature),
            dtype="".join(_DTYPE.format(name=one.name) for one in parameters if _is_dtype(one)),
            arguments=", ".join(map(_passed, parameters)),
            named=", ".join(f"{one.name!r}: {one.name}" for one in parameters),
        )

    call = generated(
        definition, signature, f"polyad-front:{definition.__module__}.{definition.__name__}", scope, source
    )
    call.__wrapped__ = definition  # type: ignore[attr-defined]
    return call


def _is_dtype(parameter: inspect.Parameter) -> bool:
    return parameter.name == "dtype" or "DType" in str(parameter.annotation)


def _passed(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    return f"{parameter.name}={parameter.name}" if parameter.kind is parameter.KEYWORD_ONLY else parameter.name


_NUMPY_NAMES = (
    ("axis", "dim"), ("keepdims", "keepdim"), ("x", "input"), ("a", "input"), ("x1", "input"), ("x2", "other"),
)  # fmt: skip


def _reader(definition: Callable[..., Any]) -> Callable[[dict[str, Any]], None]:
    """What puts *definition*'s names for NumPy's names of its parameters, as PyTorch does, and dtypes for types."""
    parameters = inspect.signature(definition).parameters
    names = [pair for pair in _NUMPY_NAMES if pair[1] in parameters and pair[0] not in parameters]

    def read(kwargs: dict[str, Any]) -> None:
        for numpys, ours in names:
            if numpys in kwargs and ours not in kwargs:
                kwargs[ours] = kwargs.pop(numpys)
        if kwargs.get("dtype").__class__ is type:
            kwargs["dtype"] = of_python(kwargs["dtype"])

    return read


def front_with_out(definition: Callable[..., Any], dtype_of_out: bool = False) -> Callable[..., Any]:
    """*definition* with its keyword ``out`` provided for, and NumPy's names (``axis``, ...) understood.

    With *dtype_of_out* its keyword ``dtype`` is out's where none is given.
    """
    read = _reader(definition)

    @functools.wraps(definition)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            read(kwargs)
        if dtype_of_out and isinstance(out, Tensor) and kwargs.get("dtype") is None:
            kwargs["dtype"] = out._type.dtype
        try:
            result = definition(*args, **kwargs)
            return result if out is None else write_out(out, result)
        except Exception as error:
            problem = explained_call(definition, args, kwargs, error)
            if problem is error:
                raise
            raise problem from error

    return call


def front_with_numpy_names(definition: Callable[..., Any]) -> Callable[..., Any]:
    """*definition* with NumPy's names of its parameters (``axis``, ``keepdims``, ...) understood."""
    read = _reader(definition)

    @functools.wraps(definition)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            read(kwargs)
        try:
            return definition(*args, **kwargs)
        except Exception as error:
            problem = explained_call(definition, args, kwargs, error)
            if problem is error:
                raise
            raise problem from error

    return call
