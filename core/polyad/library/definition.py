"""`custom_op`: a function of the user's as an op.

A call is the call of a `polyad.autograd.Function`, whose forward runs the kernel of the tensors' device and whose
backward is what was registered. So modes see it whole under the op's name: capture records one node, a transform finds
the rule for batches. Tensors in lists are given to that Function one by one, with the lists' lengths behind them.

Invariants: kernels run with recording off; an op's results share no memory with its arguments; what it writes into is
what its schema says, and counts as a write.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..aten.overloads import OpOverload, OpOverloadPacket
from ..autograd.function import Function
from ..autograd.hooks import place_of
from ..base.state import state
from ..devices import fallback
from ..devices.registry import get_default_device
from ..dispatch.inplace import check_writable, wrote
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceError,
    MissingKernel,
    PolyadError,
    ShapeError,
    safe_repr,
)
from ..ops.shaping.joining import stack
from ..tensor import Tensor
from .parsing import SchemaError, parse_schema
from .schema import Schema, schema_of
from .spaces import DEFINED, show

__all__ = [
    "CustomOpDef",
    "CustomOpError",
    "custom_op",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]


class CustomOpError(PolyadError, RuntimeError):
    """A custom op that does other than it says."""


META = "meta"
"""The device type on which tensors have no elements."""


class CustomOpDef:
    """A custom op, called like the function that it was defined with; what `custom_op` gives.

    Attributes:
        name: with its namespace: "mylib::scale"; of an overload "mylib::scale.out".
        schema: what it takes and gives.
        declared: whether a schema alone defined it (`define`), and kernels came later. Such an op need not be seen
            whole: without a gradient of its own, the ops of its kernel are recorded.
        above: what answers before the op itself, by ("autocast" or "autograd", device type or "").
        composite: its body in other ops, which are seen in its place.
    """

    def __init__(self, name: str, schema: Schema, function: Callable[..., Any] | None, device_types: Any) -> None:
        self.name, self.schema = name, schema
        schema.name, _, schema.overload_name = name.partition(".")
        self.declared = function is None
        self.above: dict[tuple[str, str], Callable[..., Any]] = {}
        self.composite: Callable[..., Any] | None = None
        self.for_all: Callable[..., Any] | None = None
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.disabled: set[str] = set()
        self.fake: Callable[..., Any] | None = None
        self.batched: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        if function is None:
            self.__name__ = self.__qualname__ = schema.name.partition("::")[2]
        else:
            functools.update_wrapper(self, function)
        if device_types is None:
            self.for_all = function
        else:
            self.register_kernel(device_types, function)
        self._function = _function_of(self)

    def __repr__(self) -> str:
        return f"<custom op {self.schema}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op. Raises TypeError for arguments that its schema has not, DeviceError for tensors on several
        devices, MissingKernel where no kernel is registered for theirs, and what the kernel raises.
        """
        values = self.bound(args, kwargs)
        if self.above or self.composite is not None:
            kernel = self._answering(values)
            if kernel is not None:
                return self._call(kernel, values)
        if self.declared and not self._whole(values):
            return self.run(values)
        if self.schema.written and state.grad_enabled:
            tensors = self._tensors(values)
            if any(tensor.requires_grad for tensor in tensors.values()):
                raise AutogradError(
                    f"{self.name}: it writes into {', '.join(self.schema.written)}, and has no gradient",
                    operands=tensors,
                    fix="call it under polyad.no_grad(), or with detach()ed tensors",
                )
        flat, lengths = _flatten_lists(values)
        return self._function.apply(*flat, lengths)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all parameters in order. Raises TypeError for arguments that the schema has not."""
        defaults = self.schema.defaults
        if not kwargs and self.schema.required <= len(args) <= self.schema.positional:
            values = [*args, *defaults[len(args) :]]  # which `bind` takes long to find out
        else:
            try:
                bound = self.schema.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise ArgumentTypeError(
                    f"{self.name}: {error}", notes={"schema": str(self.schema)}, fix="call it as its schema says"
                ) from None
            bound.apply_defaults()
            values = list(bound.arguments.values())
        for argument, value in zip(self.schema.arguments, values, strict=True):
            argument.check(self.name, value)
        for place in self.schema.lists_of_length:
            if values[place] is not None and not isinstance(values[place], (list, tuple)):
                values[place] = [values[place]] * self.schema.arguments[place].length
        return values

    def _answering(self, values: list[Any]) -> Callable[..., Any] | None:
        """What answers this call before the op itself does."""
        types = [tensor.device.type for tensor in self._tensors(values).values()]
        here = types[0] if types else get_default_device().type
        if state.autocast is not None and here in state.autocast and ("autocast", here) in self.above:
            return self.above["autocast", here]
        if not state.below_autograd:
            found = self.above.get(("autograd", here)) or self.above.get(("autograd", ""))
            if found is not None:
                return found
        return self.composite if self.kernel_for(here) is None else None

    def _whole(self, values: list[Any]) -> bool:
        """Whether a call of an op that `define` made is one node: not where its kernel's ops have the gradient."""
        if not self.schema.plain or not self.schema.returns:
            return False
        if self.backward is not None or not state.grad_enabled:
            return True
        return not any(tensor.requires_grad for tensor in self._tensors(values).values())

    # -------------------------------------------------------------------------------------------- what authors register

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """Compute with *fn* on devices of these types ("cpu", "opencl", ...), None for all that have no kernel of their
        own; a decorator if *fn* is not given.

        >>> import polyad
        >>> @polyad.library.custom_op("doc::half", mutates_args=(), device_types="cpu")
        ... def half(x: polyad.Tensor) -> polyad.Tensor:
        ...     return x * 0.5
        >>> @half.register_kernel("opencl")
        ... def _(x):
        ...     return x / 2
        >>> half(polyad.ones(2))
        tensor([0.5000, 0.5000])
        """

        def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
            if device_types is None:
                self.for_all = kernel
            for device_type in [device_types] if isinstance(device_types, str) else device_types or ():
                self.kernels[device_type.partition(":")[0]] = kernel
            return kernel

        return register if fn is None else register(fn)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """Give the op a gradient: ``backward(ctx, *grads)`` returns a gradient for each positional argument, None for
        those that have none, and a list for a list of tensors.

        ``setup_context(ctx, inputs, output)`` saves what it needs, as in `polyad.autograd.Function`; of an op with
        arguments by name alone it gets them as ``keyword_only_inputs``. Written in ops, backward has a gradient itself.
        Raises RuntimeError for an op that writes into its arguments.

        >>> import polyad
        >>> @polyad.library.custom_op("doc::cube", mutates_args=())
        ... def cube(x: polyad.Tensor) -> polyad.Tensor:
        ...     return polyad.from_numpy(x.numpy() ** 3)
        >>> def setup_context(ctx, inputs, output):
        ...     ctx.save_for_backward(inputs[0])
        >>> def backward(ctx, grad):
        ...     (x,) = ctx.saved_tensors
        ...     return grad * 3 * x * x
        >>> cube.register_autograd(backward, setup_context=setup_context)
        >>> x = polyad.tensor([2.0], requires_grad=True)
        >>> cube(x).backward()
        >>> x.grad
        tensor([12.])
        """
        if self.schema.written:
            raise AutogradError(
                f"{self.name}: an op that writes into its arguments ({', '.join(self.schema.written)}) has no gradient",
                fix="return new tensors, or wrap the op in a polyad.autograd.Function with mark_dirty",
            )
        self.backward, self.setup_context = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say by *fn* what results look like: it gets arguments whose numbers do not count, and returns tensors of the
        results' shapes, dtypes and devices, such as ``polyad.empty_like(x)``. It is the op's kernel on device "meta",
        and `opcheck` holds other kernels to it.
        """
        self.fake = fn
        return fn

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """Carry out batches of calls (`polyad.func.vmap`) with *func*; without, they are looped over.

        ``func(info, in_dims, *args)`` gets the batch's tensors, with the place of the batch dimension of each in
        *in_dims*, None for those without; ``info.batch_size`` is its length. It returns the result and the place of
        the batch dimension there, or tuples of them.
        """

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            self.batched = rule
            return rule

        return register if func is None else register(func)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """While it is entered, use the kernel for *device_type*, or if not *enabled* the kernel for all devices."""
        before = set(self.disabled)
        (self.disabled.discard if enabled else self.disabled.add)(device_type)
        try:
            yield
        finally:
            self.disabled = before

    # ---------------------------------------------------------------------------------------------------- a call

    def kernel_for(self, device_type: str) -> Callable[..., Any] | None:
        """What computes on devices of a type."""
        own = None if device_type in self.disabled else self.kernels.get(device_type)
        if own is None and device_type == META:
            own = self.fake
        return own or self.for_all

    def run(self, values: list[Any]) -> Any:
        """Compute, unrecorded, and check what came."""
        tensors = self._tensors(values)
        devices = {tensor.device for tensor in tensors.values()}
        if len(devices) > 1:
            raise DeviceError(
                f"{self.name}: tensors are on different devices",
                operands=tensors,
                fix="move them to one device with .to(device)",
            )
        device = devices.pop() if devices else get_default_device()
        for name in self.schema.written:
            for tensor in _tensors_of(values[self._place(name)]):
                check_writable(self.name, tensor)
        kernel = self.kernel_for(device.type)
        if kernel is None:
            result = self._on_host(values, device)
        else:
            result = self._call(kernel, values)
        for name in self.schema.written:
            for tensor in _tensors_of(values[self._place(name)]):
                wrote(self.name, tensor)
        self._check(result, tensors, kernel)
        return result

    def _place(self, name: str) -> int:
        return next(place for place, argument in enumerate(self.schema.arguments) if argument.name == name)

    def _call(self, kernel: Callable[..., Any], values: Sequence[Any]) -> Any:
        given = list(zip(self.schema.arguments, values, strict=True))
        by_name = {argument.name: value for argument, value in given if argument.keyword_only}
        return kernel(*[value for argument, value in given if not argument.keyword_only], **by_name)

    def _tensors(self, values: Sequence[Any]) -> dict[str, Tensor]:
        """The tensors among *values* by name."""
        found: dict[str, Tensor] = {}
        for argument, value in zip(self.schema.arguments, values, strict=True):
            if isinstance(value, Tensor):
                found[argument.name] = value
            elif argument.is_tensor and value is not None:
                found.update({f"{argument.name}[{n}]": tensor for n, tensor in enumerate(value) if tensor is not None})
        return found

    def _on_host(self, values: list[Any], device: Any) -> Any:
        """Compute with the host's kernel, as far as the policy for fallback allows."""
        if device.type == META:
            raise MissingKernel(
                f"{self.name}: nothing says what its results look like without data",
                fix=f"register it: polyad.library.register_fake({self.name!r}, function)",
            )
        host = self.kernel_for(fallback.HOST)
        if host is None or fallback.get_policy() == "error":
            raise MissingKernel(
                f"{self.name}: it has no kernel for {device.type}",
                notes={"kernels": ", ".join(sorted(self.kernels)) or "none"},
                fix=f"register one: polyad.library.register_kernel({self.name!r}, {device.type!r}, function)"
                + ('; polyad.backends.set_fallback("allow") or "warn" runs it on the host' if host else ""),
            )
        moved: list[Tensor] = []

        def there(value: Any, where: Any) -> Any:
            if isinstance(value, Tensor):
                moved.append(value)
                return value.to(where)
            return type(value)(there(item, where) for item in value) if isinstance(value, (list, tuple)) else value

        copies = [there(value, fallback.HOST) for value in values]
        result = there(self._call(host, copies), device)
        for name in self.schema.written:
            place = self._place(name)
            for tensor, copy in zip(_tensors_of(values[place]), _tensors_of(copies[place]), strict=True):
                moved.append(copy)
                tensor.copy_(copy)
        fallback.note(self.name, device, sum(tensor.nbytes for tensor in moved))
        return result

    def _check(self, result: Any, tensors: dict[str, Tensor], kernel: Any) -> None:
        """Raise unless *result* is what the schema says, and shares no memory with what was given."""
        schema = self.schema
        said = f"{self.name}{'' if kernel is None else place_of(kernel)}"
        if not schema.plain:
            return  # it may share memory with its arguments, or is no tensor
        if not schema.returns:
            wanted, fits = "None", result is None
        elif schema.gives_list:
            wanted = "a list of tensors"
            fits = isinstance(result, (list, tuple)) and all(isinstance(part, Tensor) for part in result)
        elif schema.several:
            wanted = f"{len(schema.returns)} tensors"
            fits = (
                isinstance(result, tuple)
                and len(result) == len(schema.returns)
                and all(isinstance(part, Tensor) for part in result)
            )
        else:
            wanted, fits = "a tensor", isinstance(result, Tensor)
        if not fits:
            raise CustomOpError(
                f"{said}: it returned {_type_words(result)}, not {wanted}",
                notes={"schema": str(schema)},
                fix="return what its annotation says",
            )
        for output in () if self.declared else _tensors_of(result):
            for name, tensor in tensors.items():
                if output is tensor or (output._storage is not None and output._storage is tensor._storage):
                    raise CustomOpError(
                        f"{said}: a result is {name}, or a view of it",
                        operands={name: tensor},
                        fix="return a clone(): an op's results are new tensors",
                    )


