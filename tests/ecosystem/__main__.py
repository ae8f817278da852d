"""The command: see `ecosystem`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from . import results
from .comparison import GROUPS, Library, run_library
from .page import write_page


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
    parser.add_argument(
        "--write", action="store_true", help="write docs/ecosystem/<library>.json and docs/ecosystem.md"
    )
    given = parser.parse_args()
    pythons = {"polyad": given.polyad, "pytorch": given.pytorch}
    libraries = given.library or GROUPS[given.group]
    if given.write and not (given.wanted or given.device):
        results.forget(libraries)
    rows = []
    with tempfile.TemporaryDirectory(prefix="polyad-ecosystem-") as temporary:
        folder = Path(given.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in libraries:
            library = Library(
                name, pythons, folder, given.rounds, given.threads, given.measure, tidy=given.folder is None
            )
            keep = results.keep if given.write else lambda *_: None
            rows += run_library(library, given.wanted, tuple(given.device), keep)
    if given.write:
        write_page()
    red = sum(row.red for row in rows)
    print(f"{len(rows) - red} of {len(rows)} jobs agree")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
