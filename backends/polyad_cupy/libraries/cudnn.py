"""Graphs of operations by cuDNN, through NVIDIA's Python frontend: convolutions and attention.

cuDNN is told tensors by their sizes and steps, so that one whose channels lie innermost needs no copy, plans the work
once for each `Work` and runs plans on addresses. The frontend's names, and those of the parameters that are used here,
are compared with its wheel by ``tests/backends/cupy/compare_names.py``.

What is never chosen: engines that add up in an order that depends on timing, since no op of polyad does, and those that
compute less precisely than the dtype says (Winograd's, Fourier's, sums in half types).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from cupy.cuda import Event, get_elapsed_time

from polyad.base.dtypes import DType, bfloat16, float16, float32, float64
from polyad.base.locks import Lock

if TYPE_CHECKING:
    from ..runtime.device import Device

Sizes = tuple[int, ...]

ALIGNMENT = 16
"""Bytes to a multiple of which every tensor has to begin: what the frontend tells cuDNN by itself."""

TYPES = {float16: "HALF", bfloat16: "BFLOAT16", float32: "FLOAT", float64: "DOUBLE"}
"""The frontend's names of dtypes."""

AVOIDED = (
    "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION", "NONDETERMINISTIC", "FFT", "WINOGRAD", "WINOGRAD_TILE_4x4",
    "WINOGRAD_TILE_6x6", "WINOGRAD_TILE_13x13",
)  # fmt: skip
"""Notes of engines that are never chosen, whatever the work."""


class CudnnError(RuntimeError):
    """A call of cuDNN failed."""


@cache
def library() -> Any:
    """The frontend, which has found cuDNN. Raises OSError if one of the two is not installed."""
    try:
        import cudnn
    except Exception as error:
        raise OSError(f"cuDNN's frontend is not installed: pip install nvidia-cudnn-frontend ({error})") from error
    try:
        cudnn.backend_version()
    except Exception as error:
        raise OSError(
            f"cuDNN is not installed: pip install nvidia-cudnn-cu12, or nvidia-cudnn-cu13 for CUDA 13 ({error})"
        ) from error
    return cudnn


def version() -> str:
    """The versions of library and frontend. Raises OSError if one is not installed."""
    cudnn = library()
    return f"{cudnn.backend_version_string()}, frontend {cudnn.__version__}"


class Work(ABC):
    """What a plan is made for; equal works have one plan. Derive a frozen dataclass.

    Attributes:
        dtype: of the operands.
    """

    dtype: DType

    @property
    def avoided(self) -> tuple[str, ...]:
        """Notes of engines that are not to be chosen."""
        return AVOIDED

    @abstractmethod
    def describe(self, cudnn: Any, graph: Any) -> None:
        """Put the operations into *graph*; the tensors' numbers, from 1 on, are the order of their addresses."""


def planned(cudnn: Any, work: Work, *, every: bool = False, **where: Any) -> Any:
    """A graph of the frontend's with a plan for *work*, or with *every* plan that may be chosen.

    Args:
        where: the handle that it is for, or, for a device that is not there, its description.
    """
    compute = cudnn.data_type.DOUBLE if work.dtype is float64 else cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=getattr(cudnn.data_type, TYPES[work.dtype]),
        intermediate_data_type=compute,
        compute_data_type=compute,
        **where,
    )
    work.describe(cudnn, graph)
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.deselect_numeric_notes([getattr(cudnn.numerical_note, note) for note in work.avoided])
    graph.check_support()
    policy = cudnn.build_plan_policy
    graph.build_plans(policy.ALL if every else policy.HEURISTICS_CHOICE)
    return graph


class _Plan:
    """A graph that is ready to run, the index of its plan (None: the heuristic's), the bytes that it works in."""

    __slots__ = ("graph", "index", "workspace")

    def __init__(self, graph: Any, index: int | None, workspace: int) -> None:
        self.graph, self.index, self.workspace = graph, index, workspace


class Engine:
    """cuDNN on a device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = Lock()  # a handle serves one thread at a time
        self._plans: dict[tuple[Work, int], _Plan | None] = {}
        device.enter()
        try:
            self._cudnn = library()
            self._handle = self._cudnn.create_handle()
        except Exception as error:
            raise CudnnError(f"there is no handle: {error}") from error

    def __call__(self, work: Work, places: Sequence[int], tried: int = 0) -> bool:
        """Enqueue *work* on the tensors at these addresses in this thread's stream; False if cuDNN has no plan for it.

        Args:
            tried: how many plans are timed, to take the fastest; 0: the heuristic's first.

        Raises CudnnError if cuDNN fails.
        """
        key = work, tried
        try:
            plan = self._plans[key]
        except KeyError:
            plan = self._plans[key] = self._made(work, places, tried)
        if plan is None:
            return False
        self._run(plan, places)
        return True

    def _run(self, plan: _Plan, places: Sequence[int]) -> None:
        device = self._device
        # The pool gives memory out again in the order of the stream, so that it may go back before the work is done,
        # but not before it is enqueued: another thread's work in the stream would come in between.
        block = device.pool.take(plan.workspace) if plan.workspace else None
        workspace = block.buffer if block else 0
        numbered = dict(enumerate(places, 1))
        device.enter()
        try:
            with self._lock:
                self._cudnn.set_stream(handle=self._handle, stream=int(device.stream.ptr))
                if plan.index is None:
                    plan.graph.execute(numbered, workspace, handle=self._handle)
                else:
                    plan.graph.execute_plan_at_index(numbered, workspace, index=plan.index, handle=self._handle)
        except Exception as error:
            raise CudnnError(f"{type(error).__name__}: {error}") from error

    def _made(self, work: Work, places: Sequence[int], tried: int) -> _Plan | None:
        self._device.enter()
        try:
            with self._lock:
                graph = planned(self._cudnn, work, every=bool(tried), handle=self._handle)
                workspace = graph.get_workspace_size()
        except self._cudnn.cudnnGraphNotSupportedError:
            return None
        except Exception as error:
            raise CudnnError(f"{type(error).__name__}: {error}") from error
        first = _Plan(graph, None, workspace)
        return self._fastest(first, places, tried) if tried else first

    def _fastest(self, first: _Plan, places: Sequence[int], tried: int) -> _Plan:
        """That of the first plans which takes the device least time."""
        best, least = first, float("inf")
        left = tried
        for index in range(first.graph.get_execution_plan_count()):
            if not left:
                break
            plan = _Plan(first.graph, index, first.graph.get_workspace_size_plan_at_index(index))
            try:
                self._run(plan, places)  # loads what has to be loaded
            except CudnnError:
                continue  # a plan that was not to be chosen, or does not run here
            left -= 1
            begin, end = Event(), Event()
            begin.record(self._device.stream)
            self._run(plan, places)
            end.record(self._device.stream)
            end.synchronize()
            took = get_elapsed_time(begin, end)
            if took < least:
                best, least = plan, took
        return best
