"""Who the backend is. polyad imports this module when somebody uses the device; keep it cheap."""

from polyad.backend import BackendInfo, Capabilities
from polyad.backend.hookspecs import hookimpl
from polyad.dtypes import bool_, float32, int64


@hookimpl
def polyad_backend_info():
    """Say it without touching hardware."""
    return BackendInfo(
        name="older_1_1",  # as in pyproject.toml
        api_version=(1, 1),  # of the interface that this was written for
        capabilities=Capabilities(
            dtypes=frozenset({bool_, int64, float32}),  # any other is refused by name
            features=frozenset({"atomics", "graphs", "streams"}),
        ),
        install="pip install polyad-older",  # shown to the user when loading fails
        indexed=False,  # one device, "older_1_1"; with True they are "older_1_1:0", ...
        description="bytes of the host, to be copied",
    )


@hookimpl
def polyad_create_backend():
    """Import the driver and look for hardware: here, not above. Raise what is wrong; the user gets to read it."""
    from .backend import TemplateBackend

    return TemplateBackend()
