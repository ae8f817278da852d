"""PyTorch's path ``polyad.profiler``: see `polyad.inspection.profiling`."""

from .compatibility.absent import lacking
from .inspection.profiling import (
    ProfilerAction as ProfilerAction,
    ProfilerActivity as ProfilerActivity,
    kineto_available as kineto_available,
    profile as profile,
    record_function as record_function,
    schedule as schedule,
    supported_activities as supported_activities,
    tensorboard_trace_handler as tensorboard_trace_handler,
)

__path__: list[str] = []  # modules of aliases are found in it: see `polyad.compatibility.aliases`
__getattr__ = lacking(__name__)
