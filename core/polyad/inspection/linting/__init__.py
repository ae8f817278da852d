"""`polyad.lint`: likely mistakes in training programs, named while the program runs, once and with advice.

codes.py     the codes and their warning classes; docs/lint.md is about each
session.py   what sees a program, and the base of rules
updates.py   rules about backward and the optimizer
graphs.py    rules about graphs and eval mode
losses.py    rules about losses
layers.py    rules about layers

A false alarm is worse than a miss: a rule reports what it has seen happen, not what a program looks like.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...base.state import state
from ...errors import ArgumentError, ArgumentTypeError
from .codes import (
    CODES,
    BackwardThroughFreedGraph,
    ColumnAgainstRow,
    DtypesMixed,
    GradientAlwaysNone,
    GradientsNotCleared,
    LintWarning,
    LossesKeptAlive,
    ParameterNotHeld,
    SoftmaxBeforeCrossEntropy,
    TrainingInEvalMode,
    ValidationBuildsGraph,
)
from .graphs import EvalModeGraphs, FreedGraph, KeptLosses, TrainingInEval
from .layers import MixedDtypes
from .losses import ColumnAndRow, NormalisedTwice
from .session import Rule, Session
from .updates import AlwaysNone, NotCleared, NotHeld

__all__ = [
    "CODES",
    "BackwardThroughFreedGraph",
    "ColumnAgainstRow",
    "DtypesMixed",
    "GradientAlwaysNone",
    "GradientsNotCleared",
    "LintWarning",
    "LossesKeptAlive",
    "ParameterNotHeld",
    "SoftmaxBeforeCrossEntropy",
    "TrainingInEvalMode",
    "ValidationBuildsGraph",
    "lint",
]

RULES: tuple[type[Rule], ...] = (
    NotCleared,
    FreedGraph,
    NotHeld,
    TrainingInEval,
    EvalModeGraphs,
    KeptLosses,
    AlwaysNone,
    NormalisedTwice,
    ColumnAndRow,
    MixedDtypes,
)


def lint(
    mode: bool = True, *, codes: Iterable[str] | None = None, ignore: Iterable[str] = (), patience: int = 10
) -> Session:
    """Watch this thread's training for the mistakes that tutorials warn of; on at once, and off at the end of ``with``.

    Each is reported once as a `polyad.inspection.linting.LintWarning`, with its code, the line, and what to do; docs/lint.md has a
    section on each. The program computes the same as without.

    Args:
        mode: False switches off what earlier calls switched on.
        codes: what to look for, such as ``["PL001"]``; everything if it is not given.
        ignore: codes to leave out.
        patience: optimizer steps after which a parameter without a gradient counts as never having a gradient.

    Returns:
        The session: ``found`` is a list of (code, text), ``stop()`` ends it. Inside another session it takes over from
        it until it ends.

    Raises:
        ValueError: a code does not exist, or *patience* is below 1.

    >>> import warnings
    >>> import polyad
    >>> from polyad import nn, optim
    >>> model = nn.Linear(2, 1)
    >>> optimizer = optim.SGD(model.parameters(), lr=0.1)
    >>> with warnings.catch_warnings(), polyad.lint() as session:
    ...     warnings.simplefilter("ignore")
    ...     for _ in range(2):                            # zero_grad is missing
    ...         model(polyad.ones(4, 2)).square().mean().backward()
    ...         optimizer.step()
    >>> [code for code, _ in session.found]
    ['PL001']
    """
    if not isinstance(mode, bool):
        raise ArgumentTypeError(f"lint: mode is {mode!r}, not a bool", fix='pass True or False; codes=["PL001"]')
    if isinstance(codes, str) or isinstance(ignore, str):
        raise ArgumentTypeError("lint: codes is one string", fix='pass a list: ["PL001"]')
    wanted = list(CODES) if codes is None else list(codes)
    ignored = list(ignore)
    for code in (*wanted, *ignored):
        if code not in CODES:
            raise ArgumentError(f"lint: there is no code {code!r}", fix=f"use one of {', '.join(CODES)}")
    if patience < 1:
        raise ArgumentError(f"lint: patience is {patience}", fix="pass a number of steps, at least 1")
    if not mode:
        for running in state.watchers:
            if isinstance(running, Session):
                running.stop()
        return Session((), patience)
    return Session([rule for rule in RULES if rule.code in wanted and rule.code not in ignored], patience).start()
