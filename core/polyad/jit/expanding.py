"""Calls as the calls that they consist of: which of them a capture opens, and how.

Who needs a graph of few ops, such as an exporter, has a function captured so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..dispatch.effects import Effect, Record
from ..dispatch.op import Op
from ..dispatch.plan import find_plan, run_body
from .capture import Opens

__all__ = ["expanding", "opened"]


def expanding(keeps: Callable[[Op | Effect, tuple[Any, ...]], bool]) -> Opens:
    """What opens all composites but those that *keeps* wants whole, told the op and its arguments, in a capture.

    In-place forms become what they compute, and a ``write`` of it, calls of a `polyad.autograd.Function` what its
    ``forward`` does; views and other effects stay. Functions of control flow are opened too.

    >>> import polyad
    >>> from polyad.jit.capture import Capture, captured
    >>> mode = Capture(opens=expanding(lambda op, args: op.name == "exp2"))
    >>> [node.name for node in captured(mode, lambda x: x.exp2().square_(), (polyad.ones(2),), {})]
    ['exp2', 'mul', 'write']
    """

    def opens(op: Op | Effect, args: tuple[Any, ...]) -> Callable[[], Any] | None:
        if not isinstance(op, Effect):
            whole = op.body is None or op.kind == "view" or keeps(op, args)
            return None if whole else partial(opened, op, args)
        # Ops of `polyad.library`, in whose names is a namespace, stay: what their kernels do may be no ops.
        function = op.record is Record.CUSTOM and "::" not in op.name and not keeps(op, args)
        inside = op.bodies is None and op.body is not None and (op.updates or function)
        return partial(op.body, *args) if inside else None  # type: ignore[arg-type, misc]

    return opens


def opened(op: Op, values: tuple[Any, ...]) -> Any:
    """What the body of a composite makes of *values*, in the dtypes that the op computes in."""
    plan = find_plan(op, values)
    return run_body(op, values) if plan.path != "cast" else plan.indirect(op, values, False)  # type: ignore[misc]
