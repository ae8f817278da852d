r"""What is tested: samples and error cases by family, each family in the file that has its name in ``polyad.ops``.

A family file has two lists, ``SAMPLES`` and ``ERRORS``; it is found by being here, under the path that its ops have
in ``polyad.ops`` (``linalg/norms.py`` is the family "linalg.norms"). ``products/matmul.py`` is the pattern
to copy.

    SAMPLES = [
        Sample(
            op="matmul",                                              # public function; "_gemm" is the op itself
            name="vector by matrix",                                  # unique within the op
            # positional arguments; see Maker for what it can draw
            inputs=lambda make: (make((4,)), make((4, 3))),
            reference=lambda a, b: a @ b,                             # NumPy, in float64 / complex128 / int64 / bool
            dtypes=NUMBERS,                                           # each that the backend declares is run
            result=same,                                              # dtype rule; a tuple of rules for several results
            gradient=True,                                            # or (0, 2): the positions that have one
            steps=2, length=4,                                        # roundings, and terms added up: see tolerance.py
        ),
        *unary("exp", np.exp, result=as_float, dtypes=EVERYTHING, gradient=True, steps=4),
        # broadcasting, 0-d, zero-size, a number: see patterns.py
        *binary("add", np.add, dtypes=NUMBERS, gradient=True),
        *reduction(
            "sum",
            lambda x, dim=None, keepdim=False: x.sum(dim, keepdims=keepdim),
            result=as_sum,
            dtypes=EVERYTHING,
        ),
    ]

    ERRORS = [
        ErrorCase(
            op="matmul", name="inner sizes",
            # op is the function, tensor(*shape, dtype=...) makes inputs
            call=lambda op, tensor: op(tensor(2, 3), tensor(4, 5)),
            raises=RuntimeError,                                      # the type that PyTorch's users expect
            match=r"3 != 4\n.*input .*\n.*other",                       # the message names the arguments
        ),
    ]

What follows from these without another word, for each sample: value, dtype and shape in every dtype; inputs transposed,
sliced with steps and an offset, and expanded; inputs unchanged and not aliased by the result (``aliasing="view"`` for
views); NaN and infinity with ``special=True``; gradients against finite differences of the *reference* and second
gradients against those of the first; the in-place form, ``out=`` and the method where the declaration has them; a
backend's fused kernel against the decomposition. So samples are small (finite differences visit each element) but
longer than a vector register somewhere, and an op has samples with no elements and 0-d where these are valid
(`patterns` has them).

Rules for references: NumPy only, written from the definition, never from the kernel; no polyad op, no polyad_numpy.
Inputs drawn so that nothing is decided by rounding: no argmax of near ties, no gradient at a kink (use
``make.distinct``, ``make.nonzero``).

For a gradient that has an op of its own (``softmax_backward``) a sample of the op whose gradient it is suffices: finite
differences check it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from ..patterns import wrong_types
from ..sample import ErrorCase, Sample

Listed = tuple[list[Sample], list[ErrorCase]]

CHECK_FAMILIES = ("storage", "whole", "large", "promotion", "nearest", "modules")
"""What score cards call the tests that run over checks rather than samples. None is the last part of a sample family's
name, so that either can be chosen."""

_home: dict[int, str] = {}
"""The family of each entry that is loaded, by the entry's identity."""


@cache
def family_names() -> tuple[str, ...]:
    """The families that have samples; nothing of them is loaded."""
    modules = pkgutil.walk_packages(__path__, f"{__name__}.")
    return tuple(sorted(module.name.removeprefix(f"{__name__}.") for module in modules if not module.ispkg))


@cache
def _family(name: str) -> Listed:
    family = importlib.import_module(f"{__name__}.{name}")
    found = (list(family.SAMPLES), [*family.ERRORS, *wrong_types(family.SAMPLES)])
    for listed in found:
        twice = sorted(label for label, count in Counter(entry.label for entry in listed).items() if count > 1)
        if twice:
            raise ValueError(f"{name}: more than one entry is called {', '.join(twice)}")
        _home.update((id(entry), name) for entry in listed)
    return found


def families(wanted: Iterable[str] | None = None) -> dict[str, Listed]:
    """The samples and error cases of each family, or of those within *wanted*. Raises ValueError for two samples of one
    name.
    """
    return {name: _family(name) for name in family_names() if is_wanted(name, wanted)}


def family_of(entry: Sample | ErrorCase) -> str:
    """The family in which a sample or an error case is listed."""
    return _home[id(entry)]


def within(family: str, wanted: str) -> bool:
    """Whether *family* is the family *wanted* or one of that package: "linalg.norms" is within "linalg"."""
    return f"{family}.".startswith(f"{wanted}.")


def is_wanted(family: str, wanted: Iterable[str] | None) -> bool:
    """Whether *family* is within any of *wanted*, which chooses all if it is empty or None."""
    names = tuple(wanted or ())
    return not names or any(within(family, name) for name in names)


def named_families(name: str) -> list[str]:
    """The families that a user calls *name*: as score cards do, by their package, or by their last name alone.

    Raises LookupError, with the nearest names, where there is none.

    >>> named_families("linalg"), named_families("arithmetic"), named_families("storage")
    (['linalg'], ['pointwise.arithmetic'], ['storage'])
    """
    known = (*CHECK_FAMILIES, *family_names())
    found = [name] if any(within(family, name) for family in known) else []
    found += [family for family in known if family.rpartition(".")[2] == name and not within(family, name)]
    if not found:
        words = {part: None for family in known for part in (family, *family.split("."))}
        close = get_close_matches(name, words, 3, 0.6)
        raise LookupError(f"no family is called {name}" + (f"; did you mean {' or '.join(close)}?" if close else ""))
    return found
