"""init_process_group: how processes find each other and become a world."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from ..devices import entry_points
from ..errors import ArgumentError, ConditionError, SettingError, safe_repr, wrong_type
from . import groups
from .engine import Engine, World
from .groups import ProcessGroup, resolve
from .store import FileStore, PrefixStore, Store, TCPStore
from .watching import Watcher

__all__ = [
    "Backend",
    "default_pg_timeout", "destroy_process_group", "find_engine", "init_process_group", "is_backend_available",
    "is_gloo_available", "is_mpi_available", "is_nccl_available", "is_ucc_available", "is_xccl_available", "rendezvous",
    "register_rendezvous_handler",
]  # fmt: skip

default_pg_timeout = timedelta(minutes=30)

_SERVED_BY = {"gloo": "mpi"}
"""Names of PyTorch's engines that another one serves."""

EngineMaker = Callable[[World], Engine]


class Backend(str):
    """The name of an engine, as `get_backend` gives it; `register_backend` adds one.

    >>> import polyad
    >>> polyad.distributed.Backend("MPI")
    'mpi'
    """

    MPI, GLOO, NCCL, UNDEFINED = "mpi", "gloo", "nccl", "undefined"
    backend_list: list[str] = ["undefined", "gloo", "nccl", "mpi"]  # noqa: RUF012  PyTorch's name
    _makers: dict[str, EngineMaker] = {}  # noqa: RUF012

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ArgumentError(f"Backend: {safe_repr(name)} is not a string", fix='pass a name, such as "mpi"')
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(cls, name: str, func: EngineMaker, extended_api: bool = False, devices: Any = None) -> None:
        """Let `init_process_group` find an engine by *name*: ``func(world)`` makes it, see `engine.Engine`."""
        if name.lower() in cls._makers:
            raise ConditionError(f"register_backend: {name} is registered already", fix="register another name")
        cls._makers[name.lower()] = func
        if name.lower() not in cls.backend_list:
            cls.backend_list.append(name.lower())
        setattr(cls, name.upper(), name.lower())


def find_engine(name: str) -> EngineMaker | None:
    """What makes the engine of that name: registered, or brought by a plug-in."""
    if name in Backend._makers:
        return Backend._makers[name]
    for plugin in entry_points.entry_points(entry_points.PLUGIN_GROUP):
        try:
            hooks = entry_points.hooks(entry_points.PLUGIN_GROUP, plugin)
        except Exception:  # a plug-in that cannot be loaded is the doctor's matter
            continue
        maker: EngineMaker | None = hooks.polyad_process_group(name=name)
        if maker is not None:
            return maker
    return None


def is_backend_available(backend: str) -> bool:
    """Whether `init_process_group` finds an engine for that name.

    >>> import polyad
    >>> polyad.distributed.is_backend_available("none of this name")
    False
    """
    name = backend.lower()
    return find_engine(_SERVED_BY.get(name, name)) is not None


def is_mpi_available() -> bool:
    """Whether the engine "mpi" is installed: mpi4py, and an MPI library."""
    return is_backend_available("mpi")


def is_gloo_available() -> bool:
    """Whether a program that asks for "gloo" is served, by the engine "mpi"."""
    return is_backend_available("gloo")


def is_nccl_available() -> bool:
    """Whether a plug-in brings the engine "nccl"."""
    return is_backend_available("nccl")


def is_ucc_available() -> bool:
    """Whether a plug-in brings the engine "ucc"."""
    return is_backend_available("ucc")


def is_xccl_available() -> bool:
    """Whether a plug-in brings the engine "xccl"."""
    return is_backend_available("xccl")


