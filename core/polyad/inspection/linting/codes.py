"""The mistakes that lint knows: a code, a warning class and a page each.

Every code has a section in docs/lint.md with its number as the anchor, a warning class of its own for the filters of
`warnings`, and a rule in one of `polyad.inspection.linting`'s modules. To add a mistake: a warning class here, a `Rule` that
reports it, a section in docs/lint.md, a test that it is found and tests of legitimate programs that look like it.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BackwardThroughFreedGraph",
    "CODES",
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
]


class LintWarning(UserWarning):
    """A likely mistake in a training program. Subclasses are the single mistakes; ``code`` names the mistake.

    >>> import warnings
    >>> from polyad.inspection.linting import LintWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", LintWarning)   # in tests: a mistake is an error
    """

    code: ClassVar[str] = ""


class GradientsNotCleared(LintWarning):
    """PL001: two steps of an optimizer, and the gradients of the first are in the second."""

    code = "PL001"


class BackwardThroughFreedGraph(LintWarning):
    """PL002: backward through a graph that an earlier backward has freed. An error by itself; lint adds where."""

    code = "PL002"


class ParameterNotHeld(LintWarning):
    """PL003: a parameter gets gradients and no optimizer holds it."""

    code = "PL003"


class TrainingInEvalMode(LintWarning):
    """PL004: an optimizer's step on a model in eval mode."""

    code = "PL004"


class ValidationBuildsGraph(LintWarning):
    """PL005: a model in eval mode records graphs that no backward uses."""

    code = "PL005"


class LossesKeptAlive(LintWarning):
    """PL006: losses of earlier steps are still alive, each with its graph."""

    code = "PL006"


class GradientAlwaysNone(LintWarning):
    """PL007: a parameter that an optimizer holds has never had a gradient."""

    code = "PL007"


class SoftmaxBeforeCrossEntropy(LintWarning):
    """PL008: a loss that normalises its input got an input that is normalised already."""

    code = "PL008"


class ColumnAgainstRow(LintWarning):
    """PL009: (N, 1) minus (N,) is (N, N), and a loss was computed from it."""

    code = "PL009"


class DtypesMixed(LintWarning):
    """PL010: a linear layer's input has another floating point dtype than its weight."""

    code = "PL010"


CODES: dict[str, type[LintWarning]] = {warning.code: warning for warning in LintWarning.__subclasses__()}
"""Every code with its warning class."""
