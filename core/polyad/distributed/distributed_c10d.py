"""Names of process groups at the path of PyTorch's module ``torch.distributed.distributed_c10d``."""

from __future__ import annotations

from typing import Any

from . import __getattr__ as _of_package, groups
from .collectives import *  # noqa: F403
from .groups import *  # noqa: F403
from .groups import ProcessGroup
from .objects import *  # noqa: F403
from .point_to_point import *  # noqa: F403
from .reduce_ops import ReduceOp as ReduceOp
from .work import Work as Work


def _get_default_group() -> ProcessGroup:
    """The group of all processes. Raises ValueError if there is none."""
    found = groups.resolve(None, "_get_default_group")
    assert found is not None
    return found


def _get_default_store() -> Any:
    """The store of all processes."""
    return groups.store_of(_get_default_group())


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is no member of *group*."""
    return groups.resolve(group, "_rank_not_in_group") is None


def __getattr__(name: str) -> Any:
    return _of_package(name)
