"""The version, in one place: pyproject.toml and `polyad.__version__` both read it here."""

__version__ = "0.1.0"
