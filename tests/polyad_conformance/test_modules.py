"""Tier 1: every layer of `polyad_conformance.modules`, through every check."""

from __future__ import annotations

from polyad_conformance.checks import modules
from polyad_conformance.items import over_modules


@over_modules()
def test_module_forward(module, target):
    modules.check_forward(module, target)


@over_modules(lambda sample: sample.gradient)
def test_module_gradient(module, target):
    modules.check_gradient(module, target)


@over_modules()
def test_module_modes(module, target):
    modules.check_modes(module, target)


@over_modules()
def test_module_state(module, target):
    modules.check_state(module, target)


@over_modules()
def test_module_moves(module, target):
    modules.check_moves(module, target)


@over_modules(lambda sample: bool(sample.wrong))
def test_module_refusals(module, target):
    modules.check_refusals(module, target)
