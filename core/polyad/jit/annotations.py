"""Types for annotations, where older models import them from: they are Python's."""

from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035 - the names are the point

__all__ = ["Any", "Dict", "Final", "List", "NamedTuple", "Optional", "Tuple", "Union"]
