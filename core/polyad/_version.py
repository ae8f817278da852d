"""The version, in one place: pyproject.toml and `polyad.__version__` both read it here."""

__version__ = "0.1.0"

torch_api_version = "2.13.0"
"""The version of PyTorch whose names, arguments and results polyad follows."""
