"""`Library`, `define` and `impl`: ops that a schema defines, and kernels that come later.

What a kernel is for is said by PyTorch's keys, or by device types: "CPU", "CUDA", "Meta"; "CompositeExplicitAutograd",
for all devices; "CompositeImplicitAutograd", whose ops have the gradient; "Autograd", asked before the op itself, which
it calls again under `polyad._C._AutoDispatchBelowAutograd`; "AutocastCPU" and its like. Keys that steer parts of
PyTorch's own dispatcher raise NotImplementedError.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

from ..amp.autocast_mode import autocast
from ..base.dtypes import FLOATING, DType
from ..devices import registry
from ..errors import ArgumentError, NotSupported, PolyadError, safe_repr
from ..tensor import Tensor
from .definition import TO_COME, CustomOpDef, _check_name, enter, op_named, register_fake
from .parsing import SchemaError, parse_schema
from .spaces import DEFINED

__all__ = [
    "Library",
    "LibraryError",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "register_autocast",
    "register_torch_dispatch",
]

_FOR_ALL = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "BackendSelect", "default")
_RESERVED = ("prim",)
_OWNERS: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
"""The library that defines a namespace."""
_PERMANENT: list[Library] = []
"""Libraries of definitions that name none, which stay."""


class LibraryError(PolyadError, RuntimeError):
    """What is registered does not fit what is there."""


def fallthrough_kernel(*args: Any, **kwargs: Any) -> NoReturn:
    """For `Library.impl`: let calls pass a key, as they do without a kernel for it. Raises where it is called."""
    raise NotSupported("fallthrough_kernel: it is not called", fix="give it to Library.impl")


class Library:
    """Definitions of ops, or kernels for them, which go when it goes.

    Args:
        ns: the namespace, "mylib".
        kind: "DEF" to define it, for one library alone; "FRAGMENT" to add to it; "IMPL" for kernels.
        dispatch_key: what kernels are for that do not say so: "CPU", "CUDA", "Meta", ...

    Raises ValueError for another kind or a reserved namespace, RuntimeError if another library defines the namespace.

    >>> import polyad as torch
    >>> lib = torch.library.Library("doclib", "DEF")
    >>> lib.define("scale(Tensor x, float factor=2.0) -> Tensor")
    'scale'
    >>> lib.impl("scale", lambda x, factor=2.0: x * factor, "CPU")
    >>> torch.ops.doclib.scale(torch.ones(2))
    tensor([2., 2.])
    >>> torch.ops.doclib.scale.default._schema
    doclib::scale(Tensor x, float factor=2.0) -> Tensor
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ArgumentError(f"Library: unsupported kind {safe_repr(kind)}", fix='use "DEF", "FRAGMENT" or "IMPL"')
        if ns in _RESERVED:
            raise ArgumentError(f"Library: {ns} is a reserved namespace", fix="take another name")
        if kind == "DEF" and (ns in _OWNERS or ns in ("aten", "polyad")):
            raise LibraryError(
                f"Library: another library defines the namespace {ns} already", fix='add to it by kind "FRAGMENT"'
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], None]] = []
        self._destroy = weakref.finalize(self, _undo_all, self._undo)
        if kind == "DEF":
            _OWNERS[ns] = self

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define the op that *schema* says, without kernels. Returns its name.

        *alias_analysis* and *tags* have no effect.

        Raises RuntimeError for a schema that cannot be read, or an op that there is already.
        """
        if self.kind == "IMPL":
            raise LibraryError("Library.define: the library is for kernels", fix='make it with kind "FRAGMENT"')
        said = parse_schema(schema)
        name = said.name.rpartition("::")[2]
        path = f"{self.ns}::{name}" + (f".{said.overload_name}" if said.overload_name else "")
        if not name or ("::" in said.name and not said.name.startswith(f"{self.ns}::")):
            raise SchemaError(
                f"Library.define: {safe_repr(schema)} names no op of namespace {self.ns}", fix="begin it with a name"
            )
        if path in DEFINED:
            raise LibraryError(
                f"Library.define: {path} is defined already",
                notes={"schema": str(DEFINED[path].schema)},
                fix="give the overload a name of its own",
            )
        op = CustomOpDef(path, said, None, ())
        enter(op)
        self._undo.append(lambda: _forget(op))
        return name + (f".{said.overload_name}" if said.overload_name else "")

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Carry out an op of the namespace with *fn* where *dispatch_key* says, by default all devices.

        Args:
            op_name: its name or the op, with overload: "scale", ``ops.mylib.scale.out``. The kernel of a name counts
                from when the op is defined.
            fn: the kernel; `fallthrough_kernel` takes one away.
            dispatch_key: "CPU", "Meta", "Autograd", ...: see the module.
            with_keyset: refused: kernels here get no set of keys.
            allow_override: whether a kernel that is there may be replaced.

        Raises RuntimeError for an unknown key, NotImplementedError for ops of PyTorch's own namespace: a plug-in brings
        kernels for those (docs/write-a-backend.md).
        """
        if with_keyset:
            raise NotSupported("Library.impl: kernels get no set of keys", fix="leave with_keyset out")
        if self.ns == "aten":
            raise NotSupported(
                f"Library.impl: kernels of polyad's own ops are not replaced by name ({op_name})",
                fix="bring them as a plug-in, or answer calls in a TorchDispatchMode",
            )
        path = op_name if isinstance(op_name, (str, CustomOpDef)) else op_name.name()
        if isinstance(path, str) and "::" not in path:
            path = f"{self.ns}::{path}"
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        key = getattr(key, "name", key)
        if isinstance(path, str) and (name := path.removesuffix(".default")) not in DEFINED:
            self._undo.append(_implement_later(name, key, fn, allow_override))
        else:
            self._undo.append(_implement(op_named(path), key, fn, allow_override))

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """For all ops at once: nothing is done for `fallthrough_kernel`; NotImplementedError for another function."""
        if fn is not fallthrough_kernel:
            raise NotSupported(
                "Library.fallback: no kernel is for all ops", fix="see calls in a TorchDispatchMode, or register each"
            )


