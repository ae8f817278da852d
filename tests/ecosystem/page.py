"""docs/ecosystem.md, made of docs/ecosystem/*.json: ``python -m ecosystem.page`` writes it again."""

from __future__ import annotations

import statistics
from typing import Any

from .results import RESULTS, read

PAGE = RESULTS.with_suffix(".md")

HEAD = """\
# The ecosystem, measured

`nox -s ecosystem` runs libraries written for PyTorch, unedited, in two environments: polyad without PyTorch, and
PyTorch. Both start from the same weights and inputs. This page is made of what its last run found, by
`python -m ecosystem.page`; how it works is in `tests/ecosystem`. How to use the libraries so is in
[Libraries written for PyTorch](as-torch.md).

- *agreement* is the largest difference from PyTorch's numbers, of the largest element, with the value where it was
  found. How large it may be follows from the dtype and the number of layers; a row in which it is larger, or which
  failed, is marked **red**.
- *time* is PyTorch's by polyad's for the same call, on one thread each, the processor's: above 1 polyad is faster.
- *memory* is the peak of the process, PyTorch's and polyad's, in MB, library included; in the summary PyTorch's by
  polyad's.
"""


def write_page() -> None:
    """Write the page."""
    PAGE.write_text(page(read()))


def page(libraries: dict[str, Any]) -> str:
    """The page's text, of what `results.read` gives."""
    return "\n".join([HEAD, summary(libraries), *(section(name, one) for name, one in libraries.items())])


def is_red(row: dict[str, Any]) -> bool:
    """Whether the row's job failed, or its numbers are too far from PyTorch's."""
    return row["error"] is not None or not row["ratio"] <= 1


def summary(libraries: dict[str, Any]) -> str:
    """A line for each library."""
    lines = [
        "| library | version | jobs that agree | time: least, median | memory: median |",
        "|---|---|---|---|---|",
    ]
    for name, one in libraries.items():
        rows = one["rows"].values()
        green = sum(not is_red(row) for row in rows)
        times = [ratio for row in rows for ratio in row["times"].values()]
        memory = [theirs / ours for theirs, ours in (row["memory"] for row in rows) if ours]
        said = f"{min(times):.2f}, {statistics.median(times):.2f}" if times else ""
        lines.append(
            f"| [{name}](#{name}) | {one.get('version', '')} | {green} of {len(rows)} | {said} "
            f"| {f'{statistics.median(memory):.2f}' if memory else ''} |"
        )
    return "\n".join(lines) + "\n"


def section(name: str, library: dict[str, Any]) -> str:
    """The rows of one library."""
    lines = [f"## {name}", ""]
    if "imports" in library:
        imports = {side: sum(took.values()) for side, took in library["imports"].items()}
        lines += [
            f"{name} {library['version']} beside PyTorch {library['pytorch']}. To import both takes "
            f"{imports['pytorch']:.1f} s with PyTorch and {imports['polyad']:.1f} s with polyad.",
            "",
        ]
    lines += ["| what | agreement | time | memory |", "|---|---|---|---|"]
    return "\n".join([*lines, *map(line, library["rows"].values())]) + "\n"


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
