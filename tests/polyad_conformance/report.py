"""The score card: what a backend's ops are made of, and what failed, by tier and family."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polyad
from polyad.backend import registry

from .samples import families

COLUMNS = ("passed", "kernel", "decomposition", "fallback", "unsupported", "failed", "known bug")
"""Tests passed and failed; calls of samples whose ops all had kernels, were decomposed, or ran on the host;
(sample, dtype) pairs that the backend's declaration excludes; strict expected failures."""


@dataclass
class ScoreCard:
    """Counts by (tier, family), and the failures.

    Attributes:
        rows: (tier, family) to a count for each of `COLUMNS`.
        ops: by op, how often it went each way.
    """

    device: str
    rows: dict[tuple[int, str], Counter[str]]
    ops: dict[str, Counter[str]]
    failures: list[dict[str, str]]
    known_bugs: list[str]
    seed: int

    @classmethod
    def of(cls, outcomes: Iterable[Mapping[str, Any]], options: Any) -> ScoreCard:
        """The card of a run: *outcomes* as the plug-in collected them, *options* of its command line."""
        rows: dict[tuple[int, str], Counter[str]] = {}
        ops: dict[str, Counter[str]] = {}
        failures, known = [], []
        for outcome in outcomes:
            row = rows.setdefault((outcome["tier"], outcome["family"]), Counter())
            if outcome["outcome"] == "skipped":
                row["unsupported"] += 1
                continue
            row[outcome["outcome"]] += 1
            ways = Counter()
            for way, name, count in outcome["taken"]:
                ways[way] += count
                ops.setdefault(name, Counter())[way] += count
            if ways and outcome["counts"]:
                row[next(way for way in ("fallback", "decomposition", "kernel") if ways[way])] += 1
            if outcome["outcome"] == "failed":
                failures.append({"test": outcome["test"], "message": outcome["message"]})
            elif outcome["outcome"] == "known bug":
                known.append(outcome["test"])
        _count_undeclared(rows, options)
        return cls(options.polyad_backend, rows, ops, failures, known, options.polyad_seed)

    def lines(self) -> list[str]:
        """The card as text."""
        names = [family for _, family in self.rows]
        width = max(map(len, [*names, "family"]))
        lines = [f"tier  {'family':<{width}}  " + "  ".join(f"{column:>13}" for column in COLUMNS)]
        for (tier, family), row in sorted(self.rows.items()):
            lines.append(
                f"{tier:>4}  {family:<{width}}  " + "  ".join(f"{row[column] or '.':>13}" for column in COLUMNS)
            )
        fallen = sorted(name for name, ways in self.ops.items() if ways["fallback"])
        if fallen:
            lines.append(f"ran on the host for want of a kernel: {', '.join(fallen)}")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The card as plain data."""
        info = registry.info_of(self.device.partition(":")[0])
        return {
            "device": self.device,
            "description": info.description if info else "",
            "api_version": list(info.api_version) if info else None,
            "polyad": polyad.__version__,
            "seed": self.seed,
            "passed": not self.failures,
            "rows": [
                {"tier": tier, "family": family, **{c: row[c] for c in COLUMNS}}
                for (tier, family), row in sorted(self.rows.items())
            ],
            "ops": {name: dict(sorted(ways.items())) for name, ways in sorted(self.ops.items())},
            "failures": self.failures,
            "known_bugs": self.known_bugs,
        }

    def write(self, path: str) -> None:
        """Write the card to *path* as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.as_dict(), file, indent=2)
            file.write("\n")


def _count_undeclared(rows: dict[tuple[int, str], Counter[str]], options: Any) -> None:
    device = registry.resolve_device(options.polyad_backend)
    declared = registry.get(device.type).capabilities(device).dtypes
    for family, (samples, _) in families().items():
        if (1, family) in rows:
            rows[1, family]["unsupported"] += sum(
                dtype not in declared for sample in samples for dtype in sample.dtypes
            )
