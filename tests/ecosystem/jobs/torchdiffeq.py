"""torchdiffeq: every solver, gradients through its steps and by the adjoint equation, an event."""

from __future__ import annotations

from typing import Any

from torchdiffeq import odeint, odeint_adjoint, odeint_event

from ..job import Run, job

PACKAGE = "torchdiffeq"
SOLVERS = (
    "dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun", "euler", "midpoint", "heun3", "rk4", "explicit_adams",
    "implicit_adams", "scipy_solver",
)  # fmt: skip


def field(run: Run) -> Any:
    nn = run.torch.nn

    class Field(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

        def forward(self, t: Any, y: Any) -> Any:
            return self.layers(y)

    return run.same(Field())


# The sizes of steps follow from errors that are rounding, or near it.
@job("every solver", factor=100)
def solvers(run: Run) -> None:
    model, start, times = field(run), run.normal(3, 2), run.torch.linspace(0, 1, 5)
    for solver in SOLVERS:
        options = {"options": {"solver": "RK45"}} if solver == "scipy_solver" else {}
        run.record(solver, odeint(model, start, times, method=solver, **options))


@job("trained through the steps", factor=100)
def trained(run: Run) -> None:
    start, times = run.normal(3, 2), run.torch.linspace(0, 1, 5)
    run.train(field(run), lambda model: odeint(model, start, times, rtol=1e-4, atol=1e-5)[-1].square().sum())


@job("trained by the adjoint equation; an event", factor=100)
def adjoint(run: Run) -> None:
    torch = run.torch
    start, times = run.normal(3, 2), torch.linspace(0, 1, 5)
    run.train(field(run), lambda model: odeint_adjoint(model, start, times, rtol=1e-4, atol=1e-5)[-1].square().sum())
    when, where = odeint_event(
        lambda t, y: torch.stack([y[1], -torch.ones_like(y[1])]), torch.tensor([1.0, 0.0]), torch.tensor(0.0),
        event_fn=lambda t, y: y[0] - 0.2,
    )  # fmt: skip
    run.record("event", [when, where])
