"""``python -m fuzz.files``: mutants for every reader, and a table of findings."""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

from .readers import READERS
from .running import Tally, findings


def main() -> int:
    """Fuzz; 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="fuzz.files", description="Give mutated files to polyad's readers.")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="mutants a reader (default: 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", action="append", choices=sorted(READERS), metavar="NAME", help=", ".join(READERS))
    parser.add_argument("--only", type=int, metavar="NUMBER", help="read just this mutant, and show what is raised")
    parser.add_argument("--write", type=Path, metavar="FILE", help="with --only: write the mutant there instead")
    options = parser.parse_args()
    names = options.reader or list(READERS)
    if options.only is not None:
        return _only(names[0], options)
    found = 0
    for name in names:
        tally, sorts, begin = Tally(), defaultdict(list), time.perf_counter()
        for finding in findings(READERS[name], options.seed, range(options.count), tally):
            sorts[finding.sort].append(finding.number)
        found += sum(map(len, sorts.values()))
        print(f"{name:12} {tally}; {sum(map(len, sorts.values()))} findings; {time.perf_counter() - begin:.0f} s")
        for sort, numbers in sorted(sorts.items(), key=lambda item: -len(item[1])):
            print(f"    {len(numbers):6}  {sort}   (--only {numbers[0]})")
        sys.stdout.flush()
    return 1 if found else 0


def _only(name: str, options: argparse.Namespace) -> int:
    import tempfile

    reader = READERS[name]
    mutant = reader.mutant(options.seed, options.only)
    if options.write:
        options.write.write_bytes(mutant)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mutant")
        path.write_bytes(mutant)
        print(reader.read(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
