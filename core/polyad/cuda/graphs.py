"""Captured graphs: work that is enqueued once and done again with a single call.

A graph repeats kernels with the numbers and addresses that they had: new values are copied into the tensors that it
reads, results are read from the tensors that it wrote. Ops whose result depends on values of tensors, and what waits
for values, cannot be captured, and say so. Numbers of the host, such as a learning rate, stay as they were; random
numbers are drawn anew by each replay, see `polyad.random.captured`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd import Function, grad as _gradients
from ..base.state import state
from ..base.trees import flatten
from ..devices import streams
from ..errors import ArgumentError, ArgumentTypeError, DeviceError, safe_repr
from ..random.captured import CapturedDraws
from ..tensor import Tensor
from .devices import named, synchronize
from .memory import empty_cache

if TYPE_CHECKING:
    from ..random.generator import Generator

_numbers = itertools.count(1)
_MODES = ("global", "thread_local", "relaxed")


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that graphs share if they are given it: see `CUDAGraph.capture_begin`.

    >>> import polyad
    >>> polyad.cuda.graph_pool_handle() != polyad.cuda.graph_pool_handle()
    True
    """
    return (0, next(_numbers))


class CUDAGraph:
    """Work of a stream that was captured, and can be replayed.

    Most programs capture with `graph`, or by `make_graphed_callables`. *keep_graph* is PyTorch's and has no effect.

    >>> import polyad
    >>> captured = polyad.cuda.CUDAGraph()
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph: Any = None
        self._stream: streams.Stream | None = None
        self._token: tuple[int, int] | None = None
        self._manager: Any = None
        self._draws: CapturedDraws | None = None

    def register_generator_state(self, generator: Generator) -> None:
        """Do nothing: each replay draws from whichever generators the captured work was given."""

    def capture_begin(
        self,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Capture what this thread enqueues in its current stream, which may not be the default one.

        Args:
            pool: what `graph_pool_handle` or `pool` of another graph gave: the graphs share memory, and are right only
                when they are replayed in the order of their captures.
            capture_error_mode, check_input_liveness: PyTorch's, without effect: what cannot be captured raises always.

        Raises RuntimeError where the stream cannot be captured, NotImplementedError where the device captures nothing.
        """
        if capture_error_mode not in _MODES:
            raise ArgumentError(
                f"capture_begin: capture_error_mode {safe_repr(capture_error_mode)} is unknown",
                fix=f"pass one of {', '.join(_MODES)}",
            )
        if self._graph is not None or self._stream is not None:
            raise DeviceError(
                "capture_begin: this CUDAGraph holds captured work", fix="take another, or reset it first"
            )
        stream = streams.current_stream(named(None))
        manager = streams.streams_of(stream.device)
        self._token = graph_pool_handle() if pool is None else tuple(pool)  # type: ignore[assignment]
        manager.begin_capture(stream._handle, self._token)
        self._stream, self._manager = stream, manager
        state.capturing = self._draws = CapturedDraws(stream.device)

    def capture_end(self) -> None:
        """End the capture. Raises RuntimeError if none goes on, or if work was asked for that spoilt it."""
        if self._stream is None or self._graph is not None:
            raise DeviceError("capture_end: nothing is captured", fix="call capture_begin first")
        assert self._draws is not None
        state.capturing = None
        self._draws.end()
        try:
            self._graph = self._manager.end_capture()
        finally:
            if self._graph is None:
                self._stream = None

    def instantiate(self) -> None:
        """Do nothing: a captured graph is ready to be replayed."""
        self._captured("instantiate")

    def _captured(self, op: str) -> Any:
        if self._graph is None:
            raise DeviceError(
                f"{op}: this CUDAGraph holds no captured work", fix="capture first: with polyad.cuda.graph(g): ..."
            )
        return self._graph

    def replay(self) -> None:
        """Enqueue the captured work in the current stream of its device; does not wait.

        Random numbers are drawn as if the work was run now. Raises RuntimeError if nothing was captured.
        """
        graph = self._captured("replay")
        stream = self._stream
        assert stream is not None
        assert self._draws is not None
        self._draws.begin_replay()
        self._manager.replay(graph, streams.current_stream(stream.device)._handle)

    def reset(self) -> None:
        """Let go of the captured work and its memory."""
        self._graph = self._stream = self._token = self._draws = None

    def pool(self) -> tuple[int, int]:
        """The name of its memory, for `capture_begin` of other graphs. Raises RuntimeError if nothing was captured."""
        if self._token is None:
            self._captured("pool")
        assert self._token is not None
        return self._token

    def enable_debug_mode(self) -> None:
        """Do nothing: PyTorch's switch for `torch.cuda.CUDAGraph.debug_dump`."""


