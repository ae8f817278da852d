"""What a test of the suite is run over: decorators that conftest.py reads.

Each leaves ``polyad_over(families, declared dtypes) -> (argument names, values, ids)`` on the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from polyad.dtypes import DType

from .sample import Sample

Parameters = tuple[tuple[str, ...], list[tuple[Any, ...]], list[str]]


def _mark(test: Any, over: Any, tier: int, family: str, counts: bool) -> Any:
    test.polyad_over = over
    test.polyad_facts = {"tier": tier, "family": family, "counts": counts}
    return test


def over_samples(
    dtypes: Callable[[Sample], Iterable[DType]], *, tier: int = 1, counts: bool = False, widest: bool = False
) -> Callable[[Any], Any]:
    """Run the test for each sample and those of ``dtypes(sample)`` that the device declares; if *widest*, for the
    widest real and the widest complex one of these alone.

    *counts* says that the way its ops go is counted in the score card: one test of each sample and dtype should.
    """

    def over(families: Any, declared: list[DType]) -> Parameters:
        parameters, ids = [], []
        for samples, _ in families.values():
            for sample in samples:
                wanted = set(dtypes(sample))
                chosen = [dtype for dtype in declared if dtype in wanted]
                if widest:
                    # Declared dtypes come in the order of their widths.
                    chosen = list({dtype.is_complex: dtype for dtype in chosen}.values())
                for dtype in chosen:
                    parameters.append((sample, dtype))
                    ids.append(f"{sample.label} {dtype.name}")
        return ("sample", "dtype"), parameters, ids

    def mark(test: Any) -> Any:
        test.polyad_dtypes = dtypes
        return _mark(test, over, tier, "", counts)

    return mark


def over_errors(test: Any) -> Any:
    """Run the test for each error case."""

    def over(families: Any, declared: list[DType]) -> Parameters:
        cases = [case for _, listed in families.values() for case in listed]
        return ("case",), [(case,) for case in cases], [case.label for case in cases]

    return _mark(test, over, 1, "", False)


def over_checks(
    family: str, name: str, checks: Iterable[Any], *, tier: int, dtypes: bool = False
) -> Callable[[Any], Any]:
    """Run the test for each of *checks*, given as argument *name*, and with *dtypes* for each declared dtype."""
    listed = list(checks)

    def over(families: Any, declared: list[DType]) -> Parameters:
        names = [check if isinstance(check, str) else check.__name__.removeprefix("check_") for check in listed]
        if dtypes:
            pairs = [(check, dtype) for check in listed for dtype in declared]
            return (name, "dtype"), pairs, [f"{label} {dtype.name}" for label in names for dtype in declared]
        return (name,), [(check,) for check in listed], names

    return lambda test: _mark(test, over, tier, family, False)
