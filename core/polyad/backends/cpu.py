"""Questions after the processor, at PyTorch's path."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """What is known of the vector instructions: "DEFAULT", since no kernel is chosen by them.

    >>> import polyad
    >>> polyad.backends.cpu.get_cpu_capability()
    'DEFAULT'
    """
    return "DEFAULT"
