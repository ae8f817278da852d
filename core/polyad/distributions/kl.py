"""The Kullback-Leibler divergence: the table of pairs, and how a pair is found.

The formulas are in kl_pairs.py: same_family for two distributions of one family, others for two families.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments import explain
from ..base.state import warn_user
from ..errors import NotSupported, wrong_type
from ..tensor import Tensor
from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Tensor]
Pair = tuple[type, type]

_KL_REGISTRY: dict[Pair, Formula] = {}
_found: dict[Pair, Formula | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorates the formula for the divergence of *type_p* from *type_q*, which also serves their subclasses.

    The nearest classes are taken. Where the nearest by p and by q differ, a RuntimeWarning says which pair to register.
    Raises TypeError for what is no class; other libraries' distributions derive from classes of their own.

    >>> import polyad as torch
    >>> class Mine(torch.distributions.Normal): ...
    >>> @torch.distributions.register_kl(Mine, Mine)
    ... def divergence(p, q):
    ...     return torch.zeros(p.batch_shape)
    >>> torch.distributions.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise wrong_type("register_kl", name, kind, "a class of distributions")

    def register(formula: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = formula
        _found.clear()
        return formula

    return register


def _nearest(type_p: type, type_q: type) -> Formula | None:
    pairs = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not pairs:
        return None

    def distance(pair: Pair) -> tuple[int, int]:
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    by_p = min(pairs, key=distance)
    by_q = min(pairs, key=lambda pair: distance(pair)[::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn_user(
            f"kl_divergence({type_p.__name__}, {type_q.__name__}) is ambiguous; call "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under *p* of ``log p(x) - log q(x)``, of the shape to which their batches broadcast.

    Raises NotImplementedError for pairs without a formula; `register_kl` adds one.

    >>> from polyad.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _found:
        _found[pair] = _nearest(*pair)
    formula = _found[pair]
    if formula is None:
        raise NotSupported(
            f"kl_divergence: no formula for p {type(p).__name__} and q {type(q).__name__}",
            fix="add one with register_kl, or estimate it from samples: (p.log_prob(x) - q.log_prob(x)).mean(0)",
        )
    return formula(p, q)


explain(globals())
