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
from functools import cache

from ..patterns import wrong_types
from ..sample import ErrorCase, Sample


@cache
def families() -> dict[str, tuple[list[Sample], list[ErrorCase]]]:
    """The samples and error cases of each family. Raises ValueError for two samples of one name."""
    found = {}
    modules = pkgutil.walk_packages(__path__, f"{__name__}.")
    for path in sorted(module.name for module in modules if not module.ispkg):
        family, name = importlib.import_module(path), path.removeprefix(f"{__name__}.")
        found[name] = (list(family.SAMPLES), [*family.ERRORS, *wrong_types(family.SAMPLES)])
        for listed in found[name]:
            labels = [entry.label for entry in listed]
            twice = sorted({label for label in labels if labels.count(label) > 1})
            if twice:
                raise ValueError(f"{path}: more than one entry is called {', '.join(twice)}")
    return found


@cache
def _family_by_identity() -> dict[int, str]:
    return {id(entry): name for name, lists in families().items() for listed in lists for entry in listed}


def family_of(entry: Sample | ErrorCase) -> str:
    """The family in which a sample or an error case is listed."""
    return _family_by_identity()[id(entry)]


def within(family: str, wanted: str) -> bool:
    """Whether *family* is the family *wanted* or one of that package: "linalg.norms" is within "linalg"."""
    return f"{family}.".startswith(f"{wanted}.")
