"""Times of statements, at PyTorch's path ``polyad.utils.benchmark``.

measurement.py  `Measurement`: the times of one statement
timer.py        `Timer`: takes them
compare.py      `Compare`: shows several as a table
"""

from ...compatibility.absent import lacking
from .compare import Colorize, Compare
from .measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .timer import Language, Timer, timer

__getattr__ = lacking(__name__)

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
