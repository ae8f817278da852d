"""The command: see `ecosystem`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .comparison import GROUPS, run_group
from .page import RESULTS, write_page


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ecosystem", description="Run libraries on polyad and on PyTorch.")
    parser.add_argument("group", choices=list(GROUPS))
    parser.add_argument("--polyad", required=True, help="the Python of the environment that has polyad, and no PyTorch")
    parser.add_argument("--pytorch", required=True, help="the Python of the environment that has PyTorch")
    parser.add_argument("--library", action="append", default=[], help="of the group; without it all are run")
    parser.add_argument("-k", dest="wanted", default="", help="run the jobs whose names match this expression")
    parser.add_argument("--device", action="append", default=[], help="of polyad's; without it, all that a job names")
    parser.add_argument("--rounds", type=int, default=5, help="how often each timed section is timed; 0 for never")
    parser.add_argument("--threads", type=int, default=1, help="how many threads each library may use")
    parser.add_argument("--measure", choices=["processor", "clock"], default="processor", help="the time that counts")
    parser.add_argument("--folder", help="keep weights, values and logs there")
    parser.add_argument("--write", action="store_true", help="write docs/ecosystem/<group>.json and docs/ecosystem.md")
    given = parser.parse_args()
    pythons = {"polyad": given.polyad, "pytorch": given.pytorch}
    result = run_group(
        given.group, pythons, libraries=tuple(given.library), wanted=given.wanted, devices=tuple(given.device),
        folder=given.folder,        rounds=given.rounds, threads=given.threads, measure=given.measure,
    )  # fmt: skip
    if given.write:
        file = Path(RESULTS) / f"{given.group}.json"
        file.parent.mkdir(exist_ok=True)
        before = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(before | result, indent=1) + "\n")
        write_page()
    rows = [row for library in result.values() for row in library["rows"]]
    red = sum(1 for row in rows if row["error"] is not None or not row["ratio"] <= 1)
    red += sum(1 for library in result.values() if "error" in library)
    print(f"{len(rows) - red} of {len(rows)} jobs agree")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