def _undo_all(steps: list[Callable[[], None]]) -> None:
    while steps:
        steps.pop()()


def _forget(op: CustomOpDef) -> None:
    if DEFINED.get(op.name) is op:
        del DEFINED[op.name]


def _slot(op: CustomOpDef, key: str) -> tuple[Any, Any]:
    """Where the kernel of *op* for *key* is kept: a dict and its key, or an object and an attribute's name."""
    if key in _FOR_ALL:
        return vars(op), "for_all"
    if key == "CompositeImplicitAutograd":
        return vars(op), "composite"
    device_type = key.lower()
    for kind in ("autograd", "autocast"):
        if device_type.startswith(kind):
            return op.above, (kind, device_type.removeprefix(kind))
    if device_type in {"cpu", "cuda", "meta", *registry.names()}:
        return op.kernels, device_type
    if key in ("Functionalize", "ADInplaceOrView", "Python", "PrivateUse1", "SparseCPU", "SparseCUDA", "QuantizedCPU"):
        raise NotSupported(
            f"Library.impl: {op.name}: no call is dispatched by the key {key}",
            fix="use a device type, Autograd, an Autocast key or one of the Composite keys",
        )
    raise LibraryError(
        f"Library.impl: {op.name}: {safe_repr(key)} is no dispatch key",
        notes={"devices": ", ".join(sorted(registry.names()))},
        fix='use "CPU", "Meta", "Autograd", "CompositeExplicitAutograd", ...',
    )


def _implement(op: CustomOpDef, key: str, fn: Callable[..., Any], allow_override: bool = True) -> Callable[[], None]:
    """Register a kernel. Returns what takes it away again."""
    table, place = _slot(op, key)
    before = table.get(place)
    if before is not None and not allow_override:
        raise LibraryError(
            f"Library.impl: {op.name} has a kernel for {key} already", fix="let it be replaced by allow_override=True"
        )
    table[place] = None if fn is fallthrough_kernel else fn

    def undo() -> None:
        if table.get(place) is fn:
            table[place] = before

    return undo


def _implement_later(name: str, key: str, fn: Callable[..., Any], allow_override: bool) -> Callable[[], None]:
    """Register a kernel when the op *name* is defined. Returns what takes it away again."""
    nobody: Any = SimpleNamespace(name=name, above={}, kernels={})
    _slot(nobody, key)  # raises for what is no key
    undo: list[Callable[[], None]] = []

    def register(op: CustomOpDef) -> None:
        undo.append(_implement(op, key, fn, allow_override))

    TO_COME.setdefault(name, []).append(register)

    def take_away() -> None:
        if register in TO_COME.get(name, ()):
            TO_COME[name].remove(register)
        _undo_all(undo)

    return take_away


def _library_of(lib: Library | None, path: str, kind: str = "FRAGMENT") -> Library:
    """*lib*, or one that stays."""
    if lib is None:
        lib = Library(path.partition("::")[0], kind)
        _PERMANENT.append(lib)
    return lib


