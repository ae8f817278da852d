"""docs/ecosystem.md, made of docs/ecosystem/*.json: ``python -m ecosystem.page`` writes it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "docs" / "ecosystem"
PAGE = ROOT / "docs" / "ecosystem.md"

HEAD = """\
# The ecosystem, measured

`nox -s ecosystem` runs libraries written for PyTorch, unedited, in two environments: polyad without PyTorch, and
PyTorch. Both start from the same weights and inputs. This page is made of what its last run found, by
`python -m ecosystem.page`; how it works is in `tests/ecosystem`. How to use the libraries so is in
[Libraries written for PyTorch](as-torch.md).

- *agreement* is the largest difference from PyTorch's numbers, of the largest element, with the value where it was
  found. How large it may be follows from the dtype and the number of layers; a row in which it is larger, or which
  failed, is marked **red**.
- *time* is PyTorch's by polyad's for the same call, on one thread each: above 1 polyad is faster.
- *memory* is the peak of the process, PyTorch's and polyad's, in MB; both hold the library that was imported.
"""


def write_page() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """The page's text."""
    libraries = {
        name: one for file in sorted(RESULTS.glob("*.json")) for name, one in json.loads(file.read_text()).items()
    }
    parts = [HEAD, summary(libraries)]
    parts += [section(name, libraries[name]) for name in sorted(libraries)]
    return "\n".join(parts)


def is_red(row: dict[str, Any]) -> bool:
    return row["error"] is not None or not row["ratio"] <= 1


def summary(libraries: dict[str, Any]) -> str:
    """A line for each library."""
    lines = ["| library | version | jobs | that agree |", "|---|---|---|---|"]
    for name in sorted(libraries):
        one = libraries[name]
        green = sum(1 for row in one["rows"] if not is_red(row))
        lines.append(
            f"| [{name}](#{name.replace('_', '-')}) | {one.get('version', '')} | {len(one['rows'])} | {green} |"
        )
    return "\n".join(lines) + "\n"


def section(name: str, library: dict[str, Any]) -> str:
    """The rows of one library."""
    lines = [f"## {name}", ""]
    if "error" in library:
        return "\n".join([*lines, f"**red**: {cell(library['error'])}", ""])
    imports = {side: sum(took.values()) for side, took in library["imports"].items()}
    lines += [
        f"{name} {library['version']} beside PyTorch {library['pytorch']}. Importing it with PyTorch takes "
        f"{imports['pytorch'] / imports['polyad']:.2f} of the time that it takes with polyad.",
        "",
        "| what | agreement | time | memory |",
        "|---|---|---|---|",
    ]
    lines += [line(row) for row in library["rows"]]
    return "\n".join(lines) + "\n"


def line(row: dict[str, Any]) -> str:
    """A job's line in the table."""
    what = row["job"] + ("" if row["device"] == "cpu" else f" on {row['device']}")
    if row["error"] is not None:
        agreement = f"**red**: {cell(row['error'])}"
    else:
        agreement = f"{'**red**: ' if is_red(row) else ''}{row['difference']:.1e} in `{row['worst']}`"
    times = ", ".join(f"{section} {ratio:.2f}" for section, ratio in row["times"].items())
    memory = " / ".join(f"{megabytes:.0f}" for megabytes in row["memory"]) if any(row["memory"]) else ""
    return f"| {what} | {agreement} | {times} | {memory} |"


def cell(text: str) -> str:
    """*text* as a cell's, on one line and not too long."""
    words = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return words if len(words) <= 200 else words[:197] + "..."


if __name__ == "__main__":
    write_page()
