"""The score card: what a backend's ops are made of, and what failed, by tier and family.

A card is plain data: it is written as JSON, read again, and merged with the cards of a run's other shards. Merged from
the command line:

    python -m polyad_conformance.report one.json two.json --report whole.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polyad
from polyad.devices import registry
from polyad.files import opened, parsed, replacing
from polyad.files.json_text import LONGEST

from . import card_form
from .sharding import Shard

COLUMNS = ("passed", "kernel", "decomposition", "fallback", "unsupported", "failed", "known bug")
"""Tests passed; calls of samples whose ops all had kernels, were decomposed, or ran on the host; (sample, dtype) pairs
that the backend's declaration excludes; tests failed; strict expected failures.
"""

HEADINGS = {
    "passed": ("", "passed"),
    "kernel": ("", "kernel"),
    "decomposition": ("decom-", "posed"),
    "fallback": ("fell", "back"),
    "unsupported": ("unsup-", "ported"),
    "failed": ("", "failed"),
    "known bug": ("known", "bug"),
}
"""The columns' names in the width that lets a card fit into 80 columns."""

FORMAT = 1
"""The number of the JSON form; raised when a reader of the old one could go wrong."""


class CardsDiffer(ValueError):
    """Score cards that are not of one run."""


@dataclass
class ScoreCard:
    """Counts by (tier, family), and the failures.

    Attributes:
        about: device, description, api_version, polyad's version, seed, and the selection: what cards of one run share.
        shards: the parts of the suite that the card is of.
        rows: (tier, family) to a count for each of `COLUMNS`.
        ops: by op, how often it went each way.
        unsupported: reasons for which tests that had begun ended as unsupported, with their number.
        seconds: how long it took, all shards together.
        not_run: how many tests were to be run and were not, since the run was stopped.
        stopped: what stopped the run before its time, as far as that is known; empty if nothing did.
    """

    about: dict[str, Any]
    shards: list[Shard]
    rows: dict[tuple[int, str], Counter[str]]
    ops: dict[str, Counter[str]]
    failures: list[dict[str, str]] = field(default_factory=list)
    known_bugs: list[str] = field(default_factory=list)
    unsupported: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    not_run: int = 0
    stopped: str = ""

    @classmethod
    def of(
        cls,
        outcomes: Iterable[Mapping[str, Any]],
        options: Any,
        seconds: float = 0.0,
        *,
        not_run: int = 0,
        stopped: str = "",
    ) -> ScoreCard:
        """The card of a run: *outcomes* as the plug-in collected them, *options* of its command line."""
        shards = [Shard.parse(options.polyad_shard)]
        card = cls(_about(options), shards, {}, {}, seconds=round(seconds, 1), not_run=not_run, stopped=stopped)
        for outcome in outcomes:
            row = card.rows.setdefault((outcome["tier"], outcome["family"]), Counter())
            if outcome["outcome"] == "skipped":
                row["unsupported"] += 1
                card.unsupported[outcome["message"]] += 1
                continue
            row[outcome["outcome"]] += 1
            ways = Counter()
            for way, name, count in outcome["taken"]:
                ways[way] += count
                card.ops.setdefault(name, Counter())[way] += count
            if ways and outcome["counts"]:
                row[next(way for way in ("fallback", "decomposition", "kernel") if ways[way])] += 1
            if outcome["outcome"] == "failed":
                card.failures.append({"test": outcome["test"], "message": outcome["message"]})
            elif outcome["outcome"] == "known bug":
                card.known_bugs.append(outcome["test"])
        _count_undeclared(card, options)
        return card

    @property
    def device(self) -> str:
        """The device that was tested."""
        return str(self.about["device"])

    @property
    def missing(self) -> list[int]:
        """The numbers of the shards that are not in the card."""
        return sorted(set(range(1, self.shards[0].count + 1)) - {shard.number for shard in self.shards})

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def whole(self) -> bool:
        """Whether all tests that were to be run were run."""
        return not (self.not_run or self.stopped)

    @property
    def totals(self) -> Counter[str]:
        """The sums of the columns."""
        return sum(self.rows.values(), Counter())

    def merged(self, other: ScoreCard) -> ScoreCard:
        """The card of both shards. Raises CardsDiffer if they are not disjoint parts of one run."""
        differ = {name: (value, other.about[name]) for name, value in self.about.items() if other.about[name] != value}
        if differ:
            words = "; ".join(f"{name} {one!r} and {two!r}" for name, (one, two) in differ.items())
            raise CardsDiffer(f"the cards are not of one run: {words}")
        if self.shards[0].count != other.shards[0].count:
            raise CardsDiffer(f"one card is of {self.shards[0].count} shards, another of {other.shards[0].count}")
        twice = set(self.shards) & set(other.shards)
        if twice:
            raise CardsDiffer(f"two cards have shard {min(twice, key=lambda shard: shard.number)}")
        return ScoreCard(
            self.about,
            sorted([*self.shards, *other.shards], key=lambda shard: shard.number),
            _summed(self.rows, other.rows),
            _summed(self.ops, other.ops),
            [*self.failures, *other.failures],
            [*self.known_bugs, *other.known_bugs],
            self.unsupported + other.unsupported,
            round(self.seconds + other.seconds, 1),
            self.not_run + other.not_run,
            self.stopped or other.stopped,
        )

    def lines(self) -> list[str]:
        """The card as text of at most 80 columns, if families' names allow."""
        width = max([24, *(len(family) for _, family in self.rows)])
        lines = [
            f"{tier:>4}  {family:<{width}}" + "".join(f" {HEADINGS[column][line]:>6}" for column in COLUMNS)
            for line, (tier, family) in enumerate((("", ""), ("tier", "family")))
        ]
        for tier in sorted({tier for tier, _ in self.rows}):
            rows = {family: row for (one, family), row in sorted(self.rows.items()) if one == tier}
            lines += [_line(str(tier), family, row, width) for family, row in rows.items()]
            if len(rows) > 1:
                lines.append(_line("", f"all of tier {tier}", sum(rows.values(), Counter()), width))
        lines.append("")
        fallen = sorted(name for name, ways in self.ops.items() if ways["fallback"])
        if fallen:
            lines += _wrapped("ran on the host for want of a kernel:", ", ".join(fallen))
        lines += [
            line
            for reason, count in sorted(self.unsupported.items())
            for line in _wrapped("unsupported:", f"{reason} ({count} {'test' if count == 1 else 'tests'})")
        ]
        lines += [line for bug in self.known_bugs for line in _wrapped("known bug:", bug)]
        lines += [line for failure in self.failures for line in _wrapped("failed:", failure["test"])]
        return lines

    def summary(self) -> str:
        """The totals in one line."""
        totals = self.totals
        parts = [f"{totals['passed']} passed", f"{totals['failed']} failed"]
        if not self.whole:
            done = sum(totals[column] for column in ("passed", "failed", "known bug")) + sum(self.unsupported.values())
            by = f" by {self.stopped}" if self.stopped else ""
            parts.insert(0, f"STOPPED{by} after {done} of {done + self.not_run} tests")
        for column in ("known bug", "unsupported", "fallback"):
            if totals[column]:
                parts.append(f"{totals[column]} {'fell back' if column == 'fallback' else column}")
        if self.shards[0].count > 1:
            numbers = _ranges(shard.number for shard in self.shards)
            parts.append(f"shard {numbers} of {self.shards[0].count}" if self.missing else "all shards")
        return f"{self.device}: {', '.join(parts)} in {self.seconds:.0f} s"

    def as_dict(self) -> dict[str, Any]:
        """The card as plain data."""
        return {
            "format": FORMAT,
            **self.about,
            "shards": [str(shard) for shard in self.shards],
            "complete": not self.missing and self.whole,
            "passed": self.passed,
            "seconds": self.seconds,
            "totals": {column: self.totals[column] for column in COLUMNS},
            "rows": [
                {"tier": tier, "family": family, **{c: row[c] for c in COLUMNS}}
                for (tier, family), row in sorted(self.rows.items())
            ],
            "ops": {name: dict(sorted(ways.items())) for name, ways in sorted(self.ops.items())},
            "failures": self.failures,
            "known_bugs": self.known_bugs,
            "unsupported": dict(sorted(self.unsupported.items())),
            "not_run": self.not_run,
            "stopped": self.stopped,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScoreCard:
        """What `as_dict` gave. Raises CardsDiffer, a ValueError, for another format, and ValueError for no card."""
        if data.get("format") != FORMAT:
            raise CardsDiffer(f"this is no score card of format {FORMAT}")
        card_form.check(data, COLUMNS)
        return cls(
            {name: data[name] for name in ABOUT},
            [Shard.parse(shard) for shard in data["shards"]],
            {(row["tier"], row["family"]): Counter({c: row[c] for c in COLUMNS}) for row in data["rows"]},
            {name: Counter(ways) for name, ways in data["ops"].items()},
            list(data["failures"]),
            list(data["known_bugs"]),
            Counter(data["unsupported"]),
            data["seconds"],
            data["not_run"],
            data.get("stopped", ""),
        )

    def write(self, path: str) -> None:
        """Write the card to *path* as JSON."""
        with replacing(path, "polyad conformance") as file:
            file.write(json.dumps(self.as_dict(), indent=1).encode() + b"\n")

    @classmethod
    def read(cls, path: str) -> ScoreCard:
        """The card in the file *path*. Raises OSError, and CardsDiffer for a file that is no card."""
        with opened(path, "polyad conformance") as file:
            text = file.read(LONGEST + 1)
        try:
            return cls.from_dict(parsed(text))
        except (ValueError, AttributeError) as error:  # AttributeError: JSON of something else than an object
            raise CardsDiffer(f"{path}: no score card: {error}") from None


ABOUT = ("device", "description", "api_version", "polyad", "seed", "families", "tiers", "expression", "allow_fallback")


def _about(options: Any) -> dict[str, Any]:
    device = registry.resolve_device(options.polyad_backend)
    info = registry.info_of(device.type)
    values = (
        options.polyad_backend,
        info.description if info else "",
        list(info.api_version) if info else None,
        polyad.__version__,
        options.polyad_seed,
        sorted(options.polyad_family or []),
        sorted(options.polyad_tier or []),
        options.keyword or "",
        options.allow_fallback,
    )
    return dict(zip(ABOUT, values, strict=True))


def facts_of(nodeid: str) -> dict[str, Any]:
    """What a test of the suite that ended before it could say so was about."""
    from .samples import families, family_of

    file, _, name = nodeid.rpartition("/")[2].partition("::")
    function, _, label = name.removesuffix("]").partition("[")
    module = importlib.import_module(f"{__package__}.{file.removesuffix('.py')}")
    facts = dict(getattr(module, function).polyad_facts) | {"op": "", "taken": []}
    entries = (entry for lists in families().values() for listed in lists for entry in listed)
    # After the label of a sample comes a dtype.
    found = next((entry for entry in entries if entry.label in (label, label.rpartition(" ")[0])), None)
    return facts if found is None else facts | {"family": family_of(found), "op": found.op}


def _ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers in words.

    >>> _ranges([1, 2, 3, 5, 7, 8])
    '1-3, 5, 7-8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def _line(tier: str, family: str, row: Mapping[str, int], width: int) -> str:
    return f"{tier:>4}  {family:<{width}}" + "".join(f" {row[column] or '.':>6}" for column in COLUMNS)


def _wrapped(what: str, words: str) -> list[str]:
    return textwrap.wrap(f"{what} {words}", 80, subsequent_indent="    ", break_long_words=False)


def _summed(one: Mapping[Any, Counter[str]], other: Mapping[Any, Counter[str]]) -> dict[Any, Counter[str]]:
    return {key: one.get(key, Counter()) + other.get(key, Counter()) for key in {**one, **other}}


def _count_undeclared(card: ScoreCard, options: Any) -> None:
    """Count pairs of sample and dtype that the declaration excludes, each in the shard where its test would be."""
    from .samples import families

    device = registry.resolve_device(options.polyad_backend)
    declared = registry.get(device.type).capabilities(device).dtypes
    (shard,) = card.shards
    if options.polyad_tier and 1 not in options.polyad_tier:
        return
    for family, (samples, _) in families(options.polyad_family).items():
        if options.keyword and (1, family) not in card.rows:
            continue
        tests = (
            f"test_ops.py::test_values[{sample.label} {dtype.name}]"
            for sample in samples
            for dtype in sample.dtypes
            if dtype not in declared
        )
        count = sum(map(shard.holds, tests))
        if count:
            card.rows.setdefault((1, family), Counter())["unsupported"] += count


def main(arguments: Sequence[str] | None = None) -> int:
    """Merge the cards of a run's shards: print the whole card, 0 if it is complete and nothing failed."""
    parser = argparse.ArgumentParser(prog="polyad conformance --merge", description=main.__doc__)
    parser.add_argument("cards", nargs="+", metavar="CARD")
    parser.add_argument("--report", metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        card, *others = (ScoreCard.read(path) for path in options.cards)
        for other in others:
            card = card.merged(other)
    except (OSError, CardsDiffer) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    print("\n".join(card.lines()))
    if options.report:
        try:
            card.write(options.report)
        except OSError as error:
            print(f"{parser.prog}: {error}", file=sys.stderr)
            return 2
        print(f"score card written to {options.report}")
    if card.missing:
        print(f"shard {_ranges(card.missing)} of {card.shards[0].count} is missing")
    print(card.summary())
    return 0 if card.passed and not card.missing and card.whole else 1


if __name__ == "__main__":
    sys.exit(main())