def _type_words(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {', '.join(type(item).__name__ for item in value) or 'nothing'}"
    return type(value).__name__


def _tensors_of(value: Any) -> list[Tensor]:
    if isinstance(value, (list, tuple)):
        return [item for item in value if isinstance(item, Tensor)]
    return [value] if isinstance(value, Tensor) else []


# ----------------------------------------------------------------------------------------------- its autograd Function


def _flatten_lists(values: Sequence[Any]) -> tuple[list[Any], tuple[int | None, ...]]:
    """*values* with lists of tensors opened, and how long each list was, None for what was no such list."""
    flat: list[Any] = []
    lengths: list[int | None] = []
    for value in values:
        opened = isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value)
        flat += value if opened else [value]
        lengths.append(len(value) if opened else None)
    return flat, tuple(lengths)


def _nested(flat: Sequence[Any], lengths: tuple[int | None, ...]) -> list[Any]:
    """The values that `_flatten_lists` opened."""
    rest = iter(flat)
    return [next(rest) if length is None else [next(rest) for _ in range(length)] for length in lengths]


def _gradients_of_operands(op: CustomOpDef, returned: Any, lengths: tuple[int | None, ...]) -> list[Any]:
    """What the backward of *op* *returned*, as one gradient (or None) for each of its flat operands."""
    parts = list(returned) if isinstance(returned, tuple) else [returned]
    positional = [argument for argument in op.schema.arguments if not argument.keyword_only]
    said = f"{op.name}: backward{place_of(op.backward)}"
    if len(parts) < len(positional) or any(part is not None for part in parts[len(positional) :]):
        raise AutogradError(
            f"{said} returned {len(parts)} gradients for {len(positional)} arguments",
            notes={"schema": str(op.schema)},
            fix="return a gradient (or None) for each positional argument",
        )
    parts = parts[: len(positional)] + [None] * (len(op.schema.arguments) - len(positional))
    flat: list[Any] = []
    for argument, part, length in zip(op.schema.arguments, parts, lengths, strict=True):
        if length is None:
            flat.append(part)
        elif part is None:
            flat += [None] * length
        elif isinstance(part, (list, tuple)) and len(part) == length:
            flat += part
        else:
            raise ShapeError(
                f"{said} returned {_type_words(part)} for {argument.name}, which had {length} tensors",
                fix=f"return a list of {length} gradients (or None)",
            )
    return flat


