"""From samples to pytest items: a test says by `polyad_conformance.items.over` what it is run over,
this file makes the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from polyad.backend import fallback, registry
from polyad.dtypes import ALL
from polyad_conformance.calls import Target, UnsupportedByDeclaration
from polyad_conformance.known_bugs import known_bugs_of, matching
from polyad_conformance.samples import families, family_of, within

UNMATCHED = pytest.StashKey[list[str]]()


def _device(config: pytest.Config) -> Any:
    return registry.resolve_device(config.option.polyad_backend)


def _families(config: pytest.Config) -> dict[str, Any]:
    wanted = config.option.polyad_family
    return {
        name: entries for name, entries in families().items() if not wanted or any(within(name, one) for one in wanted)
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    made = getattr(metafunc.function, "polyad_over", None)
    if made is None:
        return
    device = _device(metafunc.config)
    declared = registry.get(device.type).capabilities(device).dtypes
    dtypes = [dtype for dtype in ALL if dtype in declared]
    made(metafunc, _families(metafunc.config), dtypes)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if hasattr(getattr(item, "function", None), "polyad_facts")]
    if not ours:
        return
    # A test that no sample calls for is no skip to report.
    items[:] = [item for item in items if "got empty parameter set" not in _skip_reason(item)]
    entries = known_bugs_of(registry.get(_device(config).type))
    found = set()
    for item in ours:
        pattern = matching(item.name, entries)
        if pattern is not None:
            found.add(pattern)
            reason, link = entries[pattern]
            item.add_marker(pytest.mark.xfail(reason=f"{reason} ({link})", strict=True))
    config.stash[UNMATCHED] = [] if config.option.polyad_family else sorted(entries.keys() - found)
    tiers = config.option.polyad_tier
    if tiers:
        others = {id(item) for item in ours if item.function.polyad_facts["tier"] not in tiers}
        config.hook.pytest_deselected(items=[item for item in items if id(item) in others])
        items[:] = [item for item in items if id(item) not in others]


def _skip_reason(item: pytest.Item) -> str:
    marker = item.get_closest_marker("skip")
    return marker.kwargs.get("reason", "") if marker else ""


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Target:
    """The device under test."""
    return Target(request.config.option.polyad_backend, request.config.option.polyad_seed)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[Any]:
    """Note what the test was about and which way its ops went; a fallback fails it unless that is allowed."""
    facts = getattr(pyfuncitem.function, "polyad_facts", None)
    if facts is None:
        return (yield)
    target: Target = pyfuncitem.funcargs["target"]
    entry = pyfuncitem.funcargs.get("sample") or pyfuncitem.funcargs.get("case")
    noted = {
        "tier": facts["tier"],
        "counts": facts["counts"],
        "family": facts["family"],
        "op": entry.op if entry else "",
        "taken": [],
    }
    if entry is not None:
        noted["family"] = family_of(entry)
    pyfuncitem.user_properties.append(("polyad_conformance", noted))
    try:
        # What a check does beside the op, such as copying memory to compare it, may run on the host; the op is watched.
        with fallback.using_policy("allow"):
            result = yield
    except UnsupportedByDeclaration as reason:
        pytest.skip(str(reason))
    finally:
        noted["taken"] = [[way, name, count] for (way, name), count in sorted(target.taken.items())]
    if not pyfuncitem.config.option.allow_fallback:
        target.assert_no_fallback()
    return result
