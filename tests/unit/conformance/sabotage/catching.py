"""Whether a check of the suite catches what is registered under the saboteur's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from polyad_conformance import test_ops, test_overrides
from polyad_conformance.calls import FellBack, Target, UnsupportedByDeclaration
from polyad_conformance.checks import (
    accounts,
    devices,
    integers,
    large,
    ordering,
    promotion,
    rounding,
    storage,
    streams,
    training,
)
from polyad_conformance.samples import families

from .saboteur import NAME

DTYPE_CHECKS = {check.__name__: check for check in storage.DTYPE_CHECKS}
DEVICE_CHECKS = {
    check.__name__: check
    for check in (
        *ordering.DEVICE_CHECKS,
        *streams.DEVICE_CHECKS,
        *accounts.DEVICE_CHECKS,
        devices.check_mixed_devices,
        devices.check_transfer,
        training.check_training,
        *large.CHECKS,
        *rounding.CHECKS,
        integers.check_wide_integers,
        integers.check_wide_sums,
    )
}


def _calls(check: str, ops: tuple[str, ...]) -> Iterator[Callable[[Target], None]]:
    if check in DTYPE_CHECKS:
        for dtype in sorted(Target(NAME).dtypes, key=lambda dtype: dtype.name):
            yield partial(DTYPE_CHECKS[check], dtype)
    elif check == "check_promotion":
        for op in promotion.OPS:
            yield partial(promotion.check_promotion, op)
    elif check in DEVICE_CHECKS:
        yield DEVICE_CHECKS[check]
    elif check == "test_error":
        cases = [case for _, listed in families().values() for case in listed if case.op in ops]
        assert cases, f"there are no error cases of {ops}"
        for case in cases:
            yield partial(test_ops.test_error, case)
    else:
        name = "test_values" if check == "fallback" else check
        test = getattr(test_ops, name, None) or getattr(test_overrides, name)
        samples = [sample for listed, _ in families().values() for sample in listed if sample.op in ops]
        assert samples, f"there are no samples of {ops}"
        for sample in samples:
            for dtype in test.polyad_dtypes(sample):
                yield partial(test, sample, dtype)


def caught(check: str, ops: tuple[str, ...]) -> str:
    """What *check* says against the registered saboteur on the samples of *ops*, or of the device if none are named;
    empty if nothing.
    """
    begun = 0
    for call in _calls(check, ops):
        target = Target(NAME)
        try:
            call(target)
            target.assert_no_fallback()
        except UnsupportedByDeclaration:
            continue
        except FellBack as error:
            return str(error) if check == "fallback" else ""
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        begun += 1
    assert begun, f"{check} of {ops} tested nothing"
    return ""
