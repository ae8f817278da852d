"""L-BFGS: Newton's method with an estimated inverse Hessian (Nocedal and Wright 2006, chapters 3 and 7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..arguments import check_choice, check_type
from ..errors import ArgumentError, OptionError, PolyadError
from ..history.grad_mode import enable_grad, no_grad
from ..ops.pointwise.complex_numbers import view_as_real
from ..ops.shaping.joining import cat
from ..tensor import Tensor
from .optimizer import Optimizer, Params
from .options import check_number

__all__ = ["LBFGS"]


class SeveralGroups(PolyadError, AssertionError):
    """LBFGS has more than one parameter group."""


class LBFGS(Optimizer):
    """L-BFGS: Newton's method with an inverse Hessian estimated from the last gradients.

    All parameters are a single group, and a step evaluates the loss several times: it needs a closure.

    Args:
        params: the parameters, a single group; see `Optimizer`.
        lr: length of a step without line search, and the first that a line search tries.
        max_iter: most iterations a step.
        max_eval: most evaluations of the closure a step; by default 1.25 times *max_iter*.
        tolerance_grad: a step ends when no element of the gradient is larger.
        tolerance_change: a step ends when no parameter, or the loss, changes by more.
        history_size: how many gradients the estimate comes from.
        line_search_fn: None, or "strong_wolfe": a step's length satisfies the strong Wolfe conditions.

    Raises:
        ValueError: there are several groups, or lr is negative.
        RuntimeError: *line_search_fn* is another word (in `step`).

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    13.0
    >>> [round(value, 4) for value in x.tolist()]
    [1.0, 1.0]
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_number("LBFGS", "lr", options["lr"])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add the only group.

        Raises:
            ValueError: there is a group already.
        """
        if self.param_groups:
            raise ArgumentError(
                "LBFGS: there can be no second parameter group: a step goes along one direction for all parameters",
                fix="put all parameters into a single group",
            )
        super().add_param_group(param_group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Iterate until the loss hardly changes, or *max_iter* times.

        Args:
            closure: clears the gradients, computes the loss and its gradients, and returns the loss; called with
                gradients recorded.

        Returns:
            The loss before the step.

        Raises:
            TypeError: there is no closure.
            RuntimeError: ``line_search_fn`` is neither None nor "strong_wolfe"; nothing was changed.
            AssertionError: groups were put into ``param_groups`` by hand.
        """
        closure = check_type(
            "LBFGS.step", "closure", closure, Callable, "a closure that computes the loss and its gradients"
        )
        if len(self.param_groups) != 1:
            raise SeveralGroups(
                f"LBFGS.step: {len(self.param_groups)} groups; a step goes along one direction for all parameters",
                fix="put all parameters into a single group",
            )
        group = self.param_groups[0]
        check_choice("LBFGS.step", "line_search_fn", group["line_search_fn"], (None, "strong_wolfe"), OptionError)
        with no_grad():
            return self._iterate(closure, group)

    def _iterate(self, closure: Callable[[], Any], group: dict[str, Any]) -> Any:
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        evaluations = 0

        def evaluate() -> Any:
            nonlocal evaluations
            evaluations += 1
            state["func_evals"] += 1
            with enable_grad():
                return closure()

        first_loss = evaluate()
        loss, gradient = float(first_loss), self._gradient()
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        lr = group["lr"].item() if isinstance(group["lr"], Tensor) else group["lr"]
        smallest_change = group["tolerance_change"]
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            state["prev_flat_grad"] = gradient.clone()
            state["prev_loss"] = before = loss
            # A tensor's reciprocal: that of a zero gradient is inf.
            length = lr if state["n_iter"] > 1 else min(1.0, 1.0 / gradient.abs().sum()) * lr
            state["d"], state["t"] = direction, length
            slope = float(gradient.dot(direction))
            if slope > -smallest_change:
                break
            if group["line_search_fn"] is None:
                self._move(direction, length)
                if iteration == group["max_iter"]:
                    break
                loss = float(evaluate())
                gradient = self._gradient()
                optimal = _largest(gradient) <= group["tolerance_grad"]
            else:
                start = [param.clone() for param in group["params"]]

                def along(length: float) -> _Point:
                    self._move(direction, length)  # noqa: B023
                    loss = float(evaluate())
                    gradient = self._gradient()
                    for param, value in zip(group["params"], start, strict=True):  # noqa: B023
                        param.copy_(value)
                    return _Point(length, loss, gradient, float(gradient.dot(direction)))  # noqa: B023

                origin = _Point(0.0, loss, gradient, slope)
                most = max(0, group["max_eval"] - evaluations)
                found = _strong_wolfe(along, origin, float(length), _largest(direction), most)
                length, loss, gradient = found.length, found.loss, found.gradient
                state["t"] = length
                self._move(direction, length)
                optimal = _largest(gradient) <= group["tolerance_grad"]
                if iteration == group["max_iter"]:
                    break
            if evaluations >= group["max_eval"] or optimal:
                break
            if _largest(direction) * length <= smallest_change or abs(loss - before) < smallest_change:
                break
        return first_loss

    def _direction(self, state: dict[str, Any], gradient: Tensor, history: int) -> Tensor:
        """The gradient times the estimate of the inverse Hessian, downhill; the estimate takes the last step in."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change = gradient - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = change.dot(step)
        if float(curvature) > 1e-10:
            if len(changes) == history:
                for kept in (changes, steps, inverses):
                    del kept[0]
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        # The recursion of two loops: Nocedal and Wright, algorithm 7.4.
        direction: Tensor = -gradient
        shares = state.setdefault("al", [None] * history)
        for place in reversed(range(len(changes))):
            shares[place] = steps[place].dot(direction) * inverses[place]
            direction = direction - changes[place] * shares[place]
        direction = direction * state["H_diag"]
        for change, step, inverse, share in zip(changes, steps, inverses, shares, strict=False):
            direction = direction + step * (share - change.dot(direction) * inverse)
        return direction

    def _gradient(self) -> Tensor:
        """All gradients in a row; zeros where there is none."""
        parts = []
        for param in self._params():
            grad = param.detach() * 0 if param._grad is None else param._grad.to_dense()
            parts.append((view_as_real(grad) if grad.dtype.is_complex else grad).reshape(-1))
        return cat(parts)

    def _move(self, direction: Tensor, length: float | Tensor) -> None:
        offset = 0
        for param in self._params():
            target = view_as_real(param) if param.dtype.is_complex else param
            count = target.numel()
            target.add_(direction[offset : offset + count].reshape(target.shape), alpha=float(length))
            offset += count


def _largest(tensor: Tensor) -> float:
    return float(tensor.abs().max())


@dataclass(slots=True)
class _Point:
    """A point on the line along which is searched."""

    length: float
    loss: float
    gradient: Tensor
    slope: float


_DECREASE, _CURVATURE = 1e-4, 0.9
"""The constants of the strong Wolfe conditions."""


def _strong_wolfe(along: Callable[[float], _Point], origin: _Point, length: float, size: float, most: int) -> _Point:
    """A point that satisfies the strong Wolfe conditions, or the best found: Nocedal and Wright, algorithms 3.5, 3.6.

    *size* is the direction's largest element; *most* evaluations follow the first.
    """

    def too_high(point: _Point) -> bool:
        return point.loss > origin.loss + _DECREASE * point.length * origin.slope

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -_CURVATURE * origin.slope

    before, point, count = origin, along(length), 0
    low: _Point
    high: _Point
    while True:
        if count == most:
            low, high = origin, point
            break
        if too_high(point) or (count > 1 and point.loss >= before.loss):
            low, high = before, point
            break
        if flat(point):
            return point
        if point.slope >= 0:
            low, high = before, point
            break
        shortest, longest = point.length + 0.01 * (point.length - before.length), point.length * 10
        before, point = point, along(_cubic_minimum(before, point, shortest, longest))
        count += 1
    # Somewhere between low and high there is such a point; the two close in on it. Both keep their places, since the
    # interpolation's rounding depends on the order.
    ends = [low, high]
    at = 0 if low.loss <= high.loss else 1
    stalled = False
    while count < most:
        lengths = [end.length for end in ends]
        shortest, longest = min(lengths), max(lengths)
        if (longest - shortest) * size < 1e-9:
            break
        length = _cubic_minimum(ends[0], ends[1], shortest, longest)
        margin = 0.1 * (longest - shortest)
        if min(longest - length, length - shortest) < margin:
            if stalled or length >= longest or length <= shortest:
                length = longest - margin if abs(length - longest) < abs(length - shortest) else shortest + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        point = along(length)
        count += 1
        if too_high(point) or point.loss >= ends[at].loss:
            ends[1 - at] = point
            at = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        found = flat(point)
        if not found and point.slope * (ends[1 - at].length - ends[at].length) >= 0:
            ends[1 - at] = ends[at]
        ends[at] = point
        if found:
            break
    return ends[at]


def _cubic_minimum(first: _Point, second: _Point, least: float, most: float) -> float:
    """Where the cubic through two points with their slopes is least, within [least, most]: formula 3.59 there."""
    if first.length > second.length:
        first, second = second, first
    width = second.length - first.length
    middle = (least + most) / 2
    if width == 0:
        return middle
    spread = first.slope + second.slope - 3 * (first.loss - second.loss) / (first.length - second.length)
    square = spread**2 - first.slope * second.slope
    if not square >= 0:
        return middle
    root = math.sqrt(square)
    divisor = second.slope - first.slope + 2 * root
    if divisor == 0:
        return middle
    found = second.length - width * ((second.slope + root - spread) / divisor)
    return min(max(found, least), most)
