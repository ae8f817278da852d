"""What a test of the suite is run over: decorators that conftest.py reads.

Each leaves ``polyad_over(families, declared dtypes, keep) -> (argument names, values, ids)`` on the test, where
``keep(id)`` says whether a test of that name is wanted: nothing is found out about samples of which none is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from polyad.base.dtypes import DType, float32

from .modules import ModuleSample, module_samples
from .sample import Sample
from .samples import CHECK_FAMILIES

Parameters = tuple[tuple[str, ...], list[tuple[Any, ...]], list[str]]
Keep = Callable[[str], bool]


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

    def over(families: Any, declared: list[DType], keep: Keep) -> Parameters:
        parameters, ids = [], []
        for samples, _ in families.values():
            for sample in samples:
                possible = [dtype for dtype in declared if dtype in sample.dtypes]
                kept = [dtype for dtype in possible if keep(f"{sample.label} {dtype.name}")]
                wanted = set(dtypes(sample)) if kept else set()
                assert wanted <= set(sample.dtypes), f"{sample.label}: {wanted} are not all dtypes of the sample"
                chosen = [dtype for dtype in declared if dtype in wanted]
                if widest:
                    # Declared dtypes come in the order of their widths.
                    chosen = list({dtype.is_complex: dtype for dtype in chosen}.values())
                for dtype in chosen:
                    if dtype not in kept:
                        continue
                    parameters.append((sample, dtype))
                    ids.append(f"{sample.label} {dtype.name}")
        return ("sample", "dtype"), parameters, ids

    def mark(test: Any) -> Any:
        test.polyad_dtypes = dtypes
        return _mark(test, over, tier, "", counts)

    return mark


def over_errors(test: Any) -> Any:
    """Run the test for each error case."""

    def over(families: Any, declared: list[DType], keep: Keep) -> Parameters:
        cases = [case for _, listed in families.values() for case in listed if keep(case.label)]
        return ("case",), [(case,) for case in cases], [case.label for case in cases]

    return _mark(test, over, 1, "", False)


def over_modules(wanted: Callable[[ModuleSample], bool] = lambda sample: True) -> Callable[[Any], Any]:
    """Run the test for each layer of `polyad_conformance.modules`, as argument *module*, that is *wanted*."""

    def over(families: Any, declared: list[DType], keep: Keep) -> Parameters:
        if float32 not in declared:  # in which layers start
            return ("module",), [], []
        kept = [sample for sample in module_samples() if wanted(sample) and keep(sample.label)]
        return ("module",), [(sample,) for sample in kept], [sample.label for sample in kept]

    return lambda test: _mark(test, over, 1, "modules", False)


def over_checks(
    family: str, name: str, checks: Iterable[Any], *, tier: int, dtypes: bool = False
) -> Callable[[Any], Any]:
    """Run the test for each of *checks*, given as argument *name*, and with *dtypes* for each declared dtype."""
    assert family in CHECK_FAMILIES, f"{family} is none of {CHECK_FAMILIES}"
    named = {check if isinstance(check, str) else check.__name__.removeprefix("check_"): check for check in checks}

    def over(families: Any, declared: list[DType], keep: Keep) -> Parameters:
        if dtypes:
            pairs = {f"{label} {dtype.name}": (check, dtype) for label, check in named.items() for dtype in declared}
        else:
            pairs = {label: (check,) for label, check in named.items()}
        kept = [one for one in pairs if keep(one)]
        return (name, "dtype") if dtypes else (name,), [pairs[one] for one in kept], kept

    return lambda test: _mark(test, over, tier, family, False)
