"""Showing ops: as text of at most 80 columns anywhere, with headings that stand out on a terminal."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ...backend.addresses import KernelAddress
from .ops import OpReport
from .ops_address import TIERS, OpLocation

WIDTH = 80
LABEL = 12


def text_of_ops(ops: Sequence[OpReport]) -> str:
    """A line for each op, by family."""
    lines = [f"{'op':<41}{'tier':<5}{'structure':<18}kernels"]
    for family, members in groupby(ops, key=lambda op: op.family):
        lines += ["", family]
        for op in members:
            structure = op.structure.partition(" over ")[0]
            devices = " ".join(sorted(op.kernels)) or ("" if op.tier is None else "none")
            lines.append(f"  {op.name:<39}{op.tier or '-'!s:<5}{structure:<18}{devices}".rstrip())
    return "\n".join([*lines, "", _counted(ops)])


def _counted(ops: Sequence[OpReport]) -> str:
    counted = {form: sum(op.form == form for op in ops) for form in ("primitive", "composite", "view")}
    total = ", ".join(f"{count} {form}{'s' * (count != 1)}" for form, count in counted.items() if count)
    return f"{total or 'none'}; `polyad ops NAME` says all of one"


def text_of_op(op: OpReport) -> str:
    """All that is known of an op."""
    what = f"{op.form}, tier {op.tier}: {'a complete backend has a kernel' if op.tier == 1 else 'a kernel is optional'}"
    lines = [f"{op.name}: {what if op.tier else 'view: core does it, no kernel is called'}", ""]
    lines += _field("means", op.meaning.partition(">>>")[0].strip())
    lines += _field("family", op.family)
    lines += _field("function", ", ".join(f"polyad.{name}" for name in op.functions))
    lines += _field("structure", op.structure)
    for device, origins in sorted(op.kernels.items()):
        lines += _field(f"on {device}", ", ".join(origins))
    if not op.kernels and op.tier:
        lines += _field("kernels", "none is installed")
    lines += ["", *_field("kernel", op.signature)]
    for name, given in op.operands.items():
        lines += _field(f"  {name}", given + ("; has a gradient" if name in op.differentiable else ""))
    for name, annotation in op.params.items():
        lines += _field(f"  {name}", annotation)
    if op.outputs:
        lines += _field("  gives", ", ".join(op.outputs))
    if op.dtypes or op.promoted:
        lines += ["", "dtypes", *_table(op)]
    if op.refused:
        lines += _field("refuses", ", ".join(op.refused))
    lines += ["", *_field("shape", op.shape)]
    if op.random:
        lines += ["", "random numbers (polyad.random.philox)", "", textwrap.indent(op.random.rstrip(), "  ")]
    title = {"composite": "decomposition", "view": "layout"}.get(op.form, "declaration")
    lines += ["", title, "", textwrap.indent(op.declaration.rstrip(), "  ")]
    return "\n".join(lines)


def text_of_location(found: OpLocation) -> str:
    """Where an op is computed, and why; the generated code and the body at the end."""
    behind = f" (op {found.op})" if found.op not in ("", found.name) else ""
    by = f" of {found.origin}" if found.origin else ""
    lines = [f"{found.name}{behind} on {found.device}: {TIERS[found.path]}{by}", ""]
    lines += _field("call", found.call)
    lines += _field("declared", place(found.declaration.file, found.declaration.line))
    for table in found.tables:
        lines += _field("table", place(*table.rsplit(":", 1)))
    for kernel in found.kernels:
        lines += _field("computed by" if kernel.serves else "otherwise", _address(kernel))
    for reason in found.reasons:
        lines += _field("why", reason)
    for operand, formula in found.gradients.items():
        lines += _field("gradient", f"of {operand}: {place(formula.file, formula.line)}")
    lines += _field("vmap", _rule(found.batching)) + _field("autocast", found.autocast)
    lines += _field("calls", ", ".join(found.uses))
    for kernel in found.kernels:
        if kernel.text:
            lines += [
                "",
                f"generated {kernel.language}: {kernel.name}",
                "",
                textwrap.indent(kernel.text.rstrip(), "  "),
            ]
    title = {"composite": "body", "view": "layout"}.get(found.form, "declaration")
    return "\n".join([*lines, "", title, "", textwrap.indent(found.declaration.text.rstrip(), "  ")])


def place(file: str, line: int | str) -> str:
    """A file and a line as an editor reads them: relative where that is shorter."""
    try:
        file = min(file, os.path.relpath(file), key=len)
    except ValueError:  # on another drive
        pass
    return f"{file}:{line}" if file else ""


def _rule(text: str) -> str:
    """vmap's rule, its address as `place` has it."""
    words, comma, where = text.partition(", ")
    file, _, line = where.rpartition(":")
    return f"{words}{comma}{place(file, line)}" if file else text