class graph:
    """A context whose work on the current cuda device is captured into *cuda_graph*.

    Args:
        pool: see `CUDAGraph.capture_begin`.
        stream: the stream that is captured; one of its own if None.
        capture_error_mode, enable_annotations, check_input_liveness: PyTorch's, without effect.

    Run the work once before, in another stream than the default one: what is made at a first use cannot be captured.

    >>> import polyad
    >>> def double(x):  # on a device: y is computed anew, for what x holds then, by each replay
    ...     captured = polyad.cuda.CUDAGraph()
    ...     with polyad.cuda.graph(captured):
    ...         y = x * 2
    ...     return captured.replay, y
    """

    default_capture_stream: streams.Stream | None = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: tuple[int, int] | None = None,
        stream: streams.Stream | None = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:
        if not isinstance(cuda_graph, CUDAGraph):
            raise ArgumentTypeError(
                f"graph: cuda_graph is {safe_repr(cuda_graph)}, not a CUDAGraph", fix="pass polyad.cuda.CUDAGraph()"
            )
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode
        self.capture_stream = _side_stream() if stream is None else streams.checked(stream, "graph")

    def __enter__(self) -> None:
        synchronize(self.capture_stream.device)
        empty_cache()
        self.capture_stream.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self.capture_stream.__exit__(None, None, None)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        except Exception:
            if error is None:
                raise  # else what went wrong first is what the user has to see
        finally:
            self.capture_stream.__exit__(kind, error, where)
        if error is not None:
            self.cuda_graph.reset()


def _side_stream() -> streams.Stream:
    """A stream for captures on the current device; programs capture one thing at a time."""
    known, device = graph.default_capture_stream, named(None)
    if known is None or known.device != device:
        known = graph.default_capture_stream = streams.Stream(device)
    return known


