"""PyTorch's ops as objects: ``polyad.ops.aten.add`` has overloads, of which ``polyad.ops.aten.add.Tensor`` is one.

Each is made once, so ``func is polyad.ops.aten.mm.default`` tells. To call one is to call polyad's function of that
name, whichever overload; where that takes other arguments, `CALLS` has a function that does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC
from ..dispatch.overriding import answers, ask
from ..tensor import Tensor

CALLS: dict[str, Callable[..., Any]] = {}
"""What carries out an op of PyTorch's by its name, where that is not polyad's function of the name."""

_SPACES = ("", "nn.functional.", "linalg.", "special.", "fft.")


class OpSchema:
    """What is asked of ``func._schema``.

    Attributes:
        name: "aten::add".
        overload_name: "Tensor", "" for the default.
    """

    def __init__(self, name: str, overload_name: str) -> None:
        self.name, self.overload_name = name, overload_name

    def __repr__(self) -> str:
        return f"{self.name}{'.' if self.overload_name else ''}{self.overload_name}"

    @property
    def is_mutable(self) -> bool:
        """Whether it writes into its first argument."""
        return self.name.endswith("_") and not self.name.endswith("__")


class OpOverload:
    """One op of PyTorch's: what ``__torch_dispatch__`` gets as ``func``.

    Attributes:
        overloadpacket: the op with all its overloads.
    """

    def __init__(self, packet: OpOverloadPacket, overload: str, call: Callable[..., Any]) -> None:
        self.overloadpacket, self._overloadname, self._call = packet, overload, call
        self._opname, self.namespace = packet.__name__, packet.namespace
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self.__name__
        self.__module__ = f"polyad.ops.{packet.namespace}"
        self._schema = OpSchema(f"{packet.namespace}::{packet.__name__}", "" if overload == "default" else overload)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op, or let an argument that is no tensor and has ``__torch_function__`` answer."""
        asked = [one for one in (*args, *kwargs.values()) if not isinstance(one, Tensor) and answers(type(one))]
        return ask(self, asked[:1], args, kwargs) if asked else self._call(*args, **kwargs)

    def name(self) -> str:
        """``aten::add.Tensor``."""
        return repr(self._schema)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __reduce__(self) -> Any:
        return overload, (self.namespace, self._opname, self._overloadname)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self


class OpOverloadPacket:
    """An op of PyTorch's with its overloads as attributes; called, it is polyad's function of the name."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self.__name__ = namespace, name
        self.__qualname__, self.__module__ = name, f"polyad.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, OpOverload] = {}

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._overloads.get(name)
        if found is None:
            call = _call_of(self.namespace, self.__name__)
            if call is None:
                raise AttributeError(f"polyad has no op {self.namespace}::{self.__name__}")
            found = self._overloads.setdefault(name, OpOverload(self, name, call))
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op, as its overloads do."""
        asked = [one for one in (*args, *kwargs.values()) if not isinstance(one, Tensor) and answers(type(one))]
        return ask(self, asked[:1], args, kwargs) if asked else self.default(*args, **kwargs)

    def overloads(self) -> list[str]:
        """The names of the overloads that have been asked for."""
        return list(self._overloads)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __reduce__(self) -> Any:
        return packet, (self.namespace, self.__name__)

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self


class OpNamespace:
    """``polyad.ops.aten``, PyTorch's ops, or ``polyad.ops.polyad``, the ops of polyad's that PyTorch has not."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        made = OpOverloadPacket(self.name, name)
        if name.startswith("__") or _call_of(self.name, name) is None:
            raise AttributeError(f"polyad has no op {self.name}::{name}")
        return self.__dict__.setdefault(name, made)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<OpNamespace {self.name!r}>"


def _call_of(namespace: str, name: str) -> Callable[..., Any] | None:
    """What carries out an op, None if nothing does."""
    if namespace != "aten":
        return OPS[name].call if name in OPS else None
    if not CALLS:
        from . import calls as calls, neural as neural  # fill it
    if name in CALLS:
        return CALLS[name]
    for space in _SPACES:
        if space + name in PUBLIC:
            return PUBLIC[space + name].call
    if name.startswith(("linalg_", "special_", "fft_")):
        space, _, rest = name.partition("_")
        if f"{space}.{rest}" in PUBLIC:
            return PUBLIC[f"{space}.{rest}"].call
    if name in ATTRIBUTES or name in vars(Tensor):
        method = getattr(Tensor, name)
        return method if callable(method) else None
    return None


NAMESPACES = {name: OpNamespace(name) for name in ("aten", "polyad")}


def packet(namespace: str, name: str) -> OpOverloadPacket:
    """The op of that name."""
    return getattr(getattr(ops, namespace), name)  # type: ignore[no-any-return]


def overload(namespace: str, name: str, overload: str) -> OpOverload:
    """The overload of an op."""
    return getattr(packet(namespace, name), overload)  # type: ignore[no-any-return]
