"""Process groups: which processes work together, by which engine, and who of them is lost.

`World` of this process is set by `initialize.init_process_group`. Ranks are those of the world unless a name says
``group_rank``, as in PyTorch.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, wrong_type
from .errors import DistBackendError

if TYPE_CHECKING:
    from .engine import Engine, World
    from .store import Store
    from .watching import Watcher
    from .work import Work

__all__ = [
    "DebugLevel", "GroupMember", "ProcessGroup", "destroy_group", "get_backend", "get_debug_level",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_pg_count", "set_debug_level",
    "set_debug_level_from_env",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "is_initialized", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "resolve", "split_group",
]  # fmt: skip


class ProcessGroup:
    """Processes that work together. `new_group` and `init_process_group` make them.

    Attributes:
        ranks: the ranks in the world of its members, in the order of their ranks in the group.
        seconds: how long an operation may take.
    """

    def __init__(self, engine: Engine, ranks: Sequence[int], name: str, timeout: timedelta, told: str = "") -> None:
        self.engine, self.ranks, self.group_name = engine, list(ranks), name
        self.asked = told or engine.name
        """The name by which the engine was asked for."""
        self.seconds = timeout.total_seconds()
        self.doing: tuple[Any, ...] = ()
        self.count = self.ended = 0
        """How many operations were begun, and the number of the last one that has ended."""
        self.unfinished: set[Work] = set()
        """Operations that nobody waits for: their memory is the engine's until they have ended."""
        self.monitored = 0
        """How many monitored barriers were begun: by all members alike, as `count` is not."""
        self.closed = False

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self.engine.rank

    def size(self) -> int:
        """The number of processes in the group."""
        return self.engine.size

    def name(self) -> str:
        """The name of its engine."""
        return self.asked

    def global_rank(self, rank: int) -> int:
        """The rank in the world of number *rank* of the group."""
        return self.ranks[rank] if 0 <= rank < len(self.ranks) else -1

    def begin(self, *doing: Any) -> None:
        """Note what the group does now: the name of the call, and dtype and shape of what it is called with."""
        if _state.forked:
            raise DistBackendError(
                f"{doing[0]}: this process was forked from one that belongs to the group, and cannot take part",
                fix="call it in the process that called init_process_group",
            )
        if self.closed:
            raise ArgumentError(f"{doing[0]}: the group was destroyed", fix="make another by new_group")
        for work in list(self.unfinished):
            work.is_completed()
        self.count += 1
        self.doing = (*doing, self.count)
        _state.latest = self
        if _state.debug == "DETAIL":
            self._compare_calls()

    def _compare_calls(self) -> None:
        """Raise unless all members make the same call; for messages, which have two sides, nothing is compared."""
        if self.doing[0].startswith(("send", "recv")) or self.size() == 1:
            return
        mine = describe(self.doing)
        texts = self._exchange(mine)
        others = {self.ranks[at]: text for at, text in enumerate(texts) if text != mine}
        if others:
            raise DistBackendError(
                f"{self.doing[0]}: the ranks make other calls",
                notes={f"rank {get_rank()}": mine, **{f"rank {rank}": text for rank, text in others.items()}},
                fix="let all ranks call the same operations in one order, with one dtype and shape",
            )

    def _exchange(self, text: str) -> list[str]:
        """The texts of all members."""
        from ..base.dtypes import uint8
        from ..functions import tensor, zeros
        from .work import Work

        data = text.encode()[:_CALL_BYTES].ljust(_CALL_BYTES)
        sent, received = tensor(list(data), dtype=uint8), zeros(_CALL_BYTES * self.size(), dtype=uint8)
        Work(self, [self.engine.all_gather(received, sent)]).wait()
        found = bytes(received.tolist())
        return [
            found[at : at + _CALL_BYTES].decode("utf-8", "replace").rstrip() for at in range(0, len(found), _CALL_BYTES)
        ]

    def end(self, work: Work, doing: tuple[Any, ...]) -> None:
        """Note that an operation has ended."""
        self.unfinished.discard(work)
        if doing:
            self.ended = max(self.ended, doing[-1])

    def close(self, healthy: bool) -> None:
        """Let go of the engine."""
        self.closed = True
        self.engine.close(healthy and not self.unfinished)

    def __deepcopy__(self, memo: Any) -> ProcessGroup:
        return self  # there is one

    def lost(self) -> dict[int, str]:
        """The members that are lost, and why."""
        watcher = _state.watcher
        return {} if watcher is None else {r: why for r, why in watcher.lost.items() if r in self.ranks}

    def failure(self, doing: tuple[Any, ...], lost: dict[int, str], seconds: float) -> DistBackendError:
        """The error for an operation that did not end."""
        _state.healthy = False
        members = {} if _state.watcher is None else {member.rank: member for member in _state.watcher.members()}
        notes = {}
        for rank in self.ranks:
            if rank in lost:
                notes[f"rank {rank}"] = f"lost: {lost[rank]}"
            elif rank == get_rank():
                notes[f"rank {rank}"] = f"this process: {describe(doing)}"
            elif rank in members:
                silent = f", silent for {members[rank].silent:.0f} s" if members[rank].silent > 5 else ""
                notes[f"rank {rank}"] = f"{members[rank].doing or 'no operation yet'}{silent}"
        reason = (
            f"rank {', '.join(map(str, lost))} is lost" if lost else f"it did not end in {seconds:.0f} s on all ranks"
        )
        return DistBackendError(
            f"{doing[0] if doing else 'distributed'}: {reason}",
            notes=notes,
            fix="see why that process ended; start all again from the last checkpoint"
            if lost
            else "let all ranks call the same operations in one order; timeout= of init_process_group waits longer",
        )

    def __repr__(self) -> str:
        return f"ProcessGroup({self.asked}, rank {self.rank()} of {self.size()}, {self.group_name})"


