"""Functions of polyad's that traced programs hold as text, for readers whose library has no such op: steps and
sequences of recurrent layers.

Rows are grouped by time step: step t has ``batch_sizes[t]`` rows, which do not grow. With *reverse* the last step comes
first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["FUNCTIONS", "MODULE", "Function", "sources_of"]

MODULE = "__torch__.polyad.recurrent"
"""The module of a program in which they are."""


class Function(NamedTuple):
    """A function as text, and the other functions that it calls."""

    text: str
    uses: tuple[str, ...] = ()


FUNCTIONS = {
    "steps": Function("""\
def steps(batch_sizes: List[int], reverse: bool) -> List[Tuple[int, int]]:
  found = annotate(List[Tuple[int, int]], [])
  start = 0
  for i in range(torch.len(batch_sizes)):
    found.append((start, batch_sizes[i]))
    start = start + batch_sizes[i]
  if reverse:
    found.reverse()
  return found
"""),
    "renewed": Function("""\
def renewed(state: Tensor, now: Tensor) -> Tensor:
  count = torch.size(now, 0)
  if count == torch.size(state, 0):
    return now
  return torch.cat([now, torch.slice(state, 0, count)])
"""),
    "joined": Function("""\
def joined(parts: List[Tensor], reverse: bool) -> Tensor:
  if reverse:
    parts.reverse()
  return torch.cat(parts)
"""),
    "lstm_gates": Function("""\
def lstm_gates(input_gates: Tensor, hidden_gates: Tensor, cell: Tensor) -> Tuple[Tensor, Tensor]:
  i, f, g, o, = torch.chunk(torch.add(input_gates, hidden_gates), 4, -1)
  new = torch.add(torch.mul(torch.sigmoid(f), cell), torch.mul(torch.sigmoid(i), torch.tanh(g)))
  return (torch.mul(torch.sigmoid(o), torch.tanh(new)), new)
"""),
    "gru_gates": Function("""\
def gru_gates(input_gates: Tensor, hidden_gates: Tensor, hidden: Tensor) -> Tensor:
  r, z, n, = torch.chunk(input_gates, 3, -1)
  r0, z0, n0, = torch.chunk(hidden_gates, 3, -1)
  reset = torch.sigmoid(torch.add(r, r0))
  update = torch.sigmoid(torch.add(z, z0))
  new = torch.tanh(torch.add(n, torch.mul(reset, n0)))
  return torch.add(new, torch.mul(update, torch.sub(hidden, new)))
"""),
    "lstm_sequence": Function(
        """\
def lstm_sequence(gates: Tensor, weight: Tensor, projection: Optional[Tensor], hidden: Tensor, cell: Tensor,
batch_sizes: List[int], reverse: bool) -> Tuple[Tensor, Tensor, Tensor]:
  inner = torch.t(weight)
  outs = annotate(List[Tensor], [])
  for place in __torch__.polyad.recurrent.steps(batch_sizes, reverse, ):
    start, count, = place
    product = torch.mm(torch.slice(hidden, 0, 0, count), inner)
    step = torch.slice(gates, 0, start, start + count)
    now, new, = __torch__.polyad.recurrent.lstm_gates(step, product, torch.slice(cell, 0, 0, count), )
    if projection is not None:
      now = torch.mm(now, torch.t(projection))
    outs.append(now)
    hidden = __torch__.polyad.recurrent.renewed(hidden, now, )
    cell = __torch__.polyad.recurrent.renewed(cell, new, )
  return (__torch__.polyad.recurrent.joined(outs, reverse, ), hidden, cell)
""",
        ("steps", "renewed", "joined", "lstm_gates"),
    ),
    "gru_sequence": Function(
        """\
def gru_sequence(gates: Tensor, weight: Tensor, bias: Optional[Tensor], hidden: Tensor, batch_sizes: List[int], reverse:
bool) -> Tuple[Tensor, Tensor]:
  inner = torch.t(weight)
  outs = annotate(List[Tensor], [])
  for place in __torch__.polyad.recurrent.steps(batch_sizes, reverse, ):
    start, count, = place
    state = torch.slice(hidden, 0, 0, count)
    product = torch.mm(state, inner)
    if bias is not None:
      product = torch.add(product, bias)
    now = __torch__.polyad.recurrent.gru_gates(torch.slice(gates, 0, start, start + count), product, state, )
    outs.append(now)
    hidden = __torch__.polyad.recurrent.renewed(hidden, now, )
  return (__torch__.polyad.recurrent.joined(outs, reverse, ), hidden)
""",
        ("steps", "renewed", "joined", "gru_gates"),
    ),
    "rnn_sequence": Function(
        """\
def rnn_sequence(gates: Tensor,
    weight: Tensor,
    hidden: Tensor,
    batch_sizes: List[int],
    reverse: bool,
    relu: bool) -> Tuple[Tensor, Tensor]:
  inner = torch.t(weight)
  outs = annotate(List[Tensor], [])
  for place in __torch__.polyad.recurrent.steps(batch_sizes, reverse, ):
    start, count, = place
    now = torch.add(torch.slice(gates, 0, start, start + count), torch.mm(torch.slice(hidden, 0, 0, count), inner))
    if relu:
      now = torch.relu(now)
    else:
      now = torch.tanh(now)
    outs.append(now)
    hidden = __torch__.polyad.recurrent.renewed(hidden, now, )
  return (__torch__.polyad.recurrent.joined(outs, reverse, ), hidden)
""",
        ("steps", "renewed", "joined"),
    ),
}


def sources_of(names: Iterable[str]) -> str:
    """The text of the module with the functions *names*."""
    wanted = set(names)
    return "".join(function.text for name, function in FUNCTIONS.items() if name in wanted)
