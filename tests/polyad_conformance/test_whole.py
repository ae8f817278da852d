"""What needs more than one op: devices together, training, and the suite's own bookkeeping."""

from __future__ import annotations

from polyad_conformance.checks import devices, distributions, integers, large, training
from polyad_conformance.items import over_checks
from polyad_conformance.known_bugs import STALE


@over_checks(
    "whole",
    "check",
    (devices.check_mixed_devices, devices.check_transfer, distributions.check_distributions, training.check_training),
    tier=1,
)
def test_whole(check, target):
    check(target)


@over_checks("large", "check", (*large.CHECKS, integers.check_wide_integers, integers.check_wide_sums), tier=1)
def test_large(check, target):
    check(target)


@over_checks("whole", "what", ("known bugs",), tier=0)
def test_bookkeeping(what, target, pytestconfig):
    stale = pytestconfig.stash[STALE]
    assert not stale, f"no test is called like the {what} {stale}: delete these entries"