def describe(doing: tuple[Any, ...]) -> str:
    """What `ProcessGroup.begin` noted, in words."""
    if not doing:
        return ""
    name, *about, number = doing
    shown = f" of {str(about[0]).removeprefix('polyad.')} {tuple(about[1])}" if about else ""
    return f"{name}{shown}, operation {number}"


_CALL_BYTES = 128
"""How much of a call's description is compared."""


class _NonMember:
    """What `new_group` gives a process that is no member."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class _State:
    world: World | None = None
    watcher: Watcher | None = None
    default: ProcessGroup | None = None
    groups: dict[str, ProcessGroup] = {}  # noqa: RUF012  this process's, by name
    healthy = True
    latest: ProcessGroup | None = None
    """The group whose operation was begun last."""
    debug = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    owns_store = False
    forked = False
    numbers = itertools.count()
    names: set[str] = set()  # noqa: RUF012  of all groups that were ever made


_state = _State()


def _note_fork() -> None:
    """In a child: ranks may be asked for, the group works for the parent alone."""
    _state.forked = _state.default is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class group:
    """The group of all processes: ``group.WORLD``; None before `init_process_group`."""

    WORLD: ProcessGroup | None = None


class GroupMember:
    """PyTorch's older names for the groups that a process is in, or not."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: Any = _NonMember()


def set_default(default: ProcessGroup | None, world: World | None, watcher: Watcher | None) -> None:
    """Enter or leave the world."""
    _state.default, _state.world, _state.watcher = default, world, watcher
    _state.healthy, _state.latest = True, None
    _state.groups = {} if default is None else {default.group_name: default}
    _state.numbers = itertools.count()
    group.WORLD = GroupMember.WORLD = default


def expect(world: World, watcher: Watcher | None) -> None:
    """Note the world that is about to be entered, so that its processes can be waited for."""
    _state.world, _state.watcher = world, watcher


def current() -> str:
    """What this process does, for others to see."""
    latest = _state.latest
    if latest is None or not latest.doing:
        return ""
    return f"{'after ' if latest.ended >= latest.count else ''}{describe(latest.doing)}"


