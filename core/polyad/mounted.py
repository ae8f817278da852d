"""Packages that are shown under polyad's name: ``polyad.vision`` is the package behind the entry point ``vision``.

Core knows none of them. An installed distribution declares in the entry-point group ``polyad.modules`` a name and a
package of its own; the first import of ``polyad.<name>`` loads that package under this name, and under no other, so its
classes exist once. The finder stands behind all others: it is asked only about modules that nobody has found, and
nothing is read before.

To show a package, declare it:

    [project.entry-points."polyad.modules"]
    vision = "polyad_vision"
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, spec_from_file_location
from types import ModuleType

from .devices.entry_points import declared, package_of
from .errors import PolyadError

__all__ = ["GROUP", "MountError", "names", "shows", "watch"]

GROUP = "polyad.modules"


class MountError(PolyadError, ImportError):
    """A declared module that cannot be shown: two packages want its name, or its package is not there."""


def names() -> set[str]:
    """The names that installed packages declare."""
    return set(declared(GROUP))


def shows(name: str) -> bool:
    """Whether ``polyad.<name>`` is a package that somebody declared.

    ``from . import module`` asks for an attribute before it looks for the module, so what lies in core's own folder is
    told apart first, without reading what is installed.
    """
    if name.startswith("_") or PathFinder.find_spec(f"polyad.{name}", sys.modules["polyad"].__path__) is not None:
        return False
    return name in declared(GROUP)


class _Finder:
    """Finds ``polyad.<name>`` where a package declares the name."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        parent, _, name = fullname.rpartition(".")
        points = declared(GROUP).get(name, ()) if parent == "polyad" else ()
        if not points:
            return None
        if len(points) > 1:
            packages = [point.dist.name if point.dist else point.value for point in points]
            raise MountError(
                f"{fullname}: {len(points)} installed packages declare this module",
                notes={"packages": ", ".join(packages)},
                fix=f"uninstall all but one of them, for example: pip uninstall {packages[-1]}",
            )
        found = find_spec(points[0].value)
        if found is None or found.origin is None:
            raise MountError(
                f"{fullname}: {package_of(GROUP, name) or 'an installed package'} declares it as "
                f"{points[0].value}, which cannot be imported",
                fix="install that distribution again",
            )
        return spec_from_file_location(
            fullname, found.origin, submodule_search_locations=found.submodule_search_locations
        )


def watch() -> None:
    """Be asked about every module that is not found, from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
