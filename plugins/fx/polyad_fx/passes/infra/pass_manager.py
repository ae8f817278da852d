"""Runs passes in order, again while they find something."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from polyad import nn
from polyad.errors import ArgumentTypeError

from ...graph_module import GraphModule
from ...node import GraphError
from .pass_base import PassResult

__all__ = ["PassManager", "this_before_that_pass_constraint"]

Pass = Callable[[GraphModule], PassResult | None]


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Callable[[Pass, Pass], bool]:
    """A constraint: *that* does not come before *this*."""
    return lambda first, second: not (first is that and second is this)


class PassManager:
    """Runs passes over a module.

    Args:
        passes: what is run: functions of a GraphModule that give a `PassResult`, or None.
        constraints: functions of two passes: whether the first may come before the second.
        steps: how often the list is run at most; it ends where no pass changes anything.
        run_checks_after_each_pass: whether the checks of `add_checks` run behind each pass.
        suppress_check_failures: whether a check may raise.

    Raises RuntimeError, when it is called, for an order that the *constraints* forbid and for a pass that fails; which
    one is said.
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Callable[[Pass, Pass], bool]] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = list(passes or [])
        self.constraints = list(constraints or [])
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._check: Callable[[nn.Module], Any] | None = None

    def add_pass(self, _pass: Pass) -> None:
        """Run *_pass* behind the others."""
        self.passes.append(_pass)

    def add_constraint(self, constraint: Callable[[Pass, Pass], bool]) -> None:
        """Ask *constraint* of each pair of passes."""
        self.constraints.append(constraint)

    def add_checks(self, check: Callable[[nn.Module], Any]) -> None:
        """Call *check* with the module that comes out, and behind each pass if the manager is to.

        Raises TypeError if it does not take one argument.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise ArgumentTypeError("PassManager.add_checks: check takes a module alone", fix="pass such a function")
        self._check = check

    def validate_constraints(self) -> None:
        """Raise RuntimeError for an order of passes that a constraint forbids."""
        for place, first in enumerate(self.passes):
            for second in self.passes[place + 1 :]:
                if not all(allows(first, second) for allows in self.constraints):
                    raise GraphError(
                        f"PassManager: {_name(first)} may not come before {_name(second)}", fix="change their order"
                    )

    def __call__(self, module: GraphModule) -> PassResult:
        self.validate_constraints()
        modified = False
        self._checked(module)
        for _ in range(self.steps):
            changed = False
            for one in self.passes:
                module, found = self._run(one, module)
                changed = changed or found
                if self.run_checks_after_each_pass:
                    self._checked(module)
            modified = modified or changed
            if not changed:
                break
        self._checked(module)
        return PassResult(module, modified)

    def _run(self, one: Pass, module: GraphModule) -> tuple[GraphModule, bool]:
        try:
            result = one(module)
        except Exception as error:
            raise GraphError(
                f"PassManager: the pass {_name(one)} failed: {error}", fix="see the error above"
            ) from error
        if result is None:
            return module, True
        if not isinstance(result, PassResult):
            raise GraphError(
                f"PassManager: the pass {_name(one)} gave {type(result).__name__}", fix="return a PassResult, or None"
            )
        return result

    def _checked(self, module: GraphModule) -> None:
        if self._check is None:
            return
        try:
            self._check(module)
        except Exception:
            if not self.suppress_check_failures:
                raise


def _name(one: Any) -> str:
    return str(getattr(one, "__name__", type(one).__name__))
