"""What it costs to say ``import polyad``, each time in a fresh interpreter."""

from __future__ import annotations


class Import:
    """Import time; NumPy's own, which a first tensor needs anyway, beside it."""

    def timeraw_polyad(self) -> str:
        return "import polyad"

    def timeraw_polyad_and_first_tensor(self) -> str:
        return "import polyad; polyad.zeros(1)"

    def timeraw_polyad_and_first_addition(self) -> str:
        return "import polyad; polyad.ones(2) + 1"

    def timeraw_polyad_with_every_op(self) -> str:
        return "import polyad; list(polyad.dispatch.catalogue.OPS)"

    def timeraw_numpy(self) -> str:
        return "import numpy"
