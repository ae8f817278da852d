"""Parameters computed from others: `register_parametrization` puts a module between what is stored and what is used.

A module with a parametrized tensor is of a class derived from its own that has a property of the tensor's name. What is
stored is in ``module.parametrizations.<name>``: as ``original``, or as ``original0``, ``original1``, ... where a
parametrization computes the tensor from several. So state keys are PyTorch's.

Invariant: a parametrization that does not fit is refused before the module is changed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...arguments import check_length, explain
from ...errors import ArgumentError, OptionError, safe_repr
from ...history.grad_mode import no_grad
from ...tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_depth = 0
_memoized: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within it, each parametrized tensor is computed once, when it is first used.

    >>> from polyad.nn.utils import parametrize
    >>> with parametrize.cached():
    ...     pass
    """
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _memoized.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The parametrizations of a tensor, first to last, with what is stored for it.

    Attributes:
        is_tensor: whether a single tensor is stored, ``original``, rather than several.
        unsafe: whether dtype and shape may differ from what was stored before.
    """

    is_tensor: bool
    ntensors: int
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ArgumentError("ParametrizationList: needs at least one module", fix="pass the parametrization")
        super().__init__(modules)
        self.unsafe = unsafe
        stored: Any = original
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    stored = module.right_inverse(stored)
                except NotImplementedError:
                    continue  # it says that it has none
        self.is_tensor = isinstance(stored, Tensor)
        if not self.is_tensor and not (isinstance(stored, Sequence) and all(isinstance(one, Tensor) for one in stored)):
            raise ArgumentError(
                "register_parametrization: right_inverse must give a tensor or several",
                operands={"returned": stored},
                fix="return what forward is to be called with",
            )
        self.ntensors = 1 if self.is_tensor else len(stored)
        if self.is_tensor:
            if original.dtype != stored.dtype:
                raise ArgumentError(
                    "register_parametrization: right_inverse must keep the dtype, unless there are several tensors",
                    operands={"original": original, "returned": stored},
                    fix="cast its result",
                )
            before = original.data
            with no_grad():
                original.data = stored  # so that an optimizer that holds the parameter keeps it
            _register(self, "original", original)
        else:
            for number, one in enumerate(stored):
                kept = Parameter(one.detach()) if isinstance(original, Parameter) else one
                _register(self, f"original{number}", kept.requires_grad_(original.requires_grad))
        if not unsafe:
            try:
                _check_like(original if not self.is_tensor else before, self(), "forward", type(self[0]).__name__)
            except Exception:
                if self.is_tensor:
                    original.data = before
                raise

    @property
    def _originals(self) -> list[Any]:
        names = ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        result: Any = self[0](*self._originals)
        for module in list(self)[1:]:
            result = module(result)
        return result  # type: ignore[no-any-return]

    def right_inverse(self, value: Tensor) -> None:
        """Store what gives *value*, by each module's ``right_inverse``. Assigning the tensor calls it."""
        with no_grad():
            stored: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise OptionError(
                        f"{type(module).__name__}: it has no right_inverse, so that the tensor cannot be assigned",
                        fix="define right_inverse, or assign to parametrizations.<name>.original",
                    )
                stored = module.right_inverse(stored)
            values = [stored] if isinstance(stored, Tensor) else list(stored)
            check_length("right_inverse", "what it gave", values, self.ntensors, "tensors, as at registration")
            for original, new in zip(self._originals, values):
                if original.dtype != new.dtype:
                    raise ArgumentError(
                        "right_inverse: must keep the dtype", operands={"original": original, "new": new}, fix="cast it"
                    )
            for original, new in zip(self._originals, values):
                original.data = new.to(original.device)


def _check_like(before: Tensor, after: Any, method: str, name: str) -> None:
    if not isinstance(after, Tensor):
        raise ArgumentError(
            f"register_parametrization: {name}.{method} must give a tensor, not {type(after).__name__}",
            fix="return a tensor",
        )
    if after.dtype != before.dtype or after.shape != before.shape:
        raise ArgumentError(
            f"register_parametrization: {name}.{method} must keep dtype and shape",
            operands={"before": before, "after": after},
            fix="pass unsafe=True if that is meant",
        )


_classes: dict[tuple[Any, tuple[str, ...]], type[Module]] = {}


def _parametrized_class(base: type[Module], names: tuple[str, ...]) -> type[Module]:
    """A class like *base* with properties *names* that compute parametrized tensors."""
    found = _classes.get((base, names))
    if found is None:
        found = _classes[base, names] = _with_properties(base, names)
    return found


def _with_properties(base: type[Module], names: tuple[str, ...]) -> type[Module]:

    def as_property(name: str) -> property:
        def get(self: Any) -> Tensor:
            if not _depth:
                return self.parametrizations[name]()  # type: ignore[no-any-return]
            key = (id(self), name)
            if key not in _memoized:
                _memoized[key] = self.parametrizations[name]()
            return _memoized[key]

        def put(self: Any, value: Tensor) -> None:
            self.parametrizations[name].right_inverse(value)

        return property(get, put)

    def reduce(self: Any, protocol: Any) -> Any:
        return _make_empty, (base, names), self.__dict__

    members: dict[str, Any] = {name: as_property(name) for name in names}
    members |= {"_base": base, "_names": names, "__reduce_ex__": reduce, "__module__": base.__module__}
    return type(f"Parametrized{base.__name__}", (base,), members)


