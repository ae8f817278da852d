"""The versions, in one place: pyproject.toml reads `__version__` here, and `polyad.version` both."""

__version__ = "0.1.0"
"""polyad's own version, which its packages have."""

torch_api_version = "2.13.0"
"""The version of PyTorch whose names, arguments and results polyad follows."""