def _address(kernel: KernelAddress) -> str:
    at = f", {place(kernel.file, kernel.line)}" if kernel.file else ", below" if kernel.text else ""
    when = f", {kernel.when}" if kernel.when else ""
    return f"{' '.join(filter(None, (kernel.form, kernel.language)))} {kernel.name}{at}{when}"


def _field(label: str, text: str) -> list[str]:
    """A label and its text, wrapped; source stands below the label as it is."""
    if not text:
        return []
    if text.startswith("def "):
        return [label, textwrap.indent(text.rstrip(), "  ")]
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    lead = f"{label:<{LABEL - 1}} "
    wrapped = [
        textwrap.wrap(part, WIDTH - LABEL, break_long_words=False, break_on_hyphens=False) for part in paragraphs
    ]
    lines = [line for part in wrapped for line in part]
    if len(lead) > LABEL:
        return [lead.rstrip(), *(" " * LABEL + line for line in lines)]
    return [(lead if at == 0 else " " * LABEL) + line for at, line in enumerate(lines)]


def _table(op: OpReport) -> list[str]:
    """The dtype rule as lines: for each group of dtypes that it treats alike, what is computed and what comes out."""
    lines = []
    for call, names in _alike(op).items():
        listed = textwrap.wrap(f"T = {', '.join(names)}", WIDTH - 2, subsequent_indent="    ")
        lines += [f"  {line}" for line in listed] + [f"      {call}"]
    for row in op.promoted:
        lines.append(f"  {_call(op, row.given, '')}: {_call(op, row.computed, '')} -> {', '.join(row.results)}")
    return lines


def _call(op: OpReport, dtypes: Sequence[str], varying: str) -> str:
    return f"{op.name}({', '.join('T' if one == varying else one for one in dtypes)})"


def _alike(op: OpReport) -> dict[str, list[str]]:
    """What becomes of calls where T stands for a dtype, with the dtypes for which it does."""
    found: dict[str, list[str]] = {}
    for row in op.dtypes:
        varying = next(iter(row.given), row.results[0])
        given, computed = _call(op, row.given, varying), _call(op, row.computed, varying)
        gives = ", ".join("T" if one == varying else one for one in row.results)
        found.setdefault(f"{given}{'' if given == computed else ': ' + computed} -> {gives}", []).append(varying)
    return found


def show_ops(terminal: Any, ops: Sequence[OpReport]) -> None:
    """Print the list on the console of a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("op", "tier", "structure"):
        table.add_column(heading, no_wrap=True)
    table.add_column("kernels", overflow="fold")
    for family, members in groupby(ops, key=lambda op: op.family):
        table.add_row(Text(f"\n{family}", "bold"))
        for op in members:
            devices = Text(" ".join(sorted(op.kernels)) or ("" if op.tier is None else "none"))
            table.add_row(f"  {op.name}", str(op.tier or "-"), op.structure.partition(" over ")[0], devices)
    terminal.print(table)
    terminal.print(Text("\n" + _counted(ops)))
