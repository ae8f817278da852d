"""How worker processes are started, and what of a program they find.

==============  ================================================================================================
fork            A copy of the process: everything is there, and nothing is sent. Not beside an accelerator in use,
                whose driver a forked process must not ask for anything.
forkserver      A new process, forked from one that has imported polyad and nothing else. The dataset is sent.
spawn           A new interpreter. The dataset is sent.
==============  ================================================================================================

A process that is started anew may import the program's main module, as `multiprocessing` has it: then classes and
functions of that module go by name. That is right only where the module says which part of it is for the first process
alone, by ``if __name__ == "__main__":``. A script without that would begin its training again; a notebook, or a program
from a pipe, has no module to import. There nothing is imported and everything of the main module goes by value.
See docs/adr/0025.
"""

from __future__ import annotations

import ast
import multiprocessing
import sys
from functools import cache
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from polyad import errors
from polyad.devices import registry

from .failures import WorkerFailure

__all__ = ["Start", "checked_context"]


def checked_context(value: Any) -> BaseContext:
    """The way to start processes: a context, or one by its name; what suits the process best if None.

    Raises:
        ValueError: no such way on this system.
        TypeError: something else.
    """
    available = multiprocessing.get_all_start_methods()
    if value is None:
        value = _best()
    if isinstance(value, str):
        if value not in available:
            raise errors.ArgumentError(
                f"DataLoader: multiprocessing_context is {value!r}, and this system starts processes by "
                + ", ".join(available),
                fix="pass one of these, or leave it out",
            )
        value = multiprocessing.get_context(value)
    if not isinstance(value, BaseContext):
        raise errors.wrong_type(
            "DataLoader", "multiprocessing_context", value, 'a name such as "spawn", or what get_context gives'
        )
    return value


def _best() -> str:
    """Fork where nothing forbids it. What the program has chosen for all its processes counts, unless that is fork,
    which Python also chooses by itself.
    """
    chosen = multiprocessing.get_start_method(allow_none=True)
    if chosen in (None, "fork") and sys.platform == "linux" and _accelerator_in_use() is None:
        return "fork"
    return "spawn" if chosen == "spawn" or "forkserver" not in multiprocessing.get_all_start_methods() else "forkserver"


def _accelerator_in_use() -> str | None:
    """A device type that this process has tensors on, or had, whose driver does not work in a forked process."""
    for name in registry.names():
        used = name != "cpu" and registry.is_used(name)
        if used and "shared_host_memory" not in registry.get(name).info.capabilities.features:
            return name
    return None


class Start:
    """A way to start workers, by *context*.

    Attributes:
        forked: whether workers are copies of this process.
        imports_main: whether they import the main module, so that what it defines can go to them by name.

    Raises:
        RuntimeError (WorkerFailure): fork, in a process that computes on an accelerator.
    """

    def __init__(self, context: BaseContext) -> None:
        self._context = context
        method = context.get_start_method()
        self.forked = method == "fork"
        self.imports_main = not self.forked and _says_what_is_not_for_workers(sys.modules.get("__main__"))
        if self.forked:
            accelerator = _accelerator_in_use()
            if accelerator is not None:
                raise WorkerFailure(
                    f'DataLoader: multiprocessing_context="fork", and this process computes on {accelerator}, whose '
                    "driver does not work in a forked process",
                    fix="leave multiprocessing_context out, which starts workers anew",
                )
        elif method == "forkserver":
            if self.imports_main:
                _preload(context)
            else:
                from .server import Context

                self._context = Context()

    def pipe(self) -> Any:
        """Both ends of a connection."""
        return self._context.Pipe()

    def process(self, **arguments: Any) -> Any:
        """A process that is not started yet."""
        return self._context.Process(daemon=True, **arguments)  # type: ignore[attr-defined]


def _says_what_is_not_for_workers(main: Any) -> bool:
    """Whether a program's main module is a file that has a part under ``if __name__ == "__main__":``."""
    spec, path = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if path is None or (spec is not None and spec.name.rpartition(".")[2] == "__main__"):
        return False  # `multiprocessing` does not import it
    try:
        return _has_entry_point(Path(path))
    except (OSError, SyntaxError, ValueError):
        return False


@cache
def _has_entry_point(path: Path) -> bool:
    for statement in ast.parse(path.read_bytes()).body:
        if isinstance(statement, ast.If):
            names = {node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)}
            texts = {node.value for node in ast.walk(statement.test) if isinstance(node, ast.Constant)}
            if "__name__" in names and "__main__" in texts:
                return True
    return False


def _preload(context: BaseContext) -> None:
    """Have the fork server import what workers need, unless the program has said what it imports."""
    from multiprocessing import forkserver

    from .server import PRELOADED

    server = getattr(forkserver, "_forkserver", None)
    if getattr(server, "_preload_modules", None) == ["__main__"]:
        context.set_forkserver_preload(["__main__", PRELOADED])