def make_graphed_callables(
    callables: Any,
    sample_args: Sequence[Any],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """*callables* (a function or module, or a tuple of them) whose forward and backward passes are captured graphs.

    A graphed callable takes tensors like those of *sample_args* (a tuple for each of several callables), with which it
    was captured, and copies what it is given over them. Its results are the graph's tensors, overwritten by the next
    call. A module is changed in place, and computes as before in the other of training and evaluation.

    Args:
        num_warmup_iters: how often each runs before it is captured.
        allow_unused_input: whether an argument that needs a gradient may have no influence.
        pool: see `CUDAGraph.capture_begin`.

    Raises RuntimeError where work cannot be captured, TypeError for arguments that are no tensors.
    """
    several = isinstance(callables, tuple)
    functions = callables if several else (callables,)
    samples = tuple(sample_args) if several else (tuple(sample_args),)
    if len(functions) != len(samples):
        raise ArgumentError(
            f"make_graphed_callables: {len(functions)} callables and {len(samples)} tuples of sample_args",
            fix="give a tuple of arguments for each callable",
        )
    token = graph_pool_handle() if pool is None else pool
    passes = [_Captured(function, tuple(args)) for function, args in zip(functions, samples)]
    for each in passes:
        each.warm(num_warmup_iters, allow_unused_input)
    # In the order in which they will be replayed, since they share memory: forward, and backward the other way round.
    for each in passes:
        each.capture_forward(token)
    for each in reversed(passes):
        each.capture_backward(token, allow_unused_input)
    made = [each.finished() for each in passes]
    return tuple(made) if several else made[0]


class _Captured:
    """A function, captured with its sample arguments."""

    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        self.function = function
        self.module = function if hasattr(function, "parameters") else None  # `nn` stands above this package
        self.inputs, self.form = flatten(args)
        for value in self.inputs:
            if not isinstance(value, Tensor):
                raise ArgumentTypeError(
                    f"make_graphed_callables: sample_args has {safe_repr(value)}, which is no tensor",
                    fix="give tensors, and bind the rest with functools.partial",
                )
        self.parameters = [] if self.module is None else [p for p in self.module.parameters() if p.requires_grad]
        self.surface = [*self.inputs, *self.parameters]
        self.wanted = [tensor for tensor in self.surface if tensor.requires_grad]
        self.forward, self.reverse = CUDAGraph(), CUDAGraph()

    def _outputs(self) -> tuple[list[Any], Any]:
        return flatten(self.function(*self.form.build(self.inputs)))

    def _gradients(self, outputs: list[Any], grads: list[Any], unused: bool) -> tuple[Any, ...]:
        pairs = [(out, grad) for out, grad in zip(outputs, grads) if out.requires_grad]
        if not pairs or not self.wanted:
            return ()
        roots, given = zip(*pairs)
        return tuple(_gradients(roots, self.wanted, given, allow_unused=unused))

    def warm(self, times: int, unused: bool) -> None:
        """Run it *times*, away from the default stream."""
        synchronize()
        stream = _side_stream()
        with stream:
            for _ in range(times):
                outputs, _ = self._outputs()
                self._gradients(outputs, [out.new_ones(out.shape) for out in outputs], unused)
        stream.synchronize()

    def capture_forward(self, token: tuple[int, int]) -> None:
        """Capture the function."""
        with graph(self.forward, pool=token):
            self.outputs, self.result_form = self._outputs()
        self.grads = [out.new_zeros(out.shape) for out in self.outputs]

    def capture_backward(self, token: tuple[int, int], unused: bool) -> None:
        """Capture its gradients, if there are any."""
        self.found: tuple[Any, ...] = ()
        if self.wanted and any(out.requires_grad for out in self.outputs):
            with graph(self.reverse, pool=token):
                self.found = self._gradients(self.outputs, self.grads, unused)
        self.outputs = [out.detach() for out in self.outputs]

    def finished(self) -> Any:
        """What stands in the function's place."""
        by_graph = _graphed(self)
        if self.module is None:
            return by_graph
        module, eagerly, training = self.module, self.module.forward, self.module.training

        def forward(*args: Any, **kwargs: Any) -> Any:
            return by_graph(*args, **kwargs) if module.training == training else eagerly(*args, **kwargs)

        module.forward = forward
        return module


def _graphed(captured: _Captured) -> Callable[..., Any]:
    count = len(captured.inputs)

    class Graphed(Function):
        """The captured passes as a function with a gradient."""

        @staticmethod
        def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
            """Copy the arguments over those of the capture, and replay."""
            for own, given in zip(captured.inputs, tensors[:count], strict=True):
                if own is not given:
                    own.detach().copy_(given)
            captured.forward.replay()
            return tuple([out.detach() for out in captured.outputs])

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Any:
            """The same for the gradients."""
            for own, given in zip(captured.grads, grads, strict=True):
                own.copy_(given)
            if captured.found:
                captured.reverse.replay()
            found = iter(captured.found or [None] * len(captured.wanted))
            each = [next(found) if tensor.requires_grad else None for tensor in captured.surface]
            return tuple([None if grad is None else grad.detach() for grad in each])

    def call(*args: Any) -> Any:
        given, form = flatten(args)
        if form != captured.form:
            raise ArgumentError(
                "a graphed callable: its arguments are not arranged like the sample_args of its capture",
                fix="call it with tensors in the places that they had",
            )
        for own, tensor in zip(captured.inputs, given):
            if not isinstance(tensor, Tensor) or tensor.shape != own.shape or tensor.dtype is not own.dtype:
                raise ArgumentError(
                    "a graphed callable: an argument differs from that of its capture",
                    operands={"argument": tensor, "captured": own},
                    fix="give tensors of the shapes and dtypes with which it was captured",
                )
        results = Graphed.apply(*given, *captured.parameters)
        return captured.result_form.build(results if isinstance(results, tuple) else (results,))

    return call
