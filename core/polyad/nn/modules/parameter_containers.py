"""Lists and dictionaries of parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, overload

from ...arguments import check_type
from ...errors import ArgumentTypeError
from ...tensor import Tensor
from ..parameter import Parameter
from .container import check_pairs, position
from .module import Module, indent

__all__ = ["ParameterDict", "ParameterList"]


def _line(name: Any, value: Any, kind: Callable[[Tensor], Any]) -> str:
    """How a container shows what it has under *name*; lists name a tensor's dtype, dictionaries its type."""
    if not isinstance(value, Tensor):
        return f"({name}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    where = "" if value.device.type == "cpu" else f" ({value.device})"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"({name}): {what} containing: [{kind(value)} of size {size}{where}]"


class ParameterList(Module):
    """A list whose tensors are registered as parameters; a plain tensor in it becomes a `Parameter`.

    >>> import polyad
    >>> from polyad import nn
    >>> weights = nn.ParameterList([polyad.zeros(2), polyad.zeros(3)])
    >>> len(weights), len(list(weights.parameters()))
    (2, 2)
    """

    _size: int

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> ParameterList: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[position] for position in range(*index.indices(len(self)))])
        return getattr(self, str(position(index, len(self), self._get_name())))

    def __setitem__(self, index: int, value: Any) -> None:
        name = str(position(index, len(self), self._get_name()))
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[position] for position in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add *value* at the end. Returns self."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add all *values* at the end. Returns self."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise ArgumentTypeError(
                f"ParameterList: takes an iterable of values, not {type(values).__name__}",
                operands={"values": values},
                fix="put it into a list",
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_line(position, value, lambda tensor: tensor.dtype) for position, value in enumerate(self))

    def __repr__(self) -> str:
        return f"{self._get_name()}(\n    {indent(self.extra_repr(), 4)}\n)" if len(self) else f"{self._get_name()}()"


class ParameterDict(Module):
    """Parameters by name, registered, in order of insertion; a plain tensor in it becomes a `Parameter`.

    Those of a dict are sorted by name (see `update`). Anything else is kept as it is. It has no forward of its own.

    Raises:
        TypeError: a name is no string.

    >>> import polyad
    >>> from polyad import nn
    >>> scales = nn.ParameterDict({"left": polyad.ones(2)})
    >>> scales["right"] = nn.Parameter(polyad.zeros(2))
    >>> list(scales), len(list(scales.parameters()))
    (['left', 'right'], 2)
    """

    _keys: dict[str, None]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        check_type("ParameterDict", "key", key, str, "a str")
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        if key in self._keys and isinstance(getattr(self, key), Tensor) != isinstance(value, Tensor):
            delattr(self, key)
        setattr(self, key, value)
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._keys))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter called *key*, or *default*."""
        return self[key] if key in self else default  # noqa: SIM401

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter called *key*, which is *default* from now on if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove the parameter called *key* and return it. Raises KeyError if there is none."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last parameter and return it with its name. Raises KeyError if there is none."""
        if not self._keys:
            raise KeyError("popitem: the ParameterDict is empty")
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A ParameterDict with *default* under each of *keys*."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and parameters."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return [self[key] for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Add parameters from a mapping or from (name, parameter) pairs, replacing those of the same name.

        New ones of an OrderedDict, a ParameterDict or pairs come in its order, of any other mapping sorted by name.
        """
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            parameters = parameters.items()
        elif isinstance(parameters, Mapping):
            # As PyTorch has it, so that parameters and the states of optimizers have the same order.
            parameters = sorted(parameters.items(), key=lambda item: str(item[0]))
        for key, value in check_pairs("ParameterDict.update", parameters, "parameter"):
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        joined = other.copy()
        joined.update(self)
        return joined if isinstance(joined, ParameterDict) else ParameterDict(joined)

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_line(key, value, Tensor.type) for key, value in self.items())

    def __repr__(self) -> str:
        return f"{self._get_name()}(\n    {indent(self.extra_repr(), 4)}\n)" if len(self) else f"{self._get_name()}()"