def define(
    qualname: Any, schema: str = "", alias_analysis: str = "", *, lib: Library | None = None, tags: Any = ()
) -> Any:
    """Define the op *qualname*, "mylib::scale", by its schema, "(Tensor x) -> Tensor"; kernels come by `impl`.

    With a `Library` and a schema with name it is a decorator, whose function becomes the op's kernel.

    Raises ValueError for a name without namespace or a schema that cannot be read, RuntimeError for one that there is.

    >>> import polyad as torch
    >>> torch.library.define("doclib2::half", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("doclib2::half", "cpu")
    ... def half(x):
    ...     return x / 2
    >>> torch.ops.doclib2.half(torch.ones(2))
    tensor([0.5000, 0.5000])
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, alias_analysis, tags=tags)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(name, function)
            return function

        return decorate
    _check_name("define", qualname)
    parse_schema(schema)
    _library_of(lib, qualname).define(qualname.partition("::")[2] + schema, alias_analysis, tags=tags)
    return None


def impl(
    qualname: Any,
    types: str | Sequence[str],
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Carry out the op *qualname* with *func* on devices of *types*, "cpu" or a list of them, "default" for all; a
    decorator if *func* is not given. ``impl(lib, name, dispatch_key)`` decorates a kernel of a library's op.

    >>> import polyad as torch
    >>> torch.library.define("doclib3::twice", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doclib3::twice", "default", lambda x: x * 2)
    >>> torch.ops.doclib3.twice(torch.ones(1))
    tensor([2.])
    """
    if isinstance(qualname, Library):
        key = func or ""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(types, function, key)
            return function

        return decorate
    _check_name("impl", qualname)

    def register(function: Callable[..., Any]) -> None:
        for kind in (types,) if isinstance(types, str) else types:
            _library_of(lib, qualname, "IMPL").impl(
                qualname, function, "CompositeExplicitAutograd" if kind == "default" else kind
            )

    if func is not None:
        register(func)
        return None

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        register(function)
        return function

    return decorator


def impl_abstract(qualname: Any, func: Any = None, *, lib: Any = None, _stacklevel: int = 1) -> Callable[..., Any]:
    """PyTorch's older name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autocast(op: Any, device_type: str, cast_inputs: DType, /, *, lib: Any = None) -> None:
    """Under `polyad.autocast` of *device_type*, call the op with floating tensors cast to *cast_inputs*, autocast off.

    >>> import polyad as torch
    >>> @torch.library.custom_op("doc::same", mutates_args=())
    ... def same(x: torch.Tensor) -> torch.Tensor:
    ...     return x.clone()
    >>> torch.library.register_autocast("doc::same", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     same(torch.ones(1))
    tensor([1.], dtype=polyad.bfloat16)
    """
    found = op_named(op)

    def cast(value: Any) -> Any:
        if isinstance(value, Tensor):
            fits = value.device.type == device_type and value.dtype.category == FLOATING and value.dtype.itemsize < 8
            return value.to(cast_inputs) if fits else value
        return type(value)(map(cast, value)) if isinstance(value, (list, tuple)) else value

    def call(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=False):
            return found(*map(cast, args), **{name: cast(value) for name, value in kwargs.items()})

    found.above["autocast", device_type] = call


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> NoReturn:
    """Raises NotImplementedError: the class's own ``__torch_dispatch__`` is told of the op."""
    raise NotSupported(
        f"register_torch_dispatch: {op}: calls are told to the class itself",
        fix=f"compare func with the op in {torch_dispatch_class.__name__}.__torch_dispatch__",
    )


def get_kernel(op: Any, dispatch_key: Any) -> Callable[..., Any]:
    """The kernel of a custom op for a key or device type. Raises RuntimeError if there is none.

    >>> import polyad as torch
    >>> torch.library.define("doclib4::one", "(Tensor x) -> Tensor")
    >>> torch.library.impl("doclib4::one", "cpu", torch.ones_like)
    >>> torch.library.get_kernel("doclib4::one", "CPU") is torch.ones_like
    True
    """
    found, key = op_named(op), getattr(dispatch_key, "name", dispatch_key)
    table, place = _slot(found, key)
    kernel: Callable[..., Any] | None = table.get(place) or found.for_all
    if kernel is None:
        raise LibraryError(f"get_kernel: {found.name} has no kernel for {key}", fix="register one with impl")
    return kernel


class FakeImplCtx:
    """What a rule of `register_fake` may ask."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> NoReturn:
        """Raises NotImplementedError: a size here is a number, and this one depends on data."""
        raise NotSupported(
            "register_fake: a size that depends on data is not known without data", fix="call the op with data"
        )

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> NoReturn:
        """PyTorch's older name of `new_dynamic_size`."""
        self.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeImplCtx:
    """What a rule of `register_fake` may ask: a size that depends on data, which here raises NotImplementedError."""
    return FakeImplCtx()


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` that goes at the end of a with statement."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()