def _make_empty(base: type[Module], names: tuple[str, ...]) -> Module:
    made: Module = object.__new__(_parametrized_class(base, names))
    return made


def type_before_parametrizations(module: Module) -> type[Module]:
    """The class that *module* had before it was parametrized.

    >>> from polyad import nn
    >>> from polyad.nn.utils import parametrize, parametrizations
    >>> parametrize.type_before_parametrizations(parametrizations.weight_norm(nn.Linear(2, 3))).__name__
    'Linear'
    """
    found: type[Module] = getattr(type(module), "_base", type(module)) if is_parametrized(module) else type(module)
    return found


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether *module* has a parametrized tensor, or that of the name *tensor_name*.

    >>> from polyad import nn
    >>> nn.utils.parametrize.is_parametrized(nn.Linear(2, 3))
    False
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let ``module.<tensor_name>`` be ``parametrization(stored)`` from now on. Returns *module*.

    Args:
        module: what has the tensor, a parameter or buffer.
        tensor_name: its name; it may be parametrized already, and is then passed on to *parametrization*.
        parametrization: a module of a tensor. If it has ``right_inverse``, that gives what to store, so that the tensor
            keeps its value if it can; it may be several tensors, which ``forward`` then takes.
        unsafe: do not check that dtype and shape stay, nor call the parametrization for that.

    Raises:
        ValueError: there is no such tensor, or dtype or shape would change. The module is then as it was.

    >>> import polyad
    >>> from polyad import nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> polyad.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        found: Any = module.parametrizations[tensor_name]
        if not unsafe:
            _check_in_chain(getattr(module, tensor_name), parametrization)
        found.append(parametrization)
        found.unsafe = found.unsafe or unsafe
        return module
    original: Tensor | None = module._parameters.get(tensor_name)
    if original is None:
        original = module._buffers.get(tensor_name)
    if original is None:
        raise ArgumentError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer {safe_repr(tensor_name)}",
            notes={"has": ", ".join((*module._parameters, *module._buffers)) or "none"},
            fix="name one of its own tensors",
        )
    chain = ParametrizationList([parametrization], original, unsafe)
    base, names = type_before_parametrizations(module), getattr(type(module), "_names", ())
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
        names = ()
    module.parametrizations[tensor_name] = chain
    module.__class__ = _parametrized_class(base, (*names, tensor_name))
    return module


def _check_in_chain(before: Tensor, parametrization: Any) -> None:
    name = type(parametrization).__name__
    after = parametrization(before)
    _check_like(before, after, "forward", name)
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(after)
        except NotImplementedError:
            return
        _check_like(before, back, "right_inverse", name)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make ``module.<tensor_name>`` an ordinary parameter or buffer again. Returns *module*.

    With *leave_parametrized* it keeps its value, else it has the value that was stored.

    Raises:
        ValueError: it is not parametrized, or *leave_parametrized* is False and several tensors are stored.

    >>> from polyad import nn
    >>> from polyad.nn.utils import parametrize, parametrizations
    >>> parametrize.remove_parametrizations(parametrizations.weight_norm(nn.Linear(2, 3)), "weight")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(
            f"remove_parametrizations: {safe_repr(tensor_name)} of {type(module).__name__} is not parametrized",
            fix="see module.parametrizations",
        )
    chain: Any = module.parametrizations[tensor_name]
    if not chain.is_tensor and not leave_parametrized:
        raise ArgumentError(
            f"remove_parametrizations: {chain.ntensors} tensors are stored, none of which is the tensor",
            fix="pass leave_parametrized=True",
        )
    original: Any
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    else:
        with no_grad():
            value = getattr(module, tensor_name).detach()
        trained = any(one.requires_grad for one in chain._originals)
        original = Parameter(value) if trained or isinstance(chain.original0, Parameter) else value
        original.requires_grad_(trained)
    _memoized.pop((id(module), tensor_name), None)
    base = type_before_parametrizations(module)
    names = tuple(name for name in type(module)._names if name != tensor_name)  # type: ignore[attr-defined]
    del module.parametrizations[tensor_name]
    if names:
        module.__class__ = _parametrized_class(base, names)
    else:
        del module.parametrizations
        module.__class__ = base
    _register(module, tensor_name, original)
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give *to_module* the parametrizations of *from_module*, all or those of *tensor_name*, with what is stored for
    them. Returns *to_module*.

    >>> from polyad import nn
    >>> from polyad.nn.utils import parametrize, parametrizations
    >>> layer = parametrizations.weight_norm(nn.Linear(2, 3))
    >>> parametrize.is_parametrized(parametrize.transfer_parametrizations_and_params(layer, nn.Linear(2, 3)), "weight")
    True
    """
    if not is_parametrized(from_module):
        return to_module
    sources: Any = from_module.parametrizations
    for name in [tensor_name] if tensor_name is not None else list(sources):
        chain = sources[name]
        if not hasattr(to_module, name):
            _register(to_module, name, copy.deepcopy(chain._originals[0]))
        for parametrization in chain:
            register_parametrization(to_module, name, parametrization, unsafe=chain.unsafe)
        target: Any = to_module.parametrizations[name]
        for number, original in enumerate(chain._originals):
            stored = "original" if chain.is_tensor else f"original{number}"
            setattr(target, stored, original)
    return to_module


explain(globals())
