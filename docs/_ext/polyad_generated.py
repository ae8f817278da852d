"""Parts of the site written by the declarations of ops and backends, so that they cannot disagree with the code.

A page asks for a part with a line of its own, `<!-- generated: NAME -->`, which is replaced while Sphinx reads the
page. An unknown name stops the build.

To add a part, write a function that returns Markdown and put it in `PARTS`.
"""

import html
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polyad.backend.capabilities import FEATURES
from polyad.base.dtypes import ALL
from polyad.compatibility.absent import ABSENT
from polyad.devices import registry
from polyad.dispatch.op import OPS, PUBLIC, Function
from polyad.errors import BackendError

ROOT = Path(__file__).parents[2]

MARK = re.compile(r"^<!-- generated: (?P<name>[\w-]+) -->$", re.MULTILINE)


def families() -> dict[str, list[Function]]:
    """Public functions by the module that declares them, in the order of declaration."""
    found: dict[str, list[Function]] = {}
    for function in PUBLIC.values():
        found.setdefault(function.module, []).append(function)
    return dict(sorted(found.items()))


def summary(documented: Any) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def title(module: str) -> str:
    """The heading of a family of ops."""
    return module.removeprefix("polyad.ops.").replace(".", ": ").replace("_", " ").capitalize()


def functions() -> str:
    """The reference of every public function of tensors, by family."""
    parts = []
    for module, members in families().items():
        # nn.functional has a page of its own, nn.md; methods are on the page of Tensor.
        shown = [f for f in members if f.namespace not in ("Tensor", "nn.functional")]
        if not shown:
            continue
        parts.append(f"## {title(module)}\n\n{summary(importlib.import_module(module))}\n")
        entries = "\n".join(f".. autofunction:: polyad.{f.path}" for f in shown)
        parts.append(f"```{{eval-rst}}\n{entries}\n```\n")
    return "\n".join(parts)


def op_table() -> str:
    """Every public function: the forms that it has, what it is, whether it differentiates."""
    parts = []
    for module, members in families().items():
        rows = []
        for f in members:
            forms = [f"`polyad.{f.path}`"] if f.namespace != "Tensor" else []
            forms += [f"`Tensor.{f.name}`"] if f.method else []
            forms += [f"`Tensor.{f.name}_`"] if f.inplace else []
            forms += ["`out=`"] if "out" in inspect.signature(f.call).parameters else []
            rows.append([f"`{f.name}`", ", ".join(forms), f.op.kind if f.op else "function", summary(f.call)])
        parts.append(f"### {title(module)}\n\n{table(['name', 'forms', 'kind', ''], rows)}\n")
    return "\n".join(parts)


def backend_table() -> str:
    """What each of polyad's backends declares, and how much of the kernels it brings, as far as it loads here."""
    names = sorted(registry.entry_points(registry.BACKEND_GROUP))
    infos = {name: registry.info_of(name) for name in names}
    primitives = {name for name, op in OPS.items() if op.kind == "primitive"}
    composites = {name for name, op in OPS.items() if op.kind == "composite"}

    def kernels(name: str) -> set[str] | None:
        try:
            return set(registry.get(name).kernels)
        except BackendError:
            return None

    brought = {name: kernels(name) for name in names}

    def row(label: str, cell: Any) -> list[str]:
        return [label, *(cell(infos[name]) for name in names)]

    def row_of_kernels(label: str, cell: Any) -> list[str]:
        cells = ("not loaded here" if one is None else cell(one) for one in brought.values())
        return [label, *cells]

    def mark(yes: bool) -> str:
        return "yes" if yes else "-"

    rows = [
        row("backend interface", lambda info: ".".join(map(str, info.api_version))),
        row_of_kernels(f"primitives, of {len(primitives)}", lambda k: str(len(primitives & k))),
        row_of_kernels("fused composites", lambda k: ", ".join(f"`{n}`" for n in sorted(composites & k)) or "-"),
        *(row(f"`{dtype.name}`", lambda info, d=dtype: mark(d in info.capabilities.dtypes)) for dtype in ALL),
        *(row(f"{f}: {says}", lambda info, f=f: mark(f in info.capabilities.features)) for f, says in FEATURES.items()),
        row("known bugs", lambda info: "; ".join(f"[{q.name}]({q.link})" for q in info.capabilities.quirks) or "-"),
    ]
    return table(["", *(f"`{name}`" for name in names)], rows)


def absent_table() -> str:
    """The names that stand in for what PyTorch has and polyad has not."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for name, absence in sorted(ABSENT.items()):
        kinds.setdefault(absence, []).append(f"`{name}`")
    rows = ([", ".join(names), reason, instead] for (reason, instead), names in kinds.items())
    return table(["names under `polyad`", "why", "use instead"], rows)


def cards() -> dict[str, dict[str, Any]]:
    """The score cards in docs/cards by the name of their backend in noxfile.py, the host first."""
    paths = sorted((ROOT / "docs" / "cards").glob("*.json"), key=lambda path: (path.stem != "cpu", path.stem))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def ways(row: dict[str, int]) -> str:
    """What became of the calls of a family's samples, and what is wrong with it."""
    calls = {name: row.get(name, 0) for name in ("kernel", "decomposition", "fallback")}
    parts = [
        f"{count} {name}" for name, count in zip(("kernel", "composed", "host"), calls.values(), strict=True) if count
    ]
    if not parts and row.get("passed"):
        parts.append(f"{row['passed']} tests")
    parts += [f"{row[name]} {name}" for name in ("unsupported", "known bug") if row.get(name)]
    parts += [f"**{row['failed']} failed**"] if row.get("failed") else []
    return ", ".join(parts) or "-"


