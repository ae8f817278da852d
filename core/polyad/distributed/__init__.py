"""Training by several processes, of which polyad has none yet, at PyTorch's path ``polyad.distributed``.

Programs import it, and ask; the answers are those of a process that belongs to no group. What needs a group raises
ValueError, as in PyTorch before ``init_process_group``, which itself raises NotImplementedError.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

from ..compatibility.absent import lacking, stand_in
from ..errors import ArgumentError

__all__ = [
    "ProcessGroup",
    "ReduceOp",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
]


class ReduceOp(Enum):
    """How numbers of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class ProcessGroup:
    """Processes that work together: there are none, so nothing is an instance."""

    def __new__(cls, *args: Any, **kwargs: Any) -> ProcessGroup:
        """Raises NotImplementedError."""
        return init_process_group()


class group:
    """The group of all processes; None, since there is none."""

    WORLD: ProcessGroup | None = None


def is_available() -> bool:
    """False: no process can belong to a group.

    >>> import polyad
    >>> polyad.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False: this process belongs to no group.

    >>> import polyad
    >>> rank = polyad.distributed.get_rank() if polyad.distributed.is_initialized() else 0
    """
    return False


def is_nccl_available() -> bool:
    """False: nothing connects processes."""
    return False


def is_gloo_available() -> bool:
    """False: nothing connects processes."""
    return False


def is_mpi_available() -> bool:
    """False: nothing connects processes."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process, which it says in the environment variable TORCHELASTIC_RUN_ID.

    >>> import polyad
    >>> isinstance(polyad.distributed.is_torchelastic_launched(), bool)
    True
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


__getattr__ = lacking(__name__)
init_process_group: Callable[..., NoReturn] = stand_in("distributed.init_process_group")


def _needs_group(name: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise ArgumentError(
            f"{name}: this process belongs to no group",
            fix="ask polyad.distributed.is_initialized() first, and do without if it is False",
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises ValueError: this process belongs to no group."
    return function


all_gather = _needs_group("all_gather")
all_gather_into_tensor = _needs_group("all_gather_into_tensor")
all_gather_object = _needs_group("all_gather_object")
all_reduce = _needs_group("all_reduce")
all_to_all = _needs_group("all_to_all")
all_to_all_single = _needs_group("all_to_all_single")
barrier = _needs_group("barrier")
broadcast = _needs_group("broadcast")
broadcast_object_list = _needs_group("broadcast_object_list")
destroy_process_group = _needs_group("destroy_process_group")
gather = _needs_group("gather")
gather_object = _needs_group("gather_object")
get_backend = _needs_group("get_backend")
get_rank = _needs_group("get_rank")
get_world_size = _needs_group("get_world_size")
irecv = _needs_group("irecv")
isend = _needs_group("isend")
monitored_barrier = _needs_group("monitored_barrier")
new_group = _needs_group("new_group")
recv = _needs_group("recv")
reduce = _needs_group("reduce")
reduce_scatter = _needs_group("reduce_scatter")
reduce_scatter_tensor = _needs_group("reduce_scatter_tensor")
scatter = _needs_group("scatter")
scatter_object_list = _needs_group("scatter_object_list")
send = _needs_group("send")
