"""polyad in place of PyTorch: programs and libraries that ``import torch`` run on polyad, unedited.

    import polyad.as_torch

    polyad.as_torch.install()
    import torch            # polyad; torch.nn is polyad.nn

or, without a line of change:

    python -m polyad.as_torch script.py --its --arguments
    python -m polyad.as_torch -m module
    python -m polyad.as_torch --enable     # for a whole environment: see below

finding.py   what ``import torch`` and ``importlib.metadata`` find
startup/     what Python runs first in the child processes of a program that runs so

A module of PyTorch's is the module of polyad's at the same path, the same object, so a class exists once. What polyad
lacks is not there: importing it fails as polyad's own paths fail, with the reason.

``--enable`` puts a file into the environment's site-packages that installs the stand-in at the start of each Python
that runs with ``POLYAD_AS_TORCH=1``; ``--disable`` takes it away. A plain ``import polyad`` changes nothing.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder

import polyad

from ..base.locks import Lock
from ..base.state import warn_user
from ..errors import PolyadError
from .finding import Finder

__all__ = ["AlreadyImported", "install", "is_installed", "uninstall"]

_finder = Finder()
_installing = Lock()


class AlreadyImported(PolyadError, ImportError):
    """Another ``torch`` is imported, so polyad cannot be it."""


def is_installed() -> bool:
    """Whether ``import torch`` gives polyad.

    >>> from polyad import as_torch
    >>> as_torch.is_installed()
    False
    """
    return _finder in sys.meta_path


def install() -> None:
    """Let ``import torch``, in this process, give polyad. Once more changes nothing.

    PyTorch that is installed as well is left alone: polyad goes before it, and a warning says so. Raises ImportError if
    it is imported already, even in part: two libraries under one name would mix their tensors.

    >>> from polyad import as_torch
    >>> as_torch.install()
    >>> import polyad, torch.nn as nn
    >>> nn is polyad.nn
    True
    >>> as_torch.uninstall()
    """
    with _installing:
        if is_installed():
            return
        _refuse_another()
        other = _pytorch()
        sys.meta_path.insert(0, _finder)
        polyad.__name__ = "torch"  # libraries that patch by name read it
    if other is not None:
        warn_user(
            f"PyTorch is installed too ({other.origin}); import torch gives polyad until polyad.as_torch.uninstall()",
            UserWarning,
        )


def _refuse_another() -> None:
    """Raise if another ``torch`` is imported, or parts that an import which failed has left."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch" and not getattr(module, "__name__", "").startswith("polyad"):
            where = getattr(module, "__file__", None) or "a module without a file"
            raise AlreadyImported(
                f"as_torch.install: another torch is imported{'' if 'torch' in sys.modules else ' in part'}",
                notes={name: str(where)},
                fix="call polyad.as_torch.install() before anything imports torch",
            )


def _pytorch() -> ModuleSpec | None:
    """PyTorch, if it is installed."""
    return PathFinder.find_spec("torch")


def uninstall() -> None:
    """Take `install` back: ``import torch`` finds PyTorch, or nothing. Who holds a module of polyad's keeps it."""
    with _installing:
        if not is_installed():
            return
        sys.meta_path.remove(_finder)
        polyad.__name__ = "polyad"
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            del sys.modules[name]
