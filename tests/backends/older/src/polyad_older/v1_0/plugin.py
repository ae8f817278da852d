"""Who the backend is."""

from polyad.backend.hookspecs import hookimpl


@hookimpl
def polyad_backend_info():
    from .backend import BytesBackend

    return BytesBackend.info


@hookimpl
def polyad_create_backend():
    from .backend import BytesBackend

    return BytesBackend()
