"""What optimizers of other libraries ask of PyTorch's ``optim.optimizer`` beside `Optimizer` itself.

`polyad.compatibility.aliases` shows these at PyTorch's path, under PyTorch's names.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..history.grad_mode import set_grad_enabled
from ..tensor import Tensor

__all__ = [
    "Required",
    "capturable_devices",
    "fused_or_foreach",
    "group_tensors",
    "required",
    "with_grad_if_differentiable",
]

Key = tuple[Any, Any]
Groups = dict[Key, tuple[list[list[Any]], list[int]]]


class Required:
    """The default of an option that has none."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()


def fused_or_foreach(params: Sequence[Tensor], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether a step is fused, and whether it takes lists of tensors, where the user does not say: neither.

    >>> from polyad.optim.of_others import fused_or_foreach
    >>> fused_or_foreach([], differentiable=False)
    (False, False)
    """
    return False, False


def capturable_devices(supports_xla: bool = True) -> list[str]:
    """The types of devices whose steps graphs can hold."""
    return ["cuda"]


def with_grad_if_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A ``step`` that records its history if the optimizer is differentiable, and else nothing."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def group_tensors(tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False) -> Groups:
    """Lists of equal length, whose columns belong together, apart by the device and dtype of the first list's tensors.

    Each group has its lists and, *with_indices*, the places that its columns had.

    >>> import polyad
    >>> a, b = polyad.ones(1), polyad.ones(1, dtype=polyad.float64)
    >>> groups = polyad.optim.Optimizer._group_tensors_by_device_and_dtype([[a, b, a], [None, b, a]], with_indices=True)
    >>> {str(dtype): places for (_, dtype), (_, places) in groups.items()}
    {'polyad.float32': [0, 2], 'polyad.float64': [1]}
    """
    groups: Groups = defaultdict(lambda: ([[] for _ in tensorlistlist], []))
    for place, column in enumerate(zip(*tensorlistlist, strict=True)):
        first = column[0]
        lists, places = groups[(None, None) if first is None else (first.device, first.dtype)]
        for members, one in zip(lists, column, strict=True):
            members.append(one)
        if with_indices:
            places.append(place)
    return dict(groups)
