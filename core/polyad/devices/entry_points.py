"""Reading the names that installed packages declare, and importing what is behind a name.

Names are read without importing anything. A hook module is imported when its backend or plug-in is first needed, and
each gets a pluggy manager of its own: what a package does wrong in its hooks reaches nobody else, and a module may
serve several names.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import BackendUnavailable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BACKEND_GROUP = "polyad.backends"
PLUGIN_GROUP = "polyad.plugins"


@cache
def declared(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """The entry points of *group* by name; several for a name that several packages declare. Read once."""
    # Imported here: it brings the email package along, a quarter of what polyad takes to import.
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        known = found.get(point.name, ())
        if all(point.value != other.value for other in known):
            found[point.name] = (*known, point)
    return found


def entry_points(group: str) -> dict[str, EntryPoint]:
    """One entry point a name."""
    return {name: points[0] for name, points in declared(group).items()}


def package_of(group: str, name: str) -> str:
    """The distribution that declares *name*, such as ``polyad 0.1.0``; the empty string if it is not known."""
    points = declared(group).get(name, ())
    dist = points[0].dist if points else None
    return "" if dist is None else f"{dist.name} {dist.version}"


def hooks(group: str, name: str) -> Any:
    """Import the hook module of *name* and give it to pluggy; returns the hooks, callable by name.

    Raises BackendUnavailable when two packages declare the name, and whatever the import raises.
    """
    import pluggy

    from ..backend import hookspecs

    points = declared(group)[name]
    if len(points) > 1:
        packages = [point.dist.name if point.dist else point.value for point in points]
        raise BackendUnavailable(
            f"{name!r}: {len(points)} installed packages declare this name",
            notes={"packages": ", ".join(packages)},
            fix=f"uninstall all but one of them, for example: pip uninstall {packages[-1]}",
        )
    manager = pluggy.PluginManager("polyad")
    manager.add_hookspecs(hookspecs)
    manager.register(points[0].load(), name=name)
    return manager.hook


def way_out(reason: str, install: str) -> str:
    """What a user can do about a package that failed to load for *reason*: *install* it again, if that can help."""
    if "permission denied" in reason.lower() or "operation not permitted" in reason.lower():
        # The text and not the type: the loader of shared libraries says it in an ImportError.
        return "give yourself permission to what it names; ls -l shows who has it, and `id` the groups that you are in"
    return install
