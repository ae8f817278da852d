"""PyTorch's path ``polyad.autograd.profiler``: see `polyad.inspection.op_times`."""

from ..inspection.op_times import (
    Averages as EventList,
    emit_nvtx as emit_nvtx,
    profile as profile,
    record_function as record_function,
)

__all__ = ["EventList", "emit_nvtx", "profile", "record_function"]
