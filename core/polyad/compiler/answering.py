"""Answering a call of a run, as generated source, since every call of a run comes here.

``step(run, args)`` compares *args* with those of a recorded call. It gives `MISSING` if they are others; else it has
noted the tensors that the run meets here first, and gives what the call is answered with.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable
from typing import Any

from ..autograd.gradients import BACKWARD, GRAD
from ..base.state import UNDER_INFERENCE, state
from ..history import node as history
from ..history.node import Leaf, PendingNode
from ..tensor import Tensor
from ..tensor.pending import PendingArray, pending_type
from ..tensor.storage import InferenceView, ViewOf
from ..tensor.tensor import SET_GRAD
from .records import PLAIN, Call, Free, Gradient, Kind, Made, Outside, Slot, Source, equal, history_of, memory_number

MISSING = object()

Step = Callable[[Any, tuple[Any, ...]], Any]


def step_of(call: Call, after: Any) -> Step:
    """The function that answers *call*; what comes next is *after*."""
    writer = _Comparison()
    if call.kind is not Kind.AT_ONCE:
        writer.container("args", call.args)
    writer.conditions(call)
    scope = writer.scope
    scope |= {"call": call, "after": after}
    lines = [
        "def step(run, args):",
        "    known = run._known",
        "    try:",
        *["        " + line for line in writer.lines],
        "    except (AttributeError, TypeError, ValueError):",
        "        return MISSING",
        *["    " + line for line in writer.binding()],
    ]
    if call.op in (BACKWARD, GRAD):
        lines += ["    " + line for line in writer.leaves(call)]
    lines.append("    run._here = after")
    if call.kind is Kind.PROMISED and not (writer.own or call.writes):
        lines += ["    if state.autocast is not None:", "        run._casts[after.depth - 1] = state.autocast"]
        if call.op is SET_GRAD:
            lines += ["    " + line for line in writer.gradient(*writer.names["args"])]
        lines += ["    " + line for line in writer.promise(call.result, call.gradients)]
    else:
        lines.append(f"    return run._answer(call, args, {writer.own})")
    source = "\n".join(lines) + "\n"
    name = f"polyad-step:{call.op.name}:{id(call)}"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    found: Step = scope["step"]
    weakref.finalize(found, linecache.cache.pop, name, None)
    return found


class _Comparison:
    """Writes the lines that compare arguments.

    Attributes:
        own: whether there are numbers or generators of the run's own.
        names: of the items of containers.
        met: the tensors from outside, with the names of the arguments.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            "MISSING": MISSING, "equal": equal, "Leaf": Leaf, "history_of": history_of, "Tensor": Tensor,
            "state": state, "history": history, "new": object.__new__, "PendingArray": PendingArray,
            "PendingNode": PendingNode, "ref": weakref.ref, "refer": vars(PendingNode)["tensor"].__set__,
            "UNDER_INFERENCE": UNDER_INFERENCE,
        }  # fmt: skip
        self.met: list[tuple[Outside, str]] = []
        self.names: dict[str, list[str]] = {}
        self.own = False
        self._count = 0

    def conditions(self, call: Call) -> None:
        """Compare the thread's switches."""
        self._refuse(f"state.grad_enabled is not {call.flags[0]}")
        self._refuse(f"state.no_modes is {'not ' if call.flags[1] else ''}UNDER_INFERENCE")
        if call.rewrites is not None:
            array = f"known[{call.rewrites}]"
            self._refuse(f"{array}.__class__ is not PendingArray or {array}.array is not None")
        if call.recorded:
            self._refuse("state.saved_hooks or history.watchers")

    def binding(self) -> list[str]:
        """The lines that note what the run meets here first."""
        if not self.met:
            return []
        lines = ["numbers, memories = run._numbers, run._memories"]
        for one, name in self.met:
            memory, owner = memory_number(one), "id(storage.origin or storage)"
            other = f"storage is not None and memories.setdefault({owner}, {memory}) != {memory}"
            if memory != -1 - one.number and memory < 0:  # it shows what another tensor from outside shows
                other = f"storage is None or memories.get({owner}) != {memory}"
            lines += [
                f"if id({name}) in numbers: return MISSING",
                f"storage = {name}._storage",
                f"if {other}: return MISSING",
                f"known[{one.number}] = {name}",
                f"numbers[id({name})] = {one.number}",
            ]
        return lines

    def leaves(self, call: Call) -> list[str]:
        """The lines that compare what else a backward pass depends on: its leaves, and who watches it."""
        lines = [
            "if state.inspect or state.backward or state.saved_hooks or history.watchers:",
            "    return MISSING",
        ]
        if call.op is GRAD:
            lines += ["if run._watched(call):", "    return MISSING"]
        for gradient in call.gradients:
            if gradient.before is not None:
                return [*lines, "if not run._fits(call):", "    return MISSING"]
            lines += [
                f"leaf = known[{gradient.leaf}]",
                "if leaf.__class__ is PendingArray:",
                "    leaf = leaf.tensor()",
                "node = leaf._node",
                "if node.__class__ is not Leaf or node.hooks is not None or node.accumulated_hooks or "
                "leaf._grad is not None:",
                "    return MISSING",
            ]
        return lines

    def gradient(self, tensor: str, value: str) -> list[str]:
        """The lines that put another gradient at a tensor, and remember what was there when the stretch began."""
        return [
            f"if id({tensor}) not in run._before:",
            f"    run._before[id({tensor})] = ({tensor}, {tensor}._grad)",
            f"{tensor}._grad = {value}",
        ]

    def promise(self, result: Any, gradients: tuple[Gradient, ...]) -> list[str]:
        """The lines that answer with pending tensors, and put those at leaves that are their gradients."""
        lines: list[str] = []

        def text(leaf: Any) -> str:
            if isinstance(leaf, Slot):
                return f"run._tensor({leaf.number})"
            if isinstance(leaf, Made):
                out = f"out{leaf.number}"
                lines.extend(self._made(leaf, out))
                return out
            if isinstance(leaf, (tuple, list)):
                inner = "".join(f"{text(item)}, " for item in leaf)
                return f"({inner})" if isinstance(leaf, tuple) else f"[{inner}]"
            return repr(leaf)  # None or a flag

        answer = text(result)
        for gradient in gradients:
            if gradient.after is not None:
                lines += self._made(gradient.after, "made")
                lines += [f"leaf = run._tensor({gradient.leaf})", *self.gradient("leaf", "made")]
        return [*lines, f"return {answer}"]

    def _made(self, made: Made, out: str) -> list[str]:
        view = "None"
        if made.view is not None:
            view = self._hold((InferenceView if made.view is InferenceView else ViewOf)(None, made.offset))
        lines = [
            "array = new(PendingArray)",
            f"array.shape = {made.shape!r}",
            f"array.strides = {made.strides!r}",
            "array.work = run",
            f"array.number = {made.number}",
            "array.array = None",
            f"{out} = new(Tensor)",
            f"{out}._array = array",
            f"array.tensor = link = ref({out})",
            f"{out}._type = {self._hold(pending_type(made.kind))}",
            f"{out}._storage = {out}._grad = {out}._node = None",
            f"{out}._view = {view}",
            f"known[{made.number}] = array",
            "run._promised.append(array)",
        ]
        if made.name is not None:
            lines += ["node = new(PendingNode)", "refer(node, link)", f"{out}._node = node"]
        return lines

    def _hold(self, value: Any) -> str:
        self._count += 1
        name = f"k{self._count}"
        self.scope[name] = value
        return name

    def _refuse(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return MISSING")

    def container(self, name: str, known: Any) -> None:
        """Compare a tuple, list or dict."""
        kind = known.__class__
        if kind is dict:
            self._refuse(f"{name}.__class__ is not dict or list({name}) != {list(known)!r}")
            items = [(f"{name}[{key!r}]", item) for key, item in known.items()]
            for text, item in items:
                self._count += 1
                inner = f"a{self._count}"
                self.lines.append(f"{inner} = {text}")
                self.value(inner, item)
            return
        self._refuse(f"{name}.__class__ is not {kind.__name__} or len({name}) != {len(known)}")
        if not known:
            return
        names = []
        for _ in known:
            self._count += 1
            names.append(f"a{self._count}")
        self.lines.append(f"{', '.join(names)}, = {name}")
        self.names[name] = names
        for inner, item in zip(names, known, strict=True):
            self.value(inner, item)

    def value(self, name: str, known: Any) -> None:
        """Compare an argument."""
        kind = known.__class__
        if kind is Slot:
            same = [met for one, met in self.met if one.number == known.number]
            if same:
                self._refuse(f"{name} is not {same[0]}")
            else:
                here = f"known[{known.number}]"
                self._refuse(
                    f"{name}._array is not {here} and {name} is not {here} and not run._is({known.number}, {name})"
                )
        elif kind is Outside:
            self._outside(name, known)
        elif kind is Source:
            self.own = True
            self._refuse(f"{name} is not {self._hold(known.generator)}")
        elif kind is Free:
            self.own = True
            self._refuse(f"{name}.__class__ is not {known.kind.__name__}")
        elif known is None or known is True or known is False:
            self._refuse(f"{name} is not {known}")
        elif kind in (int, str):
            self._refuse(f"{name}.__class__ is not {kind.__name__} or {name} != {known!r}")
        elif kind in (tuple, list, dict) and not _compares_equal(known):
            self.container(name, known)
        else:
            text = self._hold(known)
            self._refuse(f"{name} is not {text} and not equal({text}, {name})")

    def _outside(self, name: str, known: Outside) -> None:
        history = {"none": f"{name}._node is not None", "leaf": f"{name}._node.__class__ is not Leaf"}.get(
            known.history, f"history_of({name}) != 'recorded'"
        )
        view = f"{name}._view is not None"
        if known.view is not None:
            view = f"{name}._view.__class__ is not {self._hold(known.view)}"
        self._refuse(
            f"{name}.__class__ is not {self._hold(known.cls)} or {name}._type is not {self._hold(known.kind)} or "
            f"{name}._array.shape != {known.shape!r} or {name}._array.strides != {known.strides!r} or {history} or "
            f"{view}"
        )
        for _, other in self.met:
            self._refuse(f"{name} is {other}")
        self.met.append((known, name))


def _compares_equal(known: Any) -> bool:
    """Whether nothing in a container is compared in a way of its own."""
    if isinstance(known, (Slot, Outside, Source, Free)):
        return False
    if isinstance(known, dict):
        return False
    if isinstance(known, (tuple, list)):
        return all(map(_compares_equal, known))
    return isinstance(known, PLAIN)
