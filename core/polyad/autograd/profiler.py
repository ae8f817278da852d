"""PyTorch's path ``polyad.autograd.profiler``: see `polyad.inspection.op_times`."""

from ..inspection.op_times import emit_nvtx as emit_nvtx, profile as profile, record_function as record_function