def resolve(one: Any, function: str) -> ProcessGroup | None:
    """The group that an argument stands for; None if this process is no member of it.

    Raises ValueError where there is no group yet, TypeError for what is none.
    """
    if one is None:
        if _state.default is None:
            raise ArgumentError(
                f"{function}: Default process group has not been initialized",
                fix="call polyad.distributed.init_process_group() first; is_initialized() tells whether it was",
            )
        return _state.default
    if isinstance(one, ProcessGroup):
        return one
    if one is GroupMember.NON_GROUP_MEMBER:
        return None
    mesh_group = getattr(one, "get_group", None)
    if mesh_group is not None:
        return resolve(mesh_group(), function)
    raise wrong_type(function, "group", one, "a ProcessGroup")


def is_initialized() -> bool:
    """Whether this process belongs to a group of processes.

    >>> import polyad
    >>> rank = polyad.distributed.get_rank() if polyad.distributed.is_initialized() else 0
    """
    return _state.default is not None


def get_rank(group: ProcessGroup | None = None) -> int:
    """The rank of this process in *group*, the world by default; -1 if it is no member."""
    found = resolve(group, "get_rank")
    return -1 if found is None else found.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes in *group*, the world by default; -1 if this process is no member."""
    found = resolve(group, "get_world_size")
    return -1 if found is None else found.size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of the engine of *group*: "mpi" also where "gloo" was asked for."""
    found = resolve(group, "get_backend")
    if found is None:
        raise ArgumentError("get_backend: this process is no member of the group", fix="ask its members")
    return found.engine.name


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks in the world of the members of *group*, in the group's order."""
    found = resolve(group, "get_process_group_ranks")
    return [] if found is None else list(found.ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of number *group_rank* of *group*. Raises ValueError if there is none."""
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ArgumentError(
            f"get_global_rank: {group_rank} is no rank of a group of {len(ranks)}", fix="pass one below"
        )
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in *group* of process *global_rank*. Raises ValueError if it is no member."""
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ArgumentError(f"get_group_rank: rank {global_rank} is no member of the group", fix=f"pass one of {ranks}")
    return ranks.index(global_rank)


def get_default_backend_for_device(device: Any) -> str:
    """The name of the engine for tensors on a device: "mpi" for all, through the host where it has to be.

    >>> import polyad.distributed as dist
    >>> dist.get_default_backend_for_device("cpu")
    'mpi'
    """
    return "mpi"


class DebugLevel(Enum):
    """How much is checked: with DETAIL, that all processes make the same calls."""

    OFF = 0
    INFO = 1
    DETAIL = 2


def get_debug_level() -> DebugLevel:
    """What TORCH_DISTRIBUTED_DEBUG of the environment, or `set_debug_level`, says.

    >>> import polyad.distributed as dist
    >>> dist.get_debug_level().name
    'OFF'
    """
    return DebugLevel[_state.debug] if _state.debug in DebugLevel.__members__ else DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Check as much as *level* says from now on; all processes call this."""
    _state.debug = level.name


def set_debug_level_from_env() -> None:
    """Check as much as TORCH_DISTRIBUTED_DEBUG says."""
    _state.debug = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()


def get_pg_count() -> int:
    """How many groups this process has made or entered."""
    return len(_state.groups)


def meet(what: str, members: Sequence[int], seconds: float) -> None:
    """Wait in the store until all *members* have come to *what*: engines that block may then do so.

    Raises DistBackendError if one is lost, or does not come in time.
    """
    world, default = _state.world, _state.default
    assert world is not None
    begin, key, pause = time.monotonic(), f"polyad/{what}", 0.0005
    before = (world.store.add(key, 1) - 1) // len(members) * len(members)  # those of another time
    while (here := world.store.add(key, 0) - before) < len(members):
        elapsed = time.monotonic() - begin
        lost = {} if _state.watcher is None else {r: w for r, w in _state.watcher.lost.items() if r in members}
        if lost or elapsed > seconds:
            if default is not None:
                raise default.failure(default.doing, lost, elapsed)
            raise DistBackendError(
                f"init_process_group: {here} of {len(members)} processes came in {elapsed:.0f} s",
                notes={f"rank {rank}": f"lost: {why}" for rank, why in lost.items()},
                fix="see why the others ended, or did not start",
            )
        time.sleep(pause)
        pause = min(0.02, pause * 2)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of the processes *ranks*, all by default; every process of the world calls this, in the same order.

    Args:
        ranks: ranks in the world.
        timeout: of its operations; that of the world by default.
        backend: None or the engine of the world, which is what the group has.
        use_local_synchronization: only the members call it, and no process calls for two groups at once.
        sort_ranks: number the members by their ranks, not in the order that is given.
        pg_options, group_desc, device_id: taken for programs written for PyTorch.

    Returns:
        A `ProcessGroup`, or ``GroupMember.NON_GROUP_MEMBER`` in a process that is no member.

    Raises:
        ValueError: ranks that there are not, or twice.
    """
    world = resolve(None, "new_group")
    assert world is not None
    members = list(range(world.size())) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if any(isinstance(rank, bool) or not isinstance(rank, int) for rank in members):
        raise wrong_type("new_group", "ranks", ranks, "a list of ints")
    if len(set(members)) != len(members) or not all(0 <= rank < world.size() for rank in members) or not members:
        raise ArgumentError(
            f"new_group: ranks {members} are not different ranks of a world of {world.size()}",
            operands={"ranks": ranks},
            fix=f"pass ranks from 0 to {world.size() - 1}, each once",
        )
    if use_local_synchronization:
        number = 1 + hash(tuple(members)) % 10_000
    else:
        number = 10_001 + next(_state.numbers)
    if world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    limit = timedelta(seconds=world.seconds) if timeout is None else timeout
    made_before = sum(name.partition(".")[0] == str(number) for name in _state.names)
    name = f"{number}.{made_before}"
    _state.names.add(name)
    world.begin(f"new_group of ranks {members}")
    meet(f"group {name} of {members}", members, limit.total_seconds())
    made = ProcessGroup(world.engine.split(members, number), members, name, limit, backend or world.asked)
    world.ended = world.count
    _state.groups[made.group_name] = made
    return made


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, timeout: timedelta | None = None,
    backend: str | None = None, pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of *group_size* processes that follow each other, those of this machine by default: the one that this
    process is in, and all. Raises ValueError if the size does not divide the world's.
    """
    world_size = get_world_size(group)
    size = _local_size(world_size) if group_size is None else group_size
    if size < 1 or world_size % size:
        raise ArgumentError(
            f"new_subgroups: a world of {world_size} processes has no groups of {size}",
            operands={"group_size": group_size},
            fix="pass a divisor of the world's size",
        )
    all_ranks = get_process_group_ranks(group)
    return new_subgroups_by_enumeration(
        [all_ranks[begin : begin + size] for begin in range(0, world_size, size)], timeout, backend
    )


def _local_size(world_size: int) -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", world_size))


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """A group for each list of ranks, no rank twice: the one that this process is in, or None, and all."""
    listed = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(listed)) != len(listed):
        raise ArgumentError(
            "new_subgroups_by_enumeration: a rank is in two groups",
            operands={"ranks_per_subgroup_list": ranks_per_subgroup_list},
            fix="list each rank once",
        )
    made = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    return next((one for one in made if isinstance(one, ProcessGroup)), None), made


def split_group(
    parent_pg: ProcessGroup | None = None, split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None, pg_options: Any = None, group_desc: str | None = None,
) -> Any:  # fmt: skip
    """The group of this process among *split_ranks*, lists of ranks in *parent_pg*; None if it is in none."""
    if not split_ranks:
        raise ArgumentError("split_group: split_ranks is empty", fix="pass a list of lists of ranks")
    ranks = get_process_group_ranks(parent_pg)
    return new_subgroups_by_enumeration([[ranks[r] for r in part] for part in split_ranks], timeout)[0]


def destroy_group(one: ProcessGroup) -> None:
    """Let go of a group that is not the world."""
    if _state.groups.pop(one.group_name, None) is not None:
        one.close(_state.healthy)


def store_of(group: ProcessGroup) -> Store:
    """The store that the members of *group* share."""
    assert _state.world is not None
    return _state.world.store


def state() -> _State:
    """What this process knows of the world; for the modules of this package."""
    return _state
