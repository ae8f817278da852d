"""Parts of the site written by the declarations of ops and backends, so that they cannot disagree with the code.

A page asks for a part with a line of its own, `<!-- generated: NAME -->`, which is replaced while Sphinx reads the
page. An unknown name stops the build.

To add a part, write a function that returns Markdown and put it in `PARTS`.
"""

import importlib
import inspect
import re
from collections.abc import Iterable
from typing import Any

from polyad.absent import ABSENT
from polyad.backend import registry
from polyad.backend.capabilities import FEATURES
from polyad.dispatch.op import OPS, PUBLIC, Function
from polyad.dtypes import ALL

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
    """What each installed backend declares, and how much of the kernels it brings."""
    names = sorted(registry.entry_points(registry.BACKEND_GROUP))
    backends = {name: registry.get(name) for name in names}
    primitives = {name for name, op in OPS.items() if op.kind == "primitive"}
    composites = {name for name, op in OPS.items() if op.kind == "composite"}

    def row(label: str, cell: Any) -> list[str]:
        return [label, *(cell(backend) for backend in backends.values())]

    def mark(yes: bool) -> str:
        return "yes" if yes else "-"

    rows = [
        row("backend interface", lambda b: ".".join(map(str, b.info.api_version))),
        row(f"primitives, of {len(primitives)}", lambda b: str(len(primitives & b.kernels.keys()))),
        row("fused composites", lambda b: ", ".join(f"`{n}`" for n in sorted(composites & b.kernels.keys())) or "-"),
        *(row(f"`{dtype.name}`", lambda b, d=dtype: mark(d in b.info.capabilities.dtypes)) for dtype in ALL),
        *(row(f"{f}: {says}", lambda b, f=f: mark(f in b.info.capabilities.features)) for f, says in FEATURES.items()),
        row("known bugs", lambda b: "; ".join(f"[{q.name}]({q.link})" for q in b.info.capabilities.quirks) or "-"),
    ]
    return table(["", *(f"`{name}`" for name in names)], rows)


def absent_table() -> str:
    """The names that stand in for what PyTorch has and polyad has not."""
    rows = ([f"`polyad.{name}`", reason, instead] for name, (reason, instead) in sorted(ABSENT.items()))
    return table(["name", "why", "use instead"], rows)


PARTS = {"absent-table": absent_table, "functions": functions, "op-table": op_table, "backend-table": backend_table}


def fill_in(app: Any, docname: str, source: list[str]) -> None:
    """Replace the marks in a page that Sphinx has just read."""
    source[0] = MARK.sub(lambda mark: PARTS[mark["name"]](), source[0])


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
