"""A word means one thing (docs/glossary.md): what the sources call things is held to that."""

from __future__ import annotations

import functools
import pathlib
import re
from collections import defaultdict

ROOT = pathlib.Path(__file__).parents[3]
MOST_MODULES = 3

ALLOWED = {
    "_BLOCK": "the elements that a kernel works on at a time, in every backend",
    "_LIBRARY": "the library in C of a module of native kernels",
    "_check": "raises unless the arguments of its module fit",
    "_copy": "the op, and its kernels",
    "_forward": "PyTorch's word for the direction",
    "_dtype": "the dtype of what its module reads; at one place PyTorch's name",
    "_where": "the op, and its kernels",
}
"""Private names that may stand in many modules, since they mean the same in each; with the reason."""

TOLERATED = {
    "_MOST", "_NAMES", "_PACK", "_PLAIN", "_check_shapes", "_check_tensors", "_device", "_draw", "_flat", "_number",
    "_numbers", "_parts", "_places", "_power", "_read", "_run", "_size", "_write",
}  # fmt: skip
"""Private names that mean something else in each of many modules, and are not replaced yet. None may be added."""

REPLACED = {
    "team": "workgroup",
    "teams": "workgroups",
    "kept": "what is done with it: memoize, save, retain",
    "told": "warn, or what is said",
}
"""Words that have no place in the name of a function, a class or a module's variable; with what says it."""

_DEFINED = re.compile(r"^(?:(?:async )?def|class) (\w+)|^(\w+)(?:: [^=\n]+)? = ", re.MULTILINE)


@functools.cache
def sources() -> dict[str, str]:
    """The text of every module of product code, by path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("core", "backends", "plugins")
        for path in (ROOT / folder).rglob("*.py")
        if "template" not in path.parts
    }


def defined() -> dict[str, set[str]]:
    """The modules that define each name at their top."""
    modules = defaultdict(set)
    for path, text in sources().items():
        for found in _DEFINED.finditer(text):
            modules[found[1] or found[2]].add(path)
    return modules


def test_a_private_name_of_many_modules_means_one_thing() -> None:
    many = {
        name: sorted(modules)
        for name, modules in defined().items()
        if len(modules) > MOST_MODULES and name.startswith("_") and not name.startswith("__")
    }
    offending = {name: modules for name, modules in many.items() if name not in ALLOWED and name not in TOLERATED}
    assert not offending, "say in each module what it is there: a verb and its object, or the field's noun"
    assert not TOLERATED - many.keys(), "these stand in few modules now: take them off the list"


def test_replaced_words_stay_away() -> None:
    names = {name: modules for name, modules in defined().items() if REPLACED.keys() & set(name.split("_"))}
    assert not names, f"write instead {REPLACED}"


def test_terms_of_the_glossary_are_used() -> None:
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").partition("## Words that were replaced")[0]
    terms = re.findall(r"^\| ([^|]+?) \|", page, re.MULTILINE)
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests/unit/conformance").rglob("*.py")]
    text = "\n".join([*sources().values(), *tests]).lower()
    words = set(re.findall(r"[a-z]+", text))
    unused = {term for term in terms if term.lower() not in (text if " " in term else words)}
    assert len(terms) > 40
    assert not unused
