"""How a process becomes part of an MPI job.

Under ``mpiexec`` it is already. Any other process, started by `polyad.distributed.run`, by `multiprocessing.spawn`, by
Slurm or by hand, says to MPICH what ``mpiexec`` would have said: a socket to a server of PMI 1, which the store of
rank 0 is, its rank and the number of processes, by the environment variables PMI_FD, PMI_RANK and PMI_SIZE.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from functools import cache
from typing import Any

from polyad.distributed.engine import World
from polyad.distributed.errors import DistBackendError, DistNetworkError

_LAUNCHERS = ("PMI_FD", "PMI_PORT", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "HYDI_CONTROL_FD")


def launched() -> bool:
    """Whether an MPI library's own launcher started this process."""
    return any(name in os.environ for name in _LAUNCHERS)


@cache
def library() -> Any:
    """mpi4py's module, which does not begin MPI yet; None if it is not there, or finds no MPI library."""
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        mpi4py.rc.finalize = False  # a process that ends must not wait for others that may be lost
        from mpi4py import MPI
    except (ImportError, RuntimeError):
        return None
    return MPI


@cache
def mpi() -> Any:
    """The same; MPI begins when it is first asked for.

    MPI begins by a call that does not hold Python's lock, as mpi4py's own would: it waits for what the store says,
    which a thread of this process may serve.
    """
    MPI = library()
    if not MPI.Is_initialized():
        level = ctypes.c_int(MPI.THREAD_MULTIPLE)
        failed = ctypes.CDLL(MPI.__file__).MPI_Init_thread(None, None, level, ctypes.byref(level))
        if failed:
            raise DistBackendError(f"init_process_group: MPI does not begin: error {failed}", fix="see what it printed")
    return MPI


def world_of(world: World) -> Any:
    """The communicator of all processes of *world*, by their ranks.

    Raises:
        RuntimeError: MPI began in this process with other processes than these.
    """
    if world.size > 1 and not launched() and not library().Is_initialized():
        _wire_up(world)
    MPI = mpi()
    everyone = MPI.COMM_WORLD
    if (everyone.rank, everyone.size) != (world.rank, world.size):
        if everyone.size == 1 and _is_other_library(MPI):
            raise DistBackendError(
                "init_process_group: this MPI library lets only its own launcher start processes",
                notes={"library": MPI.Get_library_version().splitlines()[0]},
                fix="start by mpiexec -n 2 python script.py; or pip install mpich",
            )
        raise DistBackendError(
            f"init_process_group: MPI began as process {everyone.rank} of {everyone.size} here, and cannot become"
            f" {world.rank} of {world.size}",
            fix="init_process_group once in a process, before anything else uses mpi4py",
        )
    own = everyone.Dup()
    own.Barrier()
    _unlink_segments()
    return own


def _unlink_segments() -> None:
    """Take away the names of the memory that MPICH's processes share, which all of them have mapped by now: nothing
    stays behind, however they end.
    """
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8") as maps:
        for path in {line.split()[-1] for line in maps if "/dev/shm/mpich_shm_" in line}:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _is_other_library(MPI: Any) -> bool:
    return "MPICH" not in MPI.Get_library_version()


def _wire_up(world: World) -> None:
    if world.address is None:
        raise DistNetworkError("init_process_group: the store has no server", fix="use a TCPStore, or env://")
    end = socket.create_connection(world.address, timeout=30)
    end.settimeout(None)
    os.environ.update(PMI_FD=str(end.detach()), PMI_RANK=str(world.rank), PMI_SIZE=str(world.size))
    try:
        mpi()
    finally:
        for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE"):  # not for children
            with contextlib.suppress(KeyError):
                del os.environ[name]