def _engine_name(backend: str | None) -> str:
    """The engine for what a program asks for: a name, None, or PyTorch's ``"cpu:gloo,cuda:nccl"``."""
    asked = "mpi" if backend is None else str(backend).lower()
    if ":" in asked:
        by_device = dict(part.split(":", 1) for part in asked.split(","))
        asked = by_device.get("cpu", next(iter(by_device.values())))
    return _SERVED_BY.get(asked, asked)


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Become one of the processes of a world, which all call this.

    Args:
        backend: the engine: "mpi", which also serves for "gloo" and None, or one that a plug-in brings.
        init_method: where processes meet: "env://" (the default: MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE of the
            environment, or that of `mpiexec`), "tcp://host:port" or "file:///path".
        timeout: how long an operation may take, 30 minutes by default.
        world_size, rank: how many processes there are, and which this is; needed unless the environment says it.
        store: where they meet, instead of *init_method*.
        group_name, pg_options, device_id: taken for programs written for PyTorch.

    Raises:
        ValueError: called twice, no engine of that name, or rank and world_size do not fit or are not known.
        RuntimeError (DistNetworkError): the others cannot be reached, or two have the same rank.
        RuntimeError (DistBackendError): the others do not come in time, or one ends.

    >>> import polyad.distributed as dist
    >>> dist.init_process_group("mpi", store=dist.HashStore(), rank=0, world_size=1)  # doctest: +SKIP
    """
    if groups.is_initialized():
        raise ArgumentError(
            "init_process_group: trying to initialize the default process group twice!",
            fix="call destroy_process_group() before",
        )
    if timeout is not None and not isinstance(timeout, timedelta):
        raise wrong_type("init_process_group", "timeout", timeout, "a datetime.timedelta")
    name = _engine_name(backend)
    maker = find_engine(name)
    if maker is None:
        raise ArgumentError(
            f"init_process_group: no installed package brings the engine {safe_repr(name)}",
            operands={"backend": backend},
            fix='use "mpi"; pip install mpi4py mpich brings it',
        )
    limit = default_pg_timeout if timeout is None else timeout
    world = _meet(maker, store, init_method, rank, world_size, limit)
    watcher = None
    if isinstance(world.store, TCPStore):
        watcher = Watcher(world.store, world.rank, world.size, groups.current)
    try:
        groups.expect(world, watcher)
        groups.meet("all processes", range(world.size), limit.total_seconds())
        engine = maker(world)
    except BaseException:
        if watcher is not None:
            watcher.close()
        groups.set_default(None, None, None)
        raise
    if world.rank == 0 and backend is not None and str(backend).lower() == "gloo":
        warnings.warn(f'init_process_group: "gloo" is served by "{engine.name}"', stacklevel=2)
    default = ProcessGroup(engine, range(world.size), "0", limit, "" if backend is None else str(backend).lower())
    groups.set_default(default, world, watcher)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Let go of *group*, or of all. Raises ValueError if there is none."""
    found = resolve(group, "destroy_process_group")
    if found is None:
        return
    known = groups.state()
    if found is not known.default:
        groups.destroy_group(found)
        return
    for one in [*known.groups.values()]:
        if one is not found:
            groups.destroy_group(one)
    found.close(known.healthy)
    if known.watcher is not None:
        known.watcher.close()
    store = known.world.store if known.world is not None else None
    groups.set_default(None, None, None)
    if isinstance(store, TCPStore) and known.owns_store:
        store.close()


# ------------------------------------------------------------------------------------------------------------ meeting


def _meet(maker: EngineMaker, store: Store | None, method: str | None, rank: int, size: int, limit: timedelta) -> World:
    if store is not None:
        if method is not None:
            raise ArgumentError(
                "init_process_group: store and init_method are two ways to meet", fix="pass one of them"
            )
        _check_ranks(rank, size)
        beneath = store
        while isinstance(beneath, PrefixStore):
            beneath = beneath.underlying_store
        address = (beneath.host, beneath.port) if isinstance(beneath, TCPStore) else None
        if address is None:
            return _served_elsewhere(store, rank, size, limit)
        groups.state().owns_store = False
        return World(rank, size, beneath, address)
    launched = _launched_by_mpi()
    met: Store
    if method in (None, "env://") and launched and "MASTER_ADDR" not in os.environ:
        met, rank, size = _by_launcher(maker, launched, limit)
    else:
        met, rank, size = next(iter(rendezvous(method or "env://", rank, size, timeout=limit)))
    if not isinstance(met, TCPStore):
        return _served_elsewhere(met, rank, size, limit)
    groups.state().owns_store = True
    return World(rank, size, met, (met.host, met.port))


def _served_elsewhere(store: Store, rank: int, size: int, limit: timedelta) -> World:
    """A store that has no server, such as a file, tells where rank 0 serves one."""
    if rank == 0:
        served = TCPStore(socket.gethostname(), 0, is_master=True, timeout=limit)
        for _ in range(size - 1):
            store.queue_push("polyad/address", f"{served.host} {served.port}")
    else:
        host, port = store.queue_pop("polyad/address").decode().split()
        served = TCPStore(host, int(port), timeout=limit)
    groups.state().owns_store = True
    return World(rank, size, served, (served.host, served.port))


def _check_ranks(rank: int, size: int) -> None:
    if not isinstance(size, int) or size < 1 or not isinstance(rank, int) or not 0 <= rank < size:
        raise ArgumentError(
            f"init_process_group: rank {rank} is none of a world of {size}",
            operands={"rank": rank, "world_size": size},
            fix="pass world_size, and rank from 0 to world_size - 1; or start by: python -m polyad.distributed.run",
        )


