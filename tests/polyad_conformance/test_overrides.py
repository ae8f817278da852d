"""Tier 2: fused kernels against decompositions."""

from __future__ import annotations

from polyad_conformance.checks import overrides
from polyad_conformance.items import over_samples


@over_samples(overrides.override_dtypes, tier=2)
def test_override(sample, dtype, target):
    overrides.check_overrides(sample, dtype, target)