def support_summary() -> str:
    """A row a score card: what was tested, with which result."""
    return table(
        ["backend", "what it is", "polyad", "tests passed", "failed", "known bugs", "unsupported", "calls"],
        (
            [
                f"`{name}`",
                card["description"] + ("" if card["complete"] else " (not all shards)"),
                card["polyad"],
                *(str(card["totals"][column]) for column in ("passed", "failed", "known bug", "unsupported")),
                ways({column: card["totals"][column] for column in ("kernel", "decomposition", "fallback")}),
            ]
            for name, card in cards().items()
        ),
    )


def support_by_family() -> str:
    """A row a family of ops, a column a score card; tests of all tiers together."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for name, card in cards().items():
        for row in card["rows"]:
            cell = found.setdefault(row["family"], {}).setdefault(name, {})
            for column, count in row.items():
                if isinstance(count, int):
                    cell[column] = cell.get(column, 0) + count
    names = list(cards())
    rows = ([f"`{family}`", *(ways(cells.get(n, {})) for n in names)] for family, cells in sorted(found.items()))
    return table(["family", *(f"`{name}`" for name in names)], rows)


def support_by_op() -> str:
    """A row an op, a column a score card: the ways that calls of the op went."""
    found = cards()
    names = sorted({op for card in found.values() for op in card["ops"]})
    said = {"kernel": "kernel", "decomposition": "composed", "fallback": "host"}

    def cell(card: dict[str, Any], op: str) -> str:
        return ", ".join(said[way] for way in said if card["ops"].get(op, {}).get(way)) or "-"

    rows = (
        [f"`{op}`", OPS[op].kind if op in OPS else "", *(cell(card, op) for card in found.values())] for op in names
    )
    return table(["op", "kind", *(f"`{name}`" for name in found)], rows)


def sabotage_table() -> str:
    """The ways to be wrong that the suite's own tests try, with the check that catches each."""
    sys.path[:0] = [
        str(ROOT / "tests" / place) for place in ("unit/conformance", "backends/fake/src", "backends/c/src")
    ]
    sabotages = importlib.import_module("sabotage").SABOTAGES
    found: dict[str, list[str]] = {}
    for sabotage in sabotages:
        on = f" of {', '.join(f'`{op}`' for op in sabotage.ops)}" if sabotage.ops else ""
        found.setdefault(sabotage.description, []).append(f"`{sabotage.check}`{on}")
    rows = ([description, "; ".join(checks)] for description, checks in found.items())
    return table(["a backend that is wrong in this way", "is caught by"], rows)


def speed_picture() -> str:
    """Bars for the table of training steps in native.md, as a picture inside the page."""
    page = (ROOT / "docs" / "native.md").read_text(encoding="utf-8")
    lines = page.partition("| step |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")][:2] for line in lines]
    if not rows:
        raise ValueError("docs/native.md has no table that begins with '| step |'")
    longest = max(float(ratio) for _, ratio in rows)
    scale, left, step = 300 / longest, 190, 26
    bars = []
    for at, (name, ratio) in enumerate(rows):
        y = 34 + at * step
        bars += [
            f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(name)}</text>',
            f'<rect x="{left}" y="{y}" width="{float(ratio) * scale:.0f}" height="18" rx="3" fill="#5b8def"/>',
            f'<text x="{left + float(ratio) * scale + 6:.0f}" y="{y + 14}">{ratio}</text>',
        ]
    one, height = left + scale, 34 + len(rows) * step
    said = "PyTorch 2.13's time for a training step divided by polyad's"
    return (
        f'<svg viewBox="0 0 540 {height}" role="img" aria-label="{said}" style="width:100%;max-width:40rem"'
        ' fill="currentColor" font-family="system-ui, sans-serif" font-size="13">'
        f'<text x="{one + 5:.0f}" y="18">level with PyTorch</text>{"".join(bars)}'
        f'<path d="M{one:.0f} 6V{height}" stroke="#f29f3d" stroke-width="2"/></svg>\n\n'
        f"*{said}: two cores of an x86-64 server, alternating processes. [More figures](native.md#how-fast).*"
    )


PARTS = {
    "speed-picture": speed_picture,
    "absent-table": absent_table,
    "functions": functions,
    "op-table": op_table,
    "backend-table": backend_table,
    "support-summary": support_summary,
    "support-by-family": support_by_family,
    "support-by-op": support_by_op,
    "sabotage-table": sabotage_table,
}


def fill_in(app: Any, docname: str, source: list[str]) -> None:
    """Replace the marks in a page that Sphinx has just read."""
    source[0] = MARK.sub(lambda mark: PARTS[mark["name"]](), source[0])


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
