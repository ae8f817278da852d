"""How sparse tensors print: the parts, then the size and the layout, as in PyTorch."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import polyad

from .patterns import Coordinates
from .tensor import SparseTensor, answers

_FACTS = re.compile(r",\s*(dtype=[\w.]+|device='[^']*')")


def _indented(name: str, part: Any) -> str:
    text, bracket, end = repr(part.detach()).rpartition("]")
    text += bracket + _FACTS.sub("", end)  # a tensor says them once, at its end
    if not part.numel():
        text = f"tensor([], size={tuple(part.shape)})"
    lead = f"{name}="
    return lead + textwrap.indent(text, " " * (len("tensor(") + len(lead))).lstrip()


@answers("__repr__")
def represented(self: SparseTensor, *, tensor_contents: Any = None) -> str:
    """The text of a sparse tensor."""
    pattern = self._pattern
    if isinstance(pattern, Coordinates):
        names = ["indices"]
    else:
        names = ["crow_indices", "col_indices"] if pattern.by_rows else ["ccol_indices", "row_indices"]
    lines = [_indented(name, part) for name, part in zip(names, pattern.parts(), strict=True)]
    lines.append(_indented("values", self._held))
    facts = [f"size={tuple(self.shape)}", f"nnz={pattern.nnz}"]
    if self.device.type != "cpu":
        facts.insert(0, f"device='{self.device}'")
    if self.dtype not in (polyad.get_default_dtype(), polyad.int64, polyad.bool, polyad.complex64):
        facts.append(f"dtype={self.dtype}")
    facts.append(f"layout={self.layout}")
    if self.grad_fn is not None:
        facts.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
    elif self.requires_grad:
        facts.append("requires_grad=True")
    text = "tensor(" + (",\n       ").join(lines)
    column = len(lines[-1].rpartition("\n")[2]) + (0 if "\n" in lines[-1] else len("tensor("))
    first = isinstance(pattern, Coordinates)
    for fact in facts:
        if first or column + len(fact) + 2 > 80:
            text += ",\n       " + fact
            column, first = 7 + len(fact), False
        else:
            text += ", " + fact
            column += len(fact) + 2
    return text + ")"
