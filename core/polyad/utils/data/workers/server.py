"""A fork server of polyad's own, which has imported what workers need and never imports the program's main module.

That of `multiprocessing` is left to the program: which modules it imports is a choice for the whole process.
"""

from __future__ import annotations

import io
import os
from multiprocessing import context, forkserver, popen_forkserver, reduction, spawn, util
from typing import Any

__all__ = ["PRELOADED", "Context", "Process"]

PRELOADED = f"{__package__}.preloaded"
_server = forkserver.ForkServer()
_server.set_forkserver_preload([PRELOADED])


class _Popen(popen_forkserver.Popen):
    _fds: list[int]

    def _launch(self, process: Any) -> None:
        told = spawn.get_preparation_data(process.name)
        message = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump({name: told[name] for name in told if not name.startswith("init_main")}, message)
            reduction.dump(process, message)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, orders = _server.connect_to_new_process(self._fds)
        # The end of this pipe tells the worker of the end of the process that started it.
        self.finalizer = util.Finalize(self, _close, (os.dup(orders), self.sentinel))
        with open(orders, "wb") as pipe:
            pipe.write(message.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class Process(context.ForkServerProcess):
    """A process that the server forks."""

    @staticmethod
    def _Popen(process: Any) -> Any:
        return _Popen(process)


class Context(context.ForkServerContext):
    """What ``multiprocessing.get_context("forkserver")`` gives, with this server."""

    Process = Process
