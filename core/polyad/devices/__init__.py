"""How core finds devices and gets kernels for them. A backend's author reads `polyad.backend` instead.

registry.py      finding, loading and quarantining backends; devices and tensor types
entry_points.py  reading the names that packages declare, importing a package
plugins.py       kernels that other packages bring for a device
fallback.py      what happens to an op for which a device has no kernel
accelerators.py  which device type is meant where none is named
streams.py       `polyad.Stream` and `polyad.Event`, over what backends bring
"""
