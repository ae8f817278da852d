"""What the last runs came to: docs/ecosystem/<library>.json, which holds a row for each job and device."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "docs" / "ecosystem"


def read() -> dict[str, Any]:
    """What is known of each library."""
    return {file.stem: json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"))}


def forget(libraries: Iterable[str]) -> None:
    """Take away all rows of *libraries*, before all of their jobs are run."""
    for name in libraries:
        (RESULTS / f"{name}.json").unlink(missing_ok=True)


def keep(library: str, about: dict[str, Any], row: dict[str, Any]) -> None:
    """Write a row in the place of an earlier one of its job; several runs at once may do so."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{library}.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        known = json.loads(text) if text else {"rows": {}}
        rows = known.pop("rows") | {f"{row['job']} on {row['device']}": row}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(known | about | {"rows": rows}, indent=1) + "\n")
