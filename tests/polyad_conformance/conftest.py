"""From samples to pytest items: a test says by `polyad_conformance.items.over_samples` what it is run over,
this file makes the parameters.

Invariant: what is left out (another tier, another shard) is left out before there is an item, so that a small part of
the suite starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest

from polyad.backends import cudnn
from polyad.base.dtypes import ALL
from polyad.devices import fallback, registry
from polyad.errors import UndeclaredDType
from polyad_conformance.calls import Target, UnsupportedByDeclaration
from polyad_conformance.known_bugs import STALE, known_bugs_of, matching
from polyad_conformance.plugin import Watch
from polyad_conformance.samples import families, family_of, is_wanted
from polyad_conformance.sharding import Shard
from polyad_conformance.tolerance import is_inexact

MATCHED = pytest.StashKey[set[str]]()
"""The known bugs' patterns that a test of the suite matches, of this shard or another."""

NOTED = pytest.StashKey[dict[str, Any]]()
"""What a test was about, and which way its ops went."""


def _device(config: pytest.Config) -> Any:
    return registry.resolve_device(config.option.polyad_backend)


def _matches(definition: Any) -> Callable[[str], bool]:
    """Whether ``-k`` chooses a test of *definition* by its id, so that the others need not be made.

    pytest has no public name for its reading of ``-k``; where this one is not there, it leaves tests out itself, later.
    """
    expression = definition.config.option.keyword.lstrip()
    try:
        from _pytest.mark import KeywordMatcher
        from _pytest.mark.expression import Expression

        compiled = Expression.compile(expression) if expression else None
        others = [name.lower() for name in KeywordMatcher.from_item(definition)._names]
    except Exception:  # an expression that cannot be read is told by pytest
        compiled = None
    if compiled is None:
        return lambda label: True
    always = lru_cache(lambda word: any(word in name for name in others))

    def matches(label: str) -> bool:
        label = f"[{label.lower()}]"

        def holds(word: str, /, **options: Any) -> bool:
            word = word.lower()
            return word in label or always(word)

        return bool(compiled.evaluate(holds))

    return matches


def _keep(metafunc: pytest.Metafunc) -> Callable[[str], bool]:
    """Whether the test with an id is of those that were asked for."""
    options = metafunc.config.option
    facts = metafunc.function.polyad_facts
    if options.polyad_tier and facts["tier"] not in options.polyad_tier:
        return lambda label: False
    if facts["family"] and not is_wanted(facts["family"], options.polyad_family):
        return lambda label: False
    shard, matches = Shard.parse(options.polyad_shard), _matches(metafunc.definition)
    begin = f"{metafunc.definition.path.name}::{metafunc.function.__name__}"
    return lambda label: matches(label) and shard.holds(f"{begin}[{label}]")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    made = getattr(metafunc.function, "polyad_over", None)
    if made is None:
        return
    config = metafunc.config
    device = _device(config)
    declared = Target(config.option.polyad_backend).dtypes
    known = known_bugs_of(registry.get(device.type))
    keep, every = _keep(metafunc), known and not _is_part(config)
    names, values, ids = made(
        families(config.option.polyad_family),
        [dtype for dtype in ALL if dtype in declared],
        (lambda label: True) if every else keep,
    )
    if every:
        found = {matching(f"{metafunc.function.__name__}[{one}]", known) for one in ids}
        config.stash.setdefault(MATCHED, set()).update(one for one in found if one is not None)
        kept = [i for i, one in enumerate(ids) if keep(one)]
        values, ids = [values[i] for i in kept], [ids[i] for i in kept]
    metafunc.parametrize(names, values, ids=ids)


def _is_part(config: pytest.Config) -> bool:
    """Whether tests are chosen by what they are about: then a known bug that none of them has may be another's."""
    return bool(config.option.polyad_family or config.option.keyword)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if hasattr(getattr(item, "function", None), "polyad_facts")]
    if not ours:
        return
    # A test that no sample calls for is no skip to report.
    items[:] = [item for item in items if "got empty parameter set" not in _skip_reason(item)]
    known = known_bugs_of(registry.get(_device(config).type))
    for item in ours if known else ():
        pattern = matching(item.name, known)
        if pattern is not None:
            reason, link = known[pattern]
            item.add_marker(pytest.mark.xfail(reason=f"{reason} ({link})", strict=True))
    matched = config.stash.get(MATCHED, set())
    config.stash[STALE] = [] if _is_part(config) else sorted(known.keys() - matched)


def _skip_reason(item: pytest.Item) -> str:
    marker = item.get_closest_marker("skip")
    return marker.kwargs.get("reason", "") if marker else ""


@pytest.fixture(autouse=True, scope="session")
def exact() -> Iterator[None]:
    """Let convolutions of float32 be as precise as their dtype: to be less so is the user's choice."""
    with cudnn.flags(enabled=True, allow_tf32=False):
        yield


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
        "family": family_of(entry) if entry is not None else facts["family"],
        "op": entry.op if entry is not None else "",
        "taken": [],
    }
    pyfuncitem.stash[NOTED] = noted
    # For JUnit.
    pyfuncitem.user_properties += [(name, str(noted[name])) for name in ("tier", "family", "op") if noted[name] != ""]
    try:
        # What a check does beside the op, such as copying memory to compare it, may run on the host; the op is watched.
        with fallback.using_policy("allow"), Watch(pyfuncitem.config, pyfuncitem.nodeid, noted):
            result = yield
    except pytest.skip.Exception as reason:
        raise AssertionError(f"the backend skipped the test: {reason}") from reason
    except UnsupportedByDeclaration as reason:
        pytest.skip(str(reason))
    except UndeclaredDType as error:
        # An op that needs another dtype inside than its sample has: int64 positions, sums in float64. A check of no op
        # computes in dtypes that it has looked for; another one is a mistake, of the check or of a layer.
        strange = not noted["op"] and is_inexact(error.dtype)
        if strange or error.device != target.full_device or error.dtype in target.dtypes:
            raise
        pytest.skip(f"{noted['op'] or pyfuncitem.name} needs {error.dtype.name}, which {error.device} does not declare")
    finally:
        noted["taken"] = [[way, name, count] for (way, name), count in sorted(target.taken.items())]
    if not pyfuncitem.config.option.allow_fallback:
        target.assert_no_fallback()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Send what was noted along with the outcome, to the process that makes the score card."""
    report = yield
    if item.stash.get(NOTED, None) is not None:
        report.polyad_conformance = item.stash[NOTED]
    return report
