"""Who the backend is. polyad imports this module when somebody uses the device; keep it cheap."""

from polyad.backend import BackendInfo, Capabilities
from polyad.backend.hookspecs import hookimpl
from polyad.base.dtypes import bool_, float32, int64


@hookimpl
def polyad_backend_info():
    """Say it without touching hardware."""
    return BackendInfo(
        name="template",  # as in pyproject.toml
        api_version=(1, 0),  # of the interface that this was written for
        capabilities=Capabilities(dtypes=frozenset({bool_, int64, float32})),  # any other is refused by name
        install="pip install polyad-template",  # shown to the user when loading fails
        indexed=False,  # one device, "template"; with True they are "template:0", "template:1"
        description="bytes of the host, to be copied",
    )


@hookimpl
def polyad_create_backend():
    """Import the driver and look for hardware: here, not above. Raise what is wrong; the user gets to read it."""
    from .backend import TemplateBackend

    return TemplateBackend()
