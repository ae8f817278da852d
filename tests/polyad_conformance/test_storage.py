"""Tier 0: memory and copies."""

from __future__ import annotations

from polyad_conformance.checks import accounts, ordering, storage, streams
from polyad_conformance.items import over_checks


@over_checks("storage", "check", storage.DTYPE_CHECKS, tier=0, dtypes=True)
def test_storage(check, dtype, target):
    check(dtype, target)


@over_checks("storage", "check", (*ordering.DEVICE_CHECKS, *streams.DEVICE_CHECKS, *accounts.DEVICE_CHECKS), tier=0)
def test_device(check, target):
    check(target)