def _function_of(op: CustomOpDef) -> type[Function]:
    """The Function whose call is a call of *op*; its last argument is the lengths of lists."""

    def forward(*flat: Any) -> Any:
        return op.run(_nested(flat[:-1], flat[-1]))

    def setup_context(ctx: Any, flat: tuple[Any, ...], result: Any) -> None:
        ctx.lengths = flat[-1]
        if op.setup_context is not None:
            values = _nested(flat[:-1], flat[-1])
            ctx.needs_input_grad = tuple(_nested(ctx.needs_input_grad[:-1], flat[-1]))
            given = list(zip(op.schema.arguments, values, strict=True))
            inputs = tuple(value for argument, value in given if not argument.keyword_only)
            by_name = {argument.name: value for argument, value in given if argument.keyword_only}
            more = {"keyword_only_inputs": by_name} if by_name else {}
            op.setup_context(ctx=ctx, inputs=inputs, output=result, **more)

    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        if op.backward is None:
            raise AutogradError(
                f"{op.name}: it has no gradient",
                fix=f"register one: polyad.library.register_autograd({op.name!r}, backward)",
            )
        given = (list(gradients),) if op.schema.gives_list else gradients
        return (*_gradients_of_operands(op, op.backward(ctx, *given), ctx.lengths), None)

    def vmap(info: Any, in_dims: tuple[Any, ...], *flat: Any) -> Any:
        lengths = flat[-1]
        values, dims = _nested(flat[:-1], lengths), _nested(in_dims[:-1], lengths)
        if op.batched is not None:
            given = list(zip(op.schema.arguments, values, strict=True))
            by_name = {argument.name: value for argument, value in given if argument.keyword_only}
            return op.batched(
                info, tuple(dims), *[value for argument, value in given if not argument.keyword_only], **by_name
            )
        from ..transforms.batching.loops import note as note_loop

        note_loop(op.name, info.batch_size)
        samples = [
            op._function.apply(
                *[value if dim is None else value.select(dim, number) for value, dim in zip(flat, in_dims, strict=True)]
            )
            for number in range(info.batch_size)
        ]
        if isinstance(samples[0], (list, tuple)):
            stacked = [stack(parts) for parts in zip(*samples, strict=True)]
            return type(samples[0])(stacked), type(samples[0])(0 for _ in stacked)
        return stack(samples), 0

    def said() -> str:
        return f"{op.name}: backward{place_of(op.backward)}"

    methods: dict[str, Any] = {
        "forward": forward,
        "setup_context": setup_context,
        "backward": backward,
        "vmap": vmap,
        "_said": said,
    }
    function: Any = type(op.name, (Function,), {name: staticmethod(method) for name, method in methods.items()})
    function.derives_jvp = True
    function.__doc__ = op.__doc__
    return function  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- PyTorch's functions


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function an op: a decorator, or with *fn* the op itself.

    Modes see the op whole, under its name: a captured graph has one node for it, and what the function does with NumPy
    or other libraries is not lost there. It has a gradient by `CustomOpDef.register_autograd`, kernels for other
    devices by `CustomOpDef.register_kernel`, a rule for batches by `CustomOpDef.register_vmap`. `opcheck` tests it.

    Args:
        name: "namespace::name"; the op is ``polyad.ops.namespace.name`` from then on. An op that has that name
            already is replaced.
        fn: the function; its annotations are the op's schema.
        mutates_args: names of the arguments that it writes into, or "unknown" for all tensors.
        device_types: the types of the devices on which it computes, such as "cpu"; None for all.
        schema: the schema as a text, "(Tensor x, float factor) -> Tensor", in place of annotations.
        tags: has no effect.

    Raises ValueError for a name without namespace, annotations that make no schema, or a schema that cannot be read.

    >>> import polyad
    >>> @polyad.library.custom_op("doc::scale", mutates_args=())
    ... def scale(x: polyad.Tensor, factor: float) -> polyad.Tensor:
    ...     return polyad.from_numpy(x.numpy() * factor)
    >>> scale(polyad.ones(2, dtype=polyad.float64), 3.0)
    tensor([3., 3.], dtype=polyad.float64)
    >>> scale
    <custom op doc::scale(Tensor x, float factor) -> Tensor>
    """
    _check_name("custom_op", name)

    def define(function: Callable[..., Any]) -> CustomOpDef:
        said = schema_of(function, mutates_args, name) if schema is None else _schema_given(name, schema, mutates_args)
        return enter(CustomOpDef(name, said, function, device_types))

    return define if fn is None else define(fn)


def _check_name(function: str, name: Any) -> None:
    namespace, _, rest = name.partition("::") if isinstance(name, str) else ("", "", "")
    base, dot, overload = rest.partition(".")
    if not (namespace.isidentifier() and base.isidentifier() and (overload.isidentifier() or not dot)):
        raise ArgumentError(f"{function}: {safe_repr(name)} has no namespace", fix='name it like "mylib::scale"')


def _schema_given(name: str, text: str, mutates_args: Any) -> Schema:
    """The schema of *text*, in which *mutates_args* must be what it says is written into."""
    schema = parse_schema(text)
    if mutates_args != "unknown" and set(schema.written) != set(mutates_args):
        raise SchemaError(
            f"{name}: mutates_args and the schema differ in what is written into",
            notes={"schema": text, "mutates_args": safe_repr(mutates_args)},
            fix="mark in the schema what is written into, Tensor(a!) x, and name it in mutates_args",
        )
    return schema


def enter(op: CustomOpDef) -> CustomOpDef:
    """Let *op* be found by its name."""
    DEFINED[op.name] = op
    for register in TO_COME.pop(op.name, ()):
        register(op)
    show(op.name)
    return op


def op_named(op: str | CustomOpDef | OpOverload | OpOverloadPacket) -> CustomOpDef:
    """The custom op that *op* is or names. Raises ValueError if there is none."""
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, OpOverloadPacket):
        op = op._qualified_op_name
    name = op.name() if isinstance(op, OpOverload) else op
    found = DEFINED.get(name.removesuffix(".default")) if isinstance(name, str) else None
    if found is None:
        raise ArgumentError(
            f"library: there is no custom op {safe_repr(op)}",
            notes={"defined": ", ".join(DEFINED) or "none"},
            fix="define it with polyad.library.custom_op",
        )
    return found


def register_autograd(
    op: str | CustomOpDef, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """`CustomOpDef.register_autograd` of an op or its name."""
    op_named(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(
    op: str | CustomOpDef,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
) -> Callable[..., Any]:
    """`CustomOpDef.register_kernel` of an op or its name."""
    return op_named(op).register_kernel(device_types, func)


def register_fake(
    op: str | CustomOpDef,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Callable[..., Any]:
    """`CustomOpDef.register_fake` of an op or its name, also one that is not defined yet; a decorator if *func* is not
    given.
    """
    if isinstance(op, str) and op not in DEFINED:  # libraries say it before they load what defines the op

        def note(function: Callable[..., Any]) -> Callable[..., Any]:
            TO_COME.setdefault(op, []).append(lambda defined: defined.register_fake(function))
            return function

        return note if func is None else note(func)
    return op_named(op).register_fake if func is None else op_named(op).register_fake(func)


TO_COME: dict[str, list[Callable[[CustomOpDef], Any]]] = {}
"""What registers something for ops that nobody has defined yet, by their names."""


def register_vmap(
    op: str | CustomOpDef, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Callable[..., Any]:
    """`CustomOpDef.register_vmap` of an op or its name; a decorator if *func* is not given."""
    return op_named(op).register_vmap(func)
