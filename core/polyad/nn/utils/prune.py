"""Pruning: elements or channels of a parameter set to zero by a mask, chosen by size, at random or by hand.

The parameter ``weight`` becomes ``weight_orig``, the mask is the buffer ``weight_mask``, and ``weight`` their product,
computed before each call of the module. Pruning again works on what is left. `remove` makes it a parameter again.

Invariant: a mask that cannot be computed leaves the module as it was.

To add a method: derive from `BasePruningMethod` with ``PRUNING_TYPE`` ("unstructured", "structured" with an attribute
``dim``, or "global") and ``compute_mask``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

from ... import linalg
from ...arguments import check_dims, check_shape, check_type, check_within, explain
from ...errors import ArgumentError, ArgumentTypeError, IndexOutOfRange, safe_repr
from ...functions import ones_like, rand, rand_like, topk, zeros_like
from ...tensor import Tensor
from ..modules.module import Module
from .convert_parameters import parameters_to_vector
from .recomputed import Recomputed, hooks_of, parameter_of, take_out

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

M = TypeVar("M", bound=Module)


class BasePruningMethod(Recomputed):
    """Base of the ways to prune: computes a mask, applies it, and is the hook that does so before each call."""

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    @property
    def tensor_name(self) -> str:  # type: ignore[override]
        """The name of the parameter that is pruned."""
        return self._tensor_name

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask like *t*, the tensor or how important its elements are: 0 where *default_mask* is 0, and at more."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor."""
        mask: Tensor = getattr(module, self._tensor_name + "_mask")
        original: Tensor = getattr(module, self._tensor_name + "_orig")
        return mask.to(original.dtype) * original

    def compute(self, module: Module) -> Tensor:
        """The pruned tensor."""
        return self.apply_mask(module)

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune the parameter *name* of *module* by a method made of the other arguments, and return the method, or the
        `PruningContainer` of all that were applied to the parameter.

        *importance_scores* are compared instead of the parameter's elements.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = hooks_of(module, _ANY, name)
        original = getattr(module, name + "_orig") if before else parameter_of(cls.__name__, module, name)
        scores = getattr(module, name) if importance_scores is None else importance_scores
        check_shape(cls.__name__, "importance_scores", scores, original.shape)
        applied: BasePruningMethod = method
        if before:
            earlier = before[0][1]
            applied = PruningContainer(*(earlier if isinstance(earlier, PruningContainer) else (earlier,)), method)
            mask = applied.compute_mask(scores, getattr(module, name + "_mask").clone())
            take_out(module, before[0][0])
        else:
            mask = method.compute_mask(scores, ones_like(original, requires_grad=False))
            delattr(module, name)
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask.detach())
        applied(module, ())
        module.register_forward_pre_hook(applied)
        return applied

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """*t* times the mask for it, without a module."""
        scores = t if importance_scores is None else importance_scores
        check_shape("prune", "importance_scores", scores, t.shape)
        mask = ones_like(t, requires_grad=False) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor a parameter again; the hook stays, see the function `remove`."""
        name = self._tensor_name
        pruned = self.apply_mask(module).detach()
        original = module._parameters[name + "_orig"]
        for one in (name, name + "_orig", name + "_mask"):
            if hasattr(module, one):
                delattr(module, one)
        original.data = pruned
        module.register_parameter(name, original)


_ANY: Any = BasePruningMethod  # the abstract class itself, which no annotation of a class takes


class PruningContainer(BasePruningMethod):
    """Several methods applied to a parameter, one after the other."""

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method. Raises TypeError for what is none, ValueError for one of another parameter."""
        check_type("PruningContainer", "method", method, BasePruningMethod, "a BasePruningMethod")
        if self._tensor_name != method._tensor_name:
            raise ArgumentError(
                f"PruningContainer: it is for the parameter {safe_repr(self._tensor_name)}, the method for "
                f"{safe_repr(method._tensor_name)}",
                fix="make a container for each parameter",
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, applied to what the others have left."""
        method: Any = self._pruning_methods[-1]
        kept: Any
        if method.PRUNING_TYPE == "unstructured":
            kept = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim + t.ndim if method.dim < 0 else method.dim
            others = [axis for axis in range(t.ndim) if axis != dim]
            kept = (*(slice(None),) * dim, default_mask.sum(others) != 0)
        elif method.PRUNING_TYPE == "global":
            kept = (slice(None),) * t.ndim
        else:
            raise ArgumentError(
                f"prune: unknown PRUNING_TYPE {safe_repr(method.PRUNING_TYPE)}",
                fix='set it to "unstructured", "structured" or "global"',
            )
        mask = default_mask.to(t.dtype).clone()
        mask[kept] = method.compute_mask(t[kept], default_mask=default_mask[kept]).to(t.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the parameter one with a mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        """Add a mask of ones to the parameter *name* of *module*."""
        return super().apply(module, name)


class _OfAmount(BasePruningMethod):
    """What the methods that prune an amount have in common: a number of elements or channels, or their part."""

    amount: Any

    def __init__(self, amount: Any) -> None:
        self.amount = amount
        check_type(type(self).__name__, "amount", amount, Real, "an int or a float")
        if self.amount < 0 or (not isinstance(amount, Integral) and self.amount > 1):
            raise ArgumentError(
                f"{type(self).__name__}: amount must be a part between 0 and 1, or a number of 0 or more",
                operands={"amount": amount},
                fix="pass a number of elements, or a part between 0 and 1",
            )

    def _count(self, of: int) -> int:
        count = int(self.amount) if isinstance(self.amount, Integral) else round(self.amount * of)
        if count > of:
            raise ArgumentError(
                f"{type(self).__name__}: amount must be at most what there is to prune, {of}",
                operands={"amount": self.amount},
                fix="prune less",
            )
        return count


class _Unstructured(_OfAmount):
    PRUNING_TYPE = "unstructured"

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the elements that score least."""
        count = self._count(t.numel())
        if not count:
            return default_mask.clone()
        least = topk(self._scores(t.detach()).reshape(-1), count, largest=False).indices
        flat = default_mask.reshape(-1).clone()
        flat[least] = 0
        return flat.view(default_mask.shape)


class RandomUnstructured(_Unstructured):
    """Prunes elements at random.

    Args:
        amount: how many, or which part of them, between 0 and 1.

    Raises:
        TypeError: *amount* is no number.
        ValueError: it is negative, or more than there is.
    """

    def _scores(self, t: Tensor) -> Tensor:
        return rand_like(t)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> BasePruningMethod:  # type: ignore[override]
        """Prune the parameter *name* of *module*."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest magnitudes. Arguments and errors as in `RandomUnstructured`."""

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        """Prune the parameter *name* of *module*."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_OfAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the channels that score least."""
        name = type(self).__name__
        check_dims(name, "t", t, range(2, 65), "use an unstructured method: it has no channels")
        check_within(name, "dim", self.dim, -t.ndim, t.ndim, IndexOutOfRange, "a dimension")
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        keep = topk(self._scores(t.detach()), t.shape[self.dim] - count).indices
        return zeros_like(default_mask).index_fill(self.dim, keep, 1) * default_mask


class RandomStructured(_Structured):
    """Prunes channels, the indices of dimension *dim*, at random.

    Args:
        amount: how many, or which part of them, between 0 and 1.
        dim: the dimension of the channels.

    Raises:
        TypeError: *amount* is no number.
        ValueError: it is negative, or more than there is; the tensor has fewer than two dimensions.
        IndexError: the tensor has no dimension *dim*.
    """

    def _scores(self, t: Tensor) -> Tensor:
        return rand(t.shape[self.dim], device=t.device)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]
        """Prune the parameter *name* of *module*."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the channels with the smallest n-norms. Arguments and errors as in `RandomStructured`.

    Args:
        amount: how many, or which part of them.
        n: the norm's exponent, or ``"fro"``.
        dim: the dimension of the channels.
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor) -> Tensor:
        others = [axis for axis in range(t.ndim) if axis != self.dim % t.ndim]
        norms: Tensor = linalg.vector_norm(t, 2 if self.n == "fro" else float(self.n), others)
        return norms

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        """Prune the parameter *name* of *module*."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask times the given one. Raises RuntimeError if their shapes differ."""
        check_shape("CustomFromMask", "mask", self.mask, default_mask.shape)
        return default_mask * self.mask.to(default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        """Prune the parameter *name* of *module*."""
        return super().apply(module, name, mask=mask)


def identity(module: M, name: str) -> M:
    """Give the parameter *name* a mask of ones. Returns *module*.

    >>> from polyad import nn
    >>> list(nn.utils.prune.identity(nn.Linear(2, 3), "bias").state_dict())
    ['weight', 'bias_orig', 'bias_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: float) -> M:
    """Prune *amount* elements (a number, or a part) of the parameter *name* at random. Returns *module*.

    >>> from polyad import nn
    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(2, 3), "weight", amount=2)
    >>> (layer.weight == 0).sum().item()
    2
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: float, importance_scores: Tensor | None = None) -> M:
    """Prune the *amount* elements (a number, or a part) of the parameter *name* with the smallest magnitudes, or
    scores. Returns *module*.

    >>> from polyad import nn
    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(2, 3), "weight", amount=0.5)
    >>> layer.weight_mask.sum().item()
    3.0
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: float, dim: int) -> M:
    """Prune *amount* channels (a number, or a part) of the parameter *name* at random. Returns *module*.

    >>> from polyad import nn
    >>> layer = nn.utils.prune.random_structured(nn.Linear(2, 3), "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum().item()
    4.0
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: M, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None) -> M:
    """Prune the *amount* channels (a number, or a part) of the parameter *name* with the smallest n-norms. Returns
    *module*.

    >>> from polyad import nn
    >>> layer = nn.utils.prune.ln_structured(nn.Linear(2, 3), "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask.sum().item()
    4.0
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune the parameter *name* where *mask* is 0. Returns *module*.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.utils.prune.custom_from_mask(nn.Linear(5, 3), "bias", polyad.tensor([0, 1, 0]))
    >>> (layer.bias == 0).tolist()
    [True, False, True]
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were a single one.

    Args:
        parameters: pairs of a module and a parameter's name.
        pruning_method: an unstructured method, such as `L1Unstructured`.
        importance_scores: a dict from such pairs to what is compared instead of the parameter.
        kwargs: what the method is made with.

    Raises TypeError for other arguments.

    >>> from polyad import nn
    >>> a, b = nn.Linear(2, 3), nn.Linear(3, 2)
    >>> nn.utils.prune.global_unstructured([(a, "weight"), (b, "weight")], nn.utils.prune.L1Unstructured, amount=5)
    >>> (a.weight_mask.sum() + b.weight_mask.sum()).item()
    7.0
    """
    scores = {} if importance_scores is None else importance_scores
    pairs = list(parameters)
    if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], str) for pair in pairs):
        raise ArgumentTypeError(
            "global_unstructured: parameters must be pairs of a module and a name",
            operands={"parameters": parameters},
            fix='pass [(layer, "weight"), ...]',
        )
    tensors = [getattr(module, name) for module, name in pairs]
    compared = parameters_to_vector([scores.get(pair, tensor) for pair, tensor in zip(pairs, tensors)])
    masks = [getattr(module, name + "_mask", ones_like(tensor)) for (module, name), tensor in zip(pairs, tensors)]
    method = pruning_method(**kwargs)
    method._tensor_name = "all"
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentTypeError(
            f"global_unstructured: {pruning_method.__name__} is {method.PRUNING_TYPE}, not unstructured",
            fix="use RandomUnstructured or L1Unstructured",
        )
    mask = PruningContainer(method).compute_mask(compared.detach(), parameters_to_vector(masks).detach())
    for (module, name), part in zip(pairs, mask.split([tensor.numel() for tensor in tensors])):
        custom_from_mask(module, name, part.view(getattr(module, name).shape))


def remove(module: M, name: str) -> M:
    """Make the pruned tensor *name* a parameter again, with its zeros. Returns *module*.

    Raises ValueError if it is not pruned.

    >>> from polyad import nn
    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(2, 3), "weight", amount=2)
    >>> list(nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    for key, hook in hooks_of(module, _ANY, name):
        hook.remove(module)
        take_out(module, key)
        return module
    raise ArgumentError(f"remove: {safe_repr(name)} of {type(module).__name__} is not pruned", fix="see is_pruned")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of *module* or of a module in it is pruned.

    >>> from polyad import nn
    >>> nn.utils.prune.is_pruned(nn.Linear(2, 3))
    False
    """
    return any(hooks_of(part, _ANY) for part in module.modules())


explain(globals())
