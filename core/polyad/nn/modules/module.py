"""Module: the base of every layer and model.

Assigning a `Parameter`, a `Module` or a `Buffer` to an attribute registers it: the value is an attribute like any
other, and its name is entered in ``_roles``. Everything that walks a model (``parameters()``, ``state_dict()``,
``to()``, ``repr``) reads ``_roles``; ``_parameters``, ``_buffers`` and ``_modules`` are live views of it by role.

Invariants:

* every name in ``_roles`` is in the instance's ``__dict__``;
* ``to`` and its relatives convert all tensors before they replace the first, so a failure changes nothing;
* calling a module without hooks costs one falsy check above ``forward``, and a member one dictionary lookup.

To add a layer: a subclass in the file of its family whose ``__init__`` calls ``super().__init__()`` and assigns its
parameters, with ``forward`` and ``extra_repr``. What may be registered is in `polyad.nn.registration`, how tensors are
moved and cast in `polyad.nn.conversion`, how state is saved and loaded in `polyad.nn.state_dict`, hooks in
`polyad.nn.hooks` and `polyad.nn.hook_methods`. These stand below Module and do not import it: what each needs of a
module, it says in a Protocol.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

from ...arguments import Explained, check_type, explained_call
from ...base.device import Device
from ...base.dtypes import FLOATING, DType, bfloat16, float16, float32, float64
from ...base.kinds import State, Text
from ...base.memory_formats import MemoryFormat
from ...base.state import state, warn_user
from ...errors import ArgumentError, ArgumentTypeError, NotSupported, PolyadError, safe_repr
from ...functions import empty_like
from ...tensor import Tensor
from .. import state_dict as _state
from ..conversion import parse_to, replace_tensors
from ..hook_methods import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ..older_methods import OlderMethods
from ..parameter import Buffer, Parameter, is_lazy
from ..registration import REGISTERED, Members, ModuleAttributeError, Role, check_name, not_a

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# What libraries that load state call these here.
_EXTRA_STATE_KEY_SUFFIX = _state.EXTRA_STATE
_IncompatibleKeys = _state.IncompatibleKeys

T = TypeVar("T", bound="Module")


def require_module(op: str, module: Any) -> None:
    """Raise TypeError, in the name of *op*, unless *module* is a Module."""
    check_type(op, "module", module, Module, "a Module")


class Module(Explained, OlderMethods, _state.ExtraState):
    """Base class of layers and models: keeps parameters, buffers and submodules, and calls ``forward``.

    Assign `Parameter`, `Buffer` and `Module` objects to attributes after ``super().__init__()``; they are then found by
    `parameters`, moved by `to` and saved by `state_dict`.

    Raises:
        AttributeError: when something is assigned before ``super().__init__()`` was called, or an attribute does not
        exist.

    >>> import polyad
    >>> from polyad import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self, factor):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(polyad.tensor(factor))
    ...     def forward(self, input):
    ...         return input * self.factor
    >>> scale = Scale(2.0)
    >>> scale(polyad.tensor([1.0, 2.0])).tolist()
    [2.0, 4.0]
    >>> [name for name, _ in scale.named_parameters()]
    ['factor']
    """

    training: bool
    _roles: dict[str, Role]
    _non_persistent_buffers_set: set[str]
    _unexplained = ("__call__", "forward", "initialize_parameters")  # hot: __call__ does it for both
    _version: int = 1
    """Version of the layout of this class's state, saved with it so that a later class can read an older layout."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            raise ArgumentTypeError(
                f"{type(self).__name__}: Module.__init__() takes no arguments",
                notes={"given": ", ".join([*map(safe_repr, args), *kwargs])},
                fix="keep them in your __init__; call_super_init = True passes them to the next class",
            )
        # Written past __setattr__, which needs them.
        self.__dict__.update(training=True, _roles={}, _non_persistent_buffers_set=set())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ------------------------------------------------------------------------------------------------------- calling

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's result; a subclass must define it. Call the module itself, so that hooks run."""
        raise NotSupported(
            f"{type(self).__name__}: the module has no forward function",
            fix=f"define forward(self, ...) in {type(self).__name__}",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if state.watchers:
                return state.watchers[-1].call_module(self, args, kwargs)
            if self._call_hooks:
                return self._call_hooks.run(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            problem = self._explained(args, kwargs, error)
            if isinstance(problem, PolyadError):
                self._locate(problem)
            if problem is error:
                raise
            raise problem from error

    def _explained(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
        """The error to raise for *error*, which left `forward`."""
        if isinstance(error, PolyadError) or (isinstance(error, AttributeError) and isinstance(error.obj, Module)):
            return error  # a member that the user took away is missing, as Python says it
        return explained_call(type(self).__name__, self.forward, args, kwargs, error)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._call_hooks:
            return self._call_hooks.run(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def _locate(self, error: PolyadError) -> None:
        """Add this module's view of where *error* came from: the name of the submodule out of which it passed last."""
        passed: weakref.ref[Module] | None = error.__dict__.get("_passed_out_of")
        if passed is None:
            try:
                description = self._describe()
            except Exception:
                description = type(self).__name__  # what is wrong with the settings is said by the error itself
            error.add_module("", description)
        else:
            inner = passed()
            if inner is self:
                return
            for name, module in self.named_modules():
                if module is inner:
                    error.add_module(name, error.module_description)
                    break
        error.__dict__["_passed_out_of"] = weakref.ref(self)

    # -------------------------------------------------------------------------------------------------- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register *param* under *name*; None keeps the name without a parameter, as ``bias=False`` does.

        Raises:
            TypeError: *param* is no `Parameter`.
            KeyError: the name is empty, has a dot or is taken.
            AttributeError: ``Module.__init__`` was not called yet.
        """
        check_name(self, "parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise not_a("register_parameter", name, "a Parameter or None", param, "wrap it: nn.Parameter(tensor)")
        self._put("parameter", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state but is not trained, such as a running mean.

        Args:
            name: the attribute's name.
            tensor: the buffer; None keeps the name without a buffer, and it is then not saved.
            persistent: whether `state_dict` saves it.

        Raises:
            TypeError: *tensor* is no tensor.
            KeyError: the name is empty, has a dot or is taken.
            AttributeError: ``Module.__init__`` was not called yet.
        """
        check_name(self, "buffer", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise not_a("register_buffer", name, "a Tensor or None", tensor, "make it one: polyad.tensor(...)")
        self._put("buffer", name, tensor, persistent)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule under *name*; the same as assigning it to the attribute.

        Raises:
            TypeError: *module* is no `Module`.
            KeyError: the name is empty, has a dot or is taken.
            AttributeError: ``Module.__init__`` was not called yet.
        """
        check_name(self, "module", name)
        if module is not None and not isinstance(module, Module):
            raise not_a("register_module", name, "a Module or None", module, "pass an instance of a Module")
        self._put("module", name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    @property
    def _parameters(self) -> Members[Parameter]:
        return Members(self, "parameter")

    @property
    def _buffers(self) -> Members[Tensor]:
        return Members(self, "buffer")

    @property
    def _modules(self) -> Members[Module]:
        return Members(self, "module")

    def _put(self, role: Role, name: str, value: Any, persistent: bool = True) -> None:
        """Make *value* the member *name*, which stays in its place if it has that role already."""
        for hook in tuple(REGISTERED[role].values()) if value is not None or role != "parameter" else ():
            new = hook(self, name, value)
            value = value if new is None else new
        if self._roles.get(name) != role:
            self._roles.pop(name, None)
            self._roles[name] = role
        self.__dict__[name] = value
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            check_name(self, "parameter", name, replace=True)
            self._assign("parameter", name, value)
        elif isinstance(value, Module):
            self._check_role("module", name, value)
            check_name(self, "module", name, replace=True)
            self._put("module", name, value)
        elif isinstance(value, Buffer):
            self._check_role("buffer", name, value)
            check_name(self, "buffer", name, replace=True)
            self._assign("buffer", name, value, value.persistent)
        else:
            role = self.__dict__.get("_roles", {}).get(name)
            if role is None:
                object.__setattr__(self, name, value)
                return
            if value is not None and not (role == "buffer" and isinstance(value, Tensor)):
                raise self._not_a(role, name, value)
            self._put(role, name, value, name not in self._non_persistent_buffers_set)

    def _assign(self, role: Role, name: str, value: Any, *persistent: bool) -> None:
        """Make *value* the member *name* by the method that registers it, where a subclass or a program has its own."""
        register = f"register_{role}"
        if getattr(type(self), register) is _REGISTER[role]:
            self._put(role, name, value, *persistent)
            return
        if self._roles.get(name) != role:
            self._roles.pop(name, None)
            self.__dict__.pop(name, None)
        getattr(self, register)(name, value, *persistent)

    def _check_role(self, role: Role, name: str, value: Any) -> None:
        """Raise if *name* is a parameter, whose place no other member takes, or a module and *value* a buffer."""
        own = self.__dict__.get("_roles", {}).get(name)
        if own == "parameter" or (own == "module" and role == "buffer"):
            raise self._not_a(own, name, value)

    def _not_a(self, role: Role, name: str, value: Any) -> ArgumentTypeError:
        wanted = {"parameter": "a Parameter", "buffer": "a Tensor", "module": "a Module"}[role]
        fix = "wrap it: nn.Parameter(tensor)" if isinstance(value, Tensor) else f"del {name} to reuse its name"
        return not_a(self._get_name(), name, f"{wanted} or None", value, fix)

    def __getattr__(self, name: str) -> Any:
        # Called when the usual lookup has failed, and by subclasses and programs that ask for a member by this method.
        if name in self.__dict__.get("_roles", ()):
            return self.__dict__[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._roles.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __dir__(self) -> list[str]:
        return sorted(name for name in object.__dir__(self) if not name[0].isdigit())

    # ----------------------------------------------------------------------------------------------------- traversal

    def get_submodule(self, target: str) -> Module:
        """The submodule at the dotted path *target*; the empty path is the module itself.

        Raises:
            AttributeError: a level of the path does not exist or is not a module.
        """
        module = self
        for name in target.split(".") if target else ():
            found = module._modules.get(name)
            if found is None:
                what = "is not a Module" if hasattr(module, name) else "does not exist"
                raise ModuleAttributeError(
                    f"get_submodule: {safe_repr(name)} in {safe_repr(target)} {what}",
                    notes={"has": ", ".join(module._modules) or "no submodules"},
                    fix="see named_modules()",
                )
            module = found
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put *module* at the dotted path *target*, replacing what is there; with *strict*, only where something is.

        Raises:
            ValueError: *target* is empty, or *module* is no module.
            AttributeError: the path to it does not exist, or with *strict* its last level.
        """
        if not target or not isinstance(module, Module):
            raise ArgumentError(
                "set_submodule: target must name a submodule and module must be a Module",
                operands={"target": target, "module": module},
                fix='write model.set_submodule("block.0", module)',
            )
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise ModuleAttributeError(
                f"set_submodule: {safe_repr(target)} exists and is not a Module", fix="choose another name"
            )
        if strict and not hasattr(parent, name):
            raise ModuleAttributeError(
                f"set_submodule: {safe_repr(target)} does not exist", fix="pass strict=False to add it"
            )
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path *target*. Raises AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        parameter = self.get_submodule(path)._parameters.get(name)
        if parameter is None:
            raise ModuleAttributeError(
                f"get_parameter: {safe_repr(target)} is not a parameter of {type(self).__name__}",
                fix="see named_parameters()",
            )
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path *target*. Raises AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        buffer = self.get_submodule(path)._buffers.get(name)
        if buffer is None:
            raise ModuleAttributeError(
                f"get_buffer: {safe_repr(target)} is not a buffer of {type(self).__name__}", fix="see named_buffers()"
            )
        return buffer

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Every module in the tree with its dotted path, this one first; each once if *remove_duplicate*."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._members("module"):
            path = f"{prefix}.{name}" if prefix else name
            yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Every module in the tree, this one first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, each once."""
        seen: set[Module] = set()
        for name, module in self._members("module"):
            if module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def _members(self, role: Role) -> list[tuple[str, Any]]:
        """Names and values of this module's own members in a role, without those that are None."""
        values = self.__dict__
        return [(name, values[name]) for name, own in self._roles.items() if own == role and values[name] is not None]

    def _named_members(
        self, role: Role, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        seen: set[int] = set()
        for path, module in modules:
            for name, value in module._members(role):
                if id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted paths; with *recurse*, those of all submodules too.

        >>> from polyad import nn
        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 3)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members("parameter", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once: what an optimizer is given."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted paths; with *recurse*, those of all submodules too."""
        return self._named_members("buffer", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Call *fn* on every submodule and then on the module itself, as an initialisation does. Returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---------------------------------------------------------------------------------------------------------- mode

    def train(self: T, mode: bool = True) -> T:
        """Put the module and all submodules into training mode, or with False into evaluation mode. Returns self."""
        check_type("train", "mode", mode, bool, "True or False", ArgumentError)
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: T) -> T:
        """Put the module into evaluation mode: no dropout, and batch normalisation by running values. Returns self."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Set whether the parameters collect gradients, for example to freeze a part of a model. Returns self."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or with ``set_to_none=False`` fill them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else parameter.grad.detach().zero_()

    # ---------------------------------------------------------------------------------------------------- conversion

    def share_memory(self: T) -> T:
        """Move parameters and buffers to memory that processes share; see `polyad.Tensor.share_memory_`.

        >>> from polyad import nn
        >>> nn.Linear(2, 3).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda tensor: tensor.share_memory_())

    def _apply(self: T, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> T:
        """Replace the data of every parameter, gradient and buffer by ``fn`` of it, all of them or none."""
        replace_tensors(self, fn, recurse)
        return self

    @overload
    def to(
        self: T,
        device: Device | str | int | None = ...,
        dtype: DType | None = ...,
        non_blocking: bool = ...,
        *,
        memory_format: MemoryFormat | None = ...,
    ) -> T: ...
    @overload
    def to(self: T, dtype: DType, non_blocking: bool = ...) -> T: ...
    @overload
    def to(self: T, tensor: Tensor, non_blocking: bool = ...) -> T: ...
    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move and cast the module in place: ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` or ``to(tensor)``.

        The dtype applies to floating point and complex tensors only; *memory_format* lays out 4-d and 5-d tensors, such
        as weights of convolutions. Either everything is converted or, if a conversion fails, nothing is. The
        `Parameter` objects stay the same, so an optimizer that holds them keeps working.

        Raises:
            TypeError: the dtype is not floating point or complex, or an argument is of the wrong type.

        >>> import polyad
        >>> from polyad import nn
        >>> nn.Linear(2, 2).to(polyad.float64).weight.dtype
        polyad.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)

        def convert(tensor: Tensor) -> Tensor:
            kept = dtype if tensor.dtype.category >= FLOATING else None
            if memory_format is not None and not is_lazy(tensor) and tensor.ndim in (4, 5):
                return tensor.to(device, kept, non_blocking, memory_format=memory_format)
            return tensor.to(device, kept, non_blocking)

        return self._apply(convert)

    def to_empty(self: T, *, device: Device | str | int | None, recurse: bool = True) -> T:
        """Move the module to *device* without what its parameters and buffers hold: their memory there is not set.

        That is how a module that was made on device "meta" gets memory. The tensors of submodules follow unless
        *recurse* is False. Returns self.

        >>> from polyad import nn
        >>> layer = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
        >>> _ = nn.init.zeros_(layer.weight)
        >>> layer.weight.device
        device(type='cpu')
        """
        return self._apply(
            lambda tensor: empty_like(tensor.data if is_lazy(tensor) else tensor, device=device), recurse
        )

    def _cast(self: T, dtype: DType) -> T:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.dtype.is_floating_point else tensor)

    def float(self: T) -> T:
        """Cast floating point parameters and buffers to float32. Returns self."""
        return self._cast(float32)

    def double(self: T) -> T:
        """Cast floating point parameters and buffers to float64. Returns self."""
        return self._cast(float64)

    def half(self: T) -> T:
        """Cast floating point parameters and buffers to float16. Returns self."""
        return self._cast(float16)

    def bfloat16(self: T) -> T:
        """Cast floating point parameters and buffers to bfloat16. Returns self."""
        return self._cast(bfloat16)

    def type(self: T, dst_type: Any) -> T:
        """Cast all parameters and buffers to *dst_type*: a dtype, or a tensor type or its name. Returns self."""
        check_type(f"{type(self).__name__}.type", "dst_type", dst_type, (DType, str, type), "a dtype or a tensor type")
        return self._apply(lambda tensor: tensor.type(dst_type))

    def cpu(self: T) -> T:
        """Move the module to the cpu. Returns self."""
        return self.to("cpu")

    def cuda(self: T, device: Device | str | int | None = None) -> T:
        """Move the module to a cuda device: the current one, or that given by number or name. Returns self."""
        if device is None or isinstance(device, int):
            return self.to("cuda" if device is None else f"cuda:{device}")
        return self.to(device)

    # --------------------------------------------------------------------------------------------------------- state

    def state_dict(
        self,
        *args: Any,
        destination: OrderedDict[str, Any] | None = None,
        prefix: Text = "",
        keep_vars: bool = False,
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by dotted path, in order of registration.

        Args:
            destination: where to put them; a new OrderedDict by default.
            prefix: put before every key.
            keep_vars: give the parameters themselves instead of detached tensors. Either way the memory is shared.

        >>> from polyad import nn
        >>> list(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict())[:3]
        ['0.weight', '0.bias', '1.weight']
        """
        if args:
            warn_user("state_dict: positional arguments are deprecated; name them", FutureWarning)
            named = {"destination": destination, "prefix": prefix, "keep_vars": keep_vars}
            return self.state_dict(**{**named, **dict(zip(named, args))})
        return _state.save(self, destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: State, strict: bool = True, assign: bool = False) -> _state.IncompatibleKeys:
        """Copy values by dotted path into the parameters and buffers. All of them fit, or nothing is changed.

        Args:
            state_dict: what `state_dict` gave.
            strict: whether missing and unexpected keys are errors; wrong shapes always are.
            assign: make the given tensors the module's own instead of copying their values.

        Returns:
            The missing and the unexpected keys.

        Raises:
            RuntimeError: the state does not fit. The message lists everything that is wrong with it.
            TypeError: *state_dict* is no mapping.
        """
        return _state.load(self, state_dict, strict, assign)

    def _save_to_state_dict(self, destination: OrderedDict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Put this module's own members, not those of its submodules, into *destination*."""
        _state.save_members(self, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Check this module's own members against *state_dict* and note what is to be written once all is checked.

        A subclass whose layout has changed edits *state_dict* (it is a copy) and calls this.
        """
        _state.check_members(
            self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    # ------------------------------------------------------------------------------------------------- representation

    def extra_repr(self) -> str:
        """What stands between the parentheses of the representation; a layer shows its settings."""
        return ""

    def _get_name(self) -> str:
        return self.__class__.__name__

    def _describe(self) -> str:
        """The few words by which an error message recognises this module, such as ``Linear 784 -> 10``."""
        settings = self.extra_repr()
        return f"{self._get_name()}({settings})" if settings and "\n" not in settings else self._get_name()

    def __repr__(self) -> str:
        settings = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        if not children and len(settings) <= 1:
            return f"{self._get_name()}({''.join(settings)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(settings + children) + "\n)"


def indent(text: str, spaces: int = 2) -> str:
    """Indent all lines of a representation but the first, which continues a line."""
    return text.replace("\n", "\n" + " " * spaces)


_REGISTER = {"parameter": Module.register_parameter, "buffer": Module.register_buffer}
