"""Training by several processes, on one machine or many, at PyTorch's path ``polyad.distributed``.

Data is carried by an engine that a plug-in brings, such as "mpi"; what an engine must do is small (`engine.py`), and
the rest is here.

    engine.py          what carries data; the interface of plug-ins
    initialize.py      how processes become a world: `init_process_group`
    groups.py          which processes work together
    collectives.py     operations of all processes of a group; point_to_point.py, objects.py: messages, Python objects
    buffers.py         contiguous memory for any tensors, through the host where an engine needs it
    work.py            an operation that may not have ended; how it is waited for
    watching.py        who is alive
    store.py           keys and values for all processes; store_server.py, key_values.py, frames.py: who serves them
    nn/                operations that have gradients
    run.py             starts the processes: ``python -m polyad.distributed.run``
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from ..compatibility.absent import lacking
from .collectives import (
    all_gather as all_gather,
    all_gather_coalesced as all_gather_coalesced,
    all_gather_into_tensor as all_gather_into_tensor,
    all_gather_single as all_gather_single,
    all_reduce as all_reduce,
    all_reduce_coalesced as all_reduce_coalesced,
    all_to_all as all_to_all,
    all_to_all_single as all_to_all_single,
    barrier as barrier,
    broadcast as broadcast,
    gather as gather,
    monitored_barrier as monitored_barrier,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
    reduce_scatter_single as reduce_scatter_single,
    reduce_scatter_tensor as reduce_scatter_tensor,
    scatter as scatter,
)
from .errors import (
    DistBackendError as DistBackendError,
    DistError as DistError,
    DistNetworkError as DistNetworkError,
    DistStoreError as DistStoreError,
    QueueEmptyError as QueueEmptyError,
)
from .grad_bucket import GradBucket as GradBucket
from .groups import (
    DebugLevel as DebugLevel,
    GroupMember as GroupMember,
    ProcessGroup as ProcessGroup,
    get_backend as get_backend,
    get_debug_level as get_debug_level,
    get_default_backend_for_device as get_default_backend_for_device,
    get_global_rank as get_global_rank,
    get_group_rank as get_group_rank,
    get_pg_count as get_pg_count,
    get_process_group_ranks as get_process_group_ranks,
    get_rank as get_rank,
    get_world_size as get_world_size,
    group as group,
    is_initialized as is_initialized,
    new_group as new_group,
    new_subgroups as new_subgroups,
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
    set_debug_level as set_debug_level,
    set_debug_level_from_env as set_debug_level_from_env,
    split_group as split_group,
)
from .objects import (
    all_gather_object as all_gather_object,
    broadcast_object_list as broadcast_object_list,
    gather_object as gather_object,
    recv_object_list as recv_object_list,
    scatter_object_list as scatter_object_list,
    send_object_list as send_object_list,
)
from .point_to_point import (
    P2POp as P2POp,
    batch_isend_irecv as batch_isend_irecv,
    irecv as irecv,
    isend as isend,
    recv as recv,
    send as send,
)
from .reduce_ops import ReduceOp as ReduceOp
from .work import Work as Work

if TYPE_CHECKING:
    from .initialize import (
        Backend as Backend,
        default_pg_timeout as default_pg_timeout,
        destroy_process_group as destroy_process_group,
        init_process_group as init_process_group,
        is_backend_available as is_backend_available,
        is_gloo_available as is_gloo_available,
        is_mpi_available as is_mpi_available,
        is_nccl_available as is_nccl_available,
        is_ucc_available as is_ucc_available,
        is_xccl_available as is_xccl_available,
        register_rendezvous_handler as register_rendezvous_handler,
        rendezvous as rendezvous,
    )
    from .store import (
        FileStore as FileStore,
        HashStore as HashStore,
        PrefixStore as PrefixStore,
        Store as Store,
        TCPStore as TCPStore,
    )


def is_available() -> bool:
    """True: the package is there. Whether an engine is installed is said by `is_backend_available`.

    >>> import polyad
    >>> polyad.distributed.is_available()
    True
    """
    return True


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` or `polyad.distributed.run` started this process: TORCHELASTIC_RUN_ID is set.

    >>> import polyad
    >>> isinstance(polyad.distributed.is_torchelastic_launched(), bool)
    True
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank of this process on its machine, by LOCAL_RANK of the environment.

    Raises:
        RuntimeError: it is not set, and *fallback_rank* is None.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise DistError(
        "get_node_local_rank: LOCAL_RANK is not in the environment", fix="start by python -m polyad.distributed.run"
    )


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether numbers of complex dtypes can be reduced so.

    >>> import polyad.distributed as dist
    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT)


_lacking = lacking(__name__)
_NETWORKING = {
    "default_pg_timeout": ("initialize", "default_pg_timeout"),
    "Backend": ("initialize", "Backend"),
    "destroy_process_group": ("initialize", "destroy_process_group"),
    "init_process_group": ("initialize", "init_process_group"),
    "is_backend_available": ("initialize", "is_backend_available"),
    "is_mpi_available": ("initialize", "is_mpi_available"),
    "is_gloo_available": ("initialize", "is_gloo_available"),
    "is_nccl_available": ("initialize", "is_nccl_available"),
    "is_ucc_available": ("initialize", "is_ucc_available"),
    "is_xccl_available": ("initialize", "is_xccl_available"),
    "register_rendezvous_handler": ("initialize", "register_rendezvous_handler"),
    "rendezvous": ("initialize", "rendezvous"),
    "FileStore": ("store", "FileStore"),
    "HashStore": ("store", "HashStore"),
    "PrefixStore": ("store", "PrefixStore"),
    "Store": ("store", "Store"),
    "TCPStore": ("store", "TCPStore"),
}
"""What is imported when it is first wanted, with Python's modules for networks: the module and the name in it."""


def __getattr__(name: str) -> Any:
    if name not in _NETWORKING:
        return _lacking(name)
    module, inside = _NETWORKING[name]
    value = globals()[name] = getattr(importlib.import_module(f".{module}", __name__), inside)
    return value
