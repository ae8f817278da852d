"""Checkpointing: forget what a part of the network saved for backward, and compute that part again when it is needed.

Memory for time: a network of n layers in which each layer is checkpointed keeps the inputs of n layers and what a
single layer saves, and computes each layer twice. docs/checkpointing.md has measurements.

frames.py      the usual way: saved tensors are replaced, as they are saved, by what can compute them again
reentrant.py   PyTorch's older way: one node whose backward runs a backward pass of its own
settings.py    switches for all checkpoints

Source of the idea: A. Griewank and A. Walther, "Algorithm 799: revolve", 2000; T. Chen et al., "Training deep nets with
sublinear memory cost", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...base.state import state
from ...compatibility.absent import lacking
from ...dispatch.arguments import explaining
from ...errors import ArgumentError, ArgumentTypeError, safe_repr, wrong_type
from .frames import CheckpointError, Frame
from .reentrant import run_reentrant
from .settings import noop_context_fn, set_checkpoint_debug_enabled, set_checkpoint_early_stop

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

__getattr__ = lacking(__name__)

ContextFn = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


@explaining
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: ContextFn = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, without keeping what it saves for backward: backward calls *function* again.

    The gradients are those of the plain call, second derivatives too. Random numbers are the same in both calls, and
    so are the default device and autocast; other state must be: a function that decides differently the second time is
    an error, and a function that counts calls counts two. Checkpoints nest.

    Args:
        function: what to call; arguments and results may be anything.
        use_reentrant: True for PyTorch's older way, with its limits: positional arguments only, at least one of which
            requires a gradient; ``backward()`` only, not ``autograd.grad`` or ``inputs=``; no second derivatives. None
            is False.
        context_fn: gives two context managers, for the first call and for the call in backward.
        determinism_check: "default" compares shapes, dtypes and devices of what both calls save; "none" does not.
        debug: keep a listing of both calls' ops, and show it if they differ.
        early_stop: end the second call as soon as everything that backward needs is there.
        preserve_rng_state: False leaves the random numbers of the second call to chance; among *kwargs*, as the other
            arguments of *function*.

    Raises:
        ValueError: options that are none, or that do not go together.
        CheckpointError (a RuntimeError): in backward, if the second call does something else than the first.

    >>> import polyad
    >>> from polyad.utils.checkpoint import checkpoint
    >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
    >>> y = checkpoint(lambda t: (t.exp() * t).sum(), x)
    >>> y.backward()
    >>> bool(polyad.allclose(x.grad, (1 + x) * x.exp()))
    True
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if not callable(function):
        raise ArgumentTypeError(
            f"checkpoint: {safe_repr(function)} cannot be called", fix="pass a function or a module first"
        )
    if not callable(context_fn):
        raise wrong_type("checkpoint", "context_fn", context_fn, "a function")
    if determinism_check not in ("default", "none"):
        raise ArgumentError(
            f"checkpoint: determinism_check is {safe_repr(determinism_check)}", fix='pass "default" or "none"'
        )
    if use_reentrant:
        if kwargs:
            raise ArgumentError(
                f"checkpoint: use_reentrant=True passes no keyword arguments, and was given {', '.join(kwargs)}",
                fix="pass use_reentrant=False, or bind them: lambda x: function(x, key=value)",
            )
        if context_fn is not noop_context_fn or debug:
            raise ArgumentError(
                "checkpoint: context_fn and debug are for use_reentrant=False", fix="pass use_reentrant=False"
            )
        return run_reentrant(function, preserve, args)
    first, again = context_fn()
    if not state.grad_enabled:
        with first:
            return function(*args, **kwargs)
    frame = Frame(
        function,
        args,
        kwargs,
        again,
        preserve_random=preserve,
        check=determinism_check == "default",
        debug=debug,
        early_stop=early_stop,
    )
    with frame.recording(), first:
        return function(*args, **kwargs)


@explaining
def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]], segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call *functions* one after the other, from *input* on, as *segments* checkpoints of about equal length.

    The last segment is called as it is: its backward comes first, so nothing would be saved.

    Args:
        functions: an ``nn.Sequential``, or a list of functions of one argument.
        segments: how many; from 1 to the number of functions.
        input: the first function's argument.
        use_reentrant: as in `checkpoint`.
        preserve_rng_state: as in `checkpoint`; by name.

    Raises ValueError for other keyword arguments, or a number of segments out of range.

    >>> import polyad
    >>> from polyad import nn
    >>> from polyad.utils.checkpoint import checkpoint_sequential
    >>> model = nn.Sequential(*[nn.Linear(3, 3) for _ in range(6)])
    >>> checkpoint_sequential(model, 3, polyad.ones(1, 3)).shape
    polyad.Size([1, 3])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ArgumentError(
            f"checkpoint_sequential: unknown arguments {', '.join(kwargs)}", fix="leave them out; bind them by lambda"
        )
    if isinstance(functions, type) or not (hasattr(functions, "children") or isinstance(functions, Iterable)):
        raise wrong_type("checkpoint_sequential", "functions", functions, "a Sequential or a list of functions")
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    for position, step in enumerate(steps):
        if not callable(step):
            raise wrong_type("checkpoint_sequential", f"functions[{position}]", step, "a function or a module")
    if isinstance(segments, bool) or not isinstance(segments, int) or not 1 <= segments <= max(len(steps), 1):
        raise ArgumentError(
            f"checkpoint_sequential: {segments} segments of {len(steps)} functions",
            fix=f"pass a number of segments from 1 to {len(steps)}",
        )

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def call(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return call

    size = len(steps) // segments
    last = size * (segments - 1)
    for start in range(0, last, size or 1):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(last, len(steps))(input)