Rendezvous = Callable[..., Any]
_handlers: dict[str, Rendezvous] = {}


def register_rendezvous_handler(scheme: str, handler: Rendezvous) -> None:
    """Let `init_process_group` meet at urls of *scheme*: ``handler(url, timeout=...)`` yields store, rank and size.

    Raises RuntimeError for a scheme that there is already.
    """
    if scheme in _handlers or scheme in ("env", "tcp", "file"):
        raise SettingError(f"register_rendezvous_handler: {scheme}:// is there already", fix="choose another scheme")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Any:
    """Yield store, rank and world size of the processes that meet at *url*.

    Raises:
        ValueError: what the url or the environment should say is missing.
        RuntimeError: a scheme that nobody handles; or nothing can be reached there.
    """
    if not isinstance(url, str):
        raise SettingError(f"rendezvous: `url` must be a string, not {safe_repr(url)}", fix='pass "env://"')
    parsed = urlparse(url)
    limit = kwargs.get("timeout", default_pg_timeout)
    asked = {key: int(values[0]) for key, values in parse_qs(parsed.query).items() if key in ("rank", "world_size")}
    rank, world_size = asked.get("rank", rank), asked.get("world_size", world_size)
    if parsed.scheme in _handlers:
        yield from _handlers[parsed.scheme](url, **kwargs)
    elif parsed.scheme == "env":
        yield _by_environment(rank, world_size, limit)
    elif parsed.scheme == "tcp":
        _check_ranks(rank, world_size)
        if not parsed.port:
            raise ArgumentError(f"rendezvous: {url} names no port", fix="write tcp://host:port")
        yield _served(parsed.hostname or "127.0.0.1", parsed.port, rank, world_size, limit), rank, world_size
    elif parsed.scheme == "file":
        _check_ranks(rank, world_size)
        if not parsed.path:
            raise ArgumentError(f"rendezvous: {url} names no file", fix="write file:///path")
        yield FileStore(parsed.path, world_size), rank, world_size
    else:
        raise SettingError(
            f"rendezvous: nobody handles {parsed.scheme}://", fix='use "env://", "tcp://host:port" or "file:///path"'
        )


def _served(host: str, port: int, rank: int, size: int, limit: timedelta) -> TCPStore:
    return TCPStore(host, port, size, is_master=rank == 0, timeout=limit, wait_for_workers=False, multi_tenant=True)


def _by_environment(rank: int, size: int, limit: timedelta) -> tuple[TCPStore, int, int]:
    env = _launched_by_mpi()
    known = {**env, **{name: os.environ[name] for name in ("RANK", "WORLD_SIZE") if name in os.environ}}
    if rank >= 0:
        known["RANK"] = str(rank)
    if size >= 0:
        known["WORLD_SIZE"] = str(size)
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name in os.environ:
            known[name] = os.environ[name]
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in known]
    if missing:
        raise ArgumentError(
            f"init_process_group: environment variable {missing[0]} expected, but not set",
            notes={"missing": ", ".join(missing)},
            fix="start by: python -m polyad.distributed.run --nproc-per-node 2 script.py; or set them",
        )
    try:
        rank, size, port = int(known["RANK"]), int(known["WORLD_SIZE"]), int(known["MASTER_PORT"])
    except ValueError as error:
        raise ArgumentError(
            "init_process_group: RANK, WORLD_SIZE and MASTER_PORT of the environment must be numbers",
            notes=known,
            fix="set them to numbers",
        ) from error
    _check_ranks(rank, size)
    return _served(known["MASTER_ADDR"], port, rank, size, limit), rank, size


def _by_launcher(maker: EngineMaker, launched: dict[str, str], limit: timedelta) -> tuple[TCPStore, int, int]:
    """Meet where the first of the processes serves, which it tells the others by the engine."""
    rank, size = int(launched["RANK"]), int(launched["WORLD_SIZE"])
    share = getattr(maker, "share", Engine.share)
    if rank == 0:
        served = TCPStore(socket.gethostname(), 0, is_master=True, timeout=limit)
        share(f"{served.host} {served.port}")
        return served, rank, size
    host, port = share(None).split()
    return TCPStore(host, int(port), timeout=limit), rank, size


def _launched_by_mpi() -> dict[str, str]:
    """Rank and size as `mpiexec` or Slurm say it."""
    for rank, size in (
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ):
        if rank in os.environ and size in os.environ:
            return {"RANK": os.environ[rank], "WORLD_SIZE": os.environ[size]}
    return {}
