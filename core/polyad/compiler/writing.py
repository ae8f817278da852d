"""The source of a tape: the rows of a stretch, from the graph of its recording.

A kernel that follows from the dtypes alone is called with arrays; all else is called with tensors, as the run would
call it. Values that nothing shows and nothing reads are not computed, and an array is let go of after its last use.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..autograd.accumulation import ACCUMULATE_GRAD, _add_to, _laid_out_as
from ..autograd.gradients import BACKWARD, GRAD
from ..base.state import state
from ..devices import registry
from ..dispatch.abstract import new_array
from ..dispatch.effects import Effect, Result
from ..dispatch.op import OPS, Op
from ..dispatch.plan import find_plan, fused_unless_gradient
from ..dispatch.structure import Pointwise, Reduction
from ..graph.graph import GRAD_OF, Node
from ..graph.structure import Ref, leaves_of, replace
from ..ops.memory.copying import _copy
from ..optim.update import UPDATE, update_rows
from ..random.generator import Generator
from ..tensor import Tensor
from ..tensor.pending import fulfil, real_type
from ..tensor.tensor import SET_GRAD
from .fusion import Group, Values, grouped, kernel_of
from .records import Call, Free, Kind, Made, Recording, made_by, mapped

if TYPE_CHECKING:
    from .matching import Run
    from .records import Passing


class NoTape(Exception):
    """Why a stretch has no tape."""


LEFT_HISTORY = "a tensor with history is left"

LARGE = 1 << 14
"""Elements from which a shared kernel saves more than it costs to compare its calls."""


class Rows:
    """Writes rows over arrays and tensors."""

    def __init__(self, recording: Recording, begin: int) -> None:
        self._recording, self._begin, self._seen = recording, begin, recording.seen
        self._calls = recording.calls
        self.live: dict[int, Made] = {}
        self.passing: Passing | None = None
        self.kept: list[int] = []  # roots of the values that a pass reads
        self.shown: set[int] = set()  # of them those that are tensors which the program may see
        self.bare: set[int] = set()  # and those that are arrays of memory of their own
        self._wanted: set[int] = set()
        self._nodes: list[tuple[Node, int]] = []
        self.inputs: list[int] = []
        self.rows = self.fused = 0
        self.gains = False
        self._lines: list[tuple[str, set[str], set[str]]] = []
        self._scope: dict[str, Any] = {
            "state": state, "Tensor": Tensor, "new": object.__new__, "give": _give, "become": _become, "wrap": _wrap,
            "copied": _copied, "add_to": _add_to, "update_rows": update_rows,
        }  # fmt: skip
        self._arrays: dict[int, str] = {}
        self._tensors: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._bases: dict[int, int] = {}  # of views and aliases, what begins their memory
        self._made_memory: set[int] = set()
        self._shared_memory: set[int] = set()  # written, or shown by views that are left

    # ------------------------------------------------------------------------------------------------ the whole

    def written(self) -> tuple[str, dict[str, Any]]:
        """The source, and what it is run with."""
        nodes = self._needed(self._nodes, self._wanted)
        for node, _ in nodes:
            target = node.op.writes if isinstance(node.op, Effect) else None
            if target is not None:
                for ref in leaves_of(node.args[target], Ref):
                    self._shared_memory.add(self._seen[ref.number].memory)
            else:
                new = {self._seen[number].memory for number in node.makes}
                if any(self._root_number(self._root(number)) in self.live for number in node.makes):
                    self._shared_memory |= new & self._made_memory
                self._made_memory |= new
        self._begin_rows()
        values = Values(self._root, self._seen, self._type)
        for item in grouped(nodes, values, self._wanted, self._varies):
            kernel = kernel_of(item, values) if isinstance(item, Group) else None
            if isinstance(item, Group) and kernel is not None:
                self._write_group(item, kernel)
                continue
            for node, at in item.nodes if isinstance(item, Group) else (item,):
                self._write(node, at)
        if not self.rows:
            raise NoTape("nothing is computed")
        self._end_rows()
        return self._text(), self._scope

    def _begin_rows(self) -> None:
        """Write what comes before the rows."""

    def _end_rows(self) -> None:
        """Write what comes after the rows."""

    def _given(self) -> set[str]:
        """The names that stay, since the caller has what they name."""
        return {self._tensors[root] for root in self._roots_of_inputs()}

    def _head(self) -> list[str]:
        """The first lines."""
        names = "".join(f"t{self._input_name(number)}, " for number in self.inputs)
        return ["def tape(run, given, args, wrote):", *([f"    {names}= given"] if names else [])]

    def _text(self) -> str:
        last: dict[str, int] = {}
        for at, (_, used, made) in enumerate(self._lines):
            for name in used | made:
                last[name] = at
        given = self._given()
        lines = self._head()
        for at, (text, used, made) in enumerate(self._lines):
            lines += ["    " + line for line in text.split("\n")]
            gone = sorted(name for name in used | made if last[name] == at and name not in given)
            if gone and not text.startswith("return"):
                lines.append("    " + " = ".join(gone) + " = None")
        return "\n".join(lines) + "\n"

    def _roots_of_inputs(self) -> list[int]:
        return [root for root in self._tensors if self._recording.numbers.get(root) in self.inputs]

    def _input_name(self, number: int) -> str:
        return next(self._tensors[root][1:] for root in self._tensors if self._recording.numbers.get(root) == number)

    def _read_by(self, passing: Passing) -> list[int]:
        """Roots of the values that a pass reads and has not made, but for the gradients that arrive."""
        nodes = [(node, 0) for node in self._recording.graph_nodes[slice(*passing.nodes)]]
        results = {self._root(value) for value in passing.results if value is not None}
        needed = self._needed(nodes, results)
        made = {self._root(number) for node, _ in needed for number in node.makes}
        used = results | {self._root(number) for node, _ in needed for number in node.uses}
        return sorted(used - made - {*passing.seeds})

    def _needed(self, nodes: list[tuple[Node, int]], wanted: Iterable[int]) -> list[tuple[Node, int]]:
        """*nodes* without those whose results nobody needs, if they cannot raise."""
        needed, found = {*wanted}, []
        for node, at in reversed(nodes):
            if node.op in (SET_GRAD, GRAD_OF):
                continue
            made = {self._root(number) for number in node.makes}
            if needed.isdisjoint(made) and _may_be_dropped(node):
                continue
            needed |= {self._root(number) for number in node.uses} | made
            found.append((node, at))
        return found[::-1]

    # ------------------------------------------------------------------------------------------------ values

    def _root(self, value: int) -> int:
        while (earlier := self._seen[value].earlier) is not None:
            value = earlier
        return value

    def _root_number(self, root: int) -> int | None:
        return self._recording.numbers.get(root)

    def _tensor(self, value: int) -> str:
        """The name of a value as a tensor."""
        root = self._root(value)
        name = self._tensors.get(root)
        if name is not None:
            return name
        if root in self._arrays:
            name = self._tensors[root] = f"t{root}"
            type_ = self._hold(self._type(root))
            self._line(f"{name} = wrap({self._arrays[root]}, {type_})", {self._arrays[root]}, {name})
            return name
        number = self._root_number(root)
        if number is None:
            raise NoTape("a tensor is used that the program did not show")
        name = self._tensors[root] = f"t{root}"
        if number not in self.inputs:
            self.inputs.append(number)
        return name

    def _array(self, value: int) -> str:
        """The name of a value as an array."""
        root = self._root(value)
        name = self._arrays.get(root)
        if name is None:
            tensor = self._tensor(value)
            name = self._arrays[root] = f"a{root}"
            self._line(f"{name} = {tensor}._array", {tensor}, {name})
        return name

    def _type(self, value: int) -> Any:
        seen = self._seen[value]
        device = self._recording.memories[seen.memory].device
        return registry.tensor_type(seen.dtype, device, not seen.layout.shape)

    def _hold(self, value: Any) -> str:
        """The name by which the source has *value*."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self._names)}"
            self._scope[name] = value
        return name

    def _line(self, text: str, used: set[str], made: set[str]) -> None:
        self._lines.append((text, used, made))

    def _made_array(self, value: int) -> None:
        """Note that a row has made the array of *value*; who shows it gets it."""
        root = self._root(value)
        self._arrays[root] = name = f"a{root}"
        number = self._root_number(root)
        if number in self.live:
            tensor = self._tensors[root] = f"t{root}"
            self._line(f"{tensor} = give(run, {number}, {name})", {name}, {tensor})

    def _made_tensor(self, value: int) -> None:
        """Note that a row has made the tensor of *value*."""
        root = self._root(value)
        self._arrays.pop(root, None)
        self._tensors[root] = name = f"t{root}"
        number = self._root_number(root)
        if number in self.live:
            self._line(f"{name} = become(run, {number}, {name})", {name}, {name})

    # ------------------------------------------------------------------------------------------------ rows

    def _write(self, node: Node, at: int) -> None:
        op = node.op
        if isinstance(op, Effect):
            self._write_effect(op, node, at)
        elif op.kind == "view":
            self._write_view(node, at)
        else:
            self._write_op(op, node, at)

    def _records(self, at: int) -> bool:
        """Whether a call was made where gradients are recorded."""
        return self._calls[at].flags[0]

    def _under_autocast(self, at: int) -> bool:
        """Whether a call was made under autocast, which has cast its operands by then."""
        return self._calls[at].autocast

    def _own(self, node: Node, at: int) -> str:
        """Where the arguments are that the run itself has for a call: numbers that vary, and generators."""
        call = self._calls[at]
        single = len(self._recording.nodes_of(at)) == 1 and node.op is call.op
        given = len(leaves_of(node.args, Generator)) > 0
        if not single and given:
            raise NoTape("random numbers are drawn inside of a call")
        return f"args[{at}]" if single and (given or call_has_numbers(call)) else ""

    def _write_op(self, op: Op, node: Node, at: int) -> None:
        own = self._own(node, at)
        kernel = self._kernel_of(op, node)
        if kernel is None:
            if self._under_autocast(at) and op.kind == "composite" and leaves_of(node.args, Ref):
                raise NoTape(f"{op.name} is made under autocast, which may cast inside of it")
            self._write_call(op, node, at, own)
            return
        used: set[str] = set()
        count = len(op.operands)
        parts = []
        for place, arg in enumerate(node.args):
            parts.append(self._expression(arg, used, self._array, own and f"{own}[{place}]", place >= count))
        self.rows += 1
        call = f"{self._hold(kernel)}({', '.join(parts)})"
        if not op.outputs:
            name = f"a{self._root(node.outputs.number)}"
            self._line(f"{name} = {call}", used, {name})
        else:
            names = [f"a{self._root(ref.number)}" for ref in node.outputs]
            self._line(f"{', '.join(names)}, = {call}", used, set(names))
        for number in node.makes:
            self._made_array(number)

    def _varies(self, node: Node, at: int) -> bool:
        """Whether the run itself has some arguments of a node: numbers that vary, and generators."""
        return call_has_numbers(self._calls[at]) or bool(leaves_of(node.args, Generator))

    def _write_group(self, group: Group, kernel: Callable[..., Any]) -> None:
        names = [self._array(root) for root in group.inputs]
        made = [f"a{root}" for root in group.outputs]
        self.rows += 1
        self.fused += len(group.nodes)
        self.gains = self.gains or math.prod(group.shape) >= LARGE
        text = f"{self._hold(kernel)}({', '.join(names)})"
        self._line(f"{', '.join(made)}{',' if len(made) > 1 else ''} = {text}", set(names), set(made))
        for root in group.outputs:
            self._made_array(root)

    def _expression(self, arg: Any, used: set[str], of: Callable[[int], str], own: str, plain: bool) -> str:
        """The text of an argument."""
        if isinstance(arg, Ref):
            name = of(arg.number)
            used.add(name)
            return name
        if isinstance(arg, (list, tuple)) and leaves_of(arg, Ref):
            inner = [
                self._expression(item, used, of, own and f"{own}[{place}]", plain) for place, item in enumerate(arg)
            ]
            made = f"{', '.join(inner)}{',' if len(inner) == 1 else ''}"
            return f"[{made}]" if isinstance(arg, list) else f"({made})"
        if isinstance(arg, dict) and leaves_of(arg, Ref):
            parts = [f"{key!r}: {self._expression(item, used, of, own and f'{own}[{key!r}]', plain)}"
                     for key, item in arg.items()]  # fmt: skip
            return f"{{{', '.join(parts)}}}"
        if own:
            return own
        if arg is None or arg.__class__ in (bool, int):
            return repr(arg)
        self._scope.setdefault("held", []).append(arg)  # so that no id is used again
        return self._hold(arg)

    def _kernel_of(self, op: Op, node: Node) -> Callable[..., Any] | None:
        """The kernel that may be called with arrays; None where dispatch has more to do."""

        def sample(ref: Ref) -> Tensor:
            layout, type_ = self._seen[ref.number].layout, self._type(ref.number)
            return Tensor._of(new_array(layout.shape, type_.dtype, layout.strides), type_)

        try:
            plan = find_plan(op, tuple(replace(node.args, Ref, sample)))
        except Exception:
            return None
        indirect = plan.indirect
        direct = indirect is None or (isinstance(indirect, partial) and indirect.func is fused_unless_gradient)
        return plan.kernel if direct else None

    def _write_view(self, node: Node, at: int) -> None:
        source, out = node.args[0].number, node.outputs.number
        seen, root = self._seen[out], self._root(out)
        live = self._root_number(root) in self.live
        inside = self._seen[source].memory in self._made_memory - self._shared_memory
        if live or not inside or self._root(source) not in self._arrays or seen.memory != self._seen[source].memory:
            self._write_call(node.op, node, at, self._own(node, at), grad=self._records(at))
            return
        backend = self._type(out).backend
        shape, strides, offset = seen.layout
        # What begins the memory: a view's array does not show all of it.
        owner = self._bases[root] = self._bases.get(self._root(source), source)
        array, name = self._array(owner), f"a{root}"
        place = self._hold((seen.dtype, shape, strides, 0 if 0 in shape else offset))
        strided, base = self._hold(backend.as_strided), self._hold(backend.root)
        self._line(f"{name} = {strided}({base}({array}), *{place})", {array}, {name})
        self._made_array(out)

    def _write_call(self, op: Any, node: Node, at: int, own: str, grad: bool = False) -> None:
        """A row that calls *op* with tensors."""
        used: set[str] = set()
        parts = []
        for place, arg in enumerate(node.args):
            parts.append(self._expression(arg, used, self._tensor, own and f"{own}[{place}]", True))
        self.rows += 1
        call = f"{self._hold(op.call)}({', '.join(parts)})"
        outputs = node.outputs
        made: set[str] = set()
        if isinstance(outputs, Ref):
            name = f"t{self._root(outputs.number)}"
            made = {name}
            text = f"{name} = {call}"
        elif isinstance(outputs, (list, tuple)):
            flat = _flat(outputs)
            made = {f"t{self._root(ref.number)}" for ref in flat}
            text = f"{self._targets(outputs)} = {call}"
        else:
            text = call
        if grad:
            text = f"state.grad_enabled = True\n{text}\nstate.grad_enabled = False"
        self._line(text, used, made)
        for ref in _flat(outputs):
            if not self._is_known(ref.number):
                self._made_tensor(ref.number)

    def _is_known(self, value: int) -> bool:
        root = self._root(value)
        return root in self._tensors or root in self._arrays

    def _targets(self, outputs: Any) -> str:
        if isinstance(outputs, Ref):
            return f"t{self._root(outputs.number)}"
        return f"({', '.join(map(self._targets, outputs))},)"

    def _write_effect(self, op: Effect, node: Node, at: int) -> None:
        if op is ACCUMULATE_GRAD:
            self._write_gradient(node)
            return
        if op.result in (Result.ALIAS, Result.DETACHED) and isinstance(node.outputs, Ref):
            source, out = node.args[op.of], node.outputs.number
            root = self._root(out)
            if not isinstance(source, Ref):
                raise NoTape(f"{op.name} of several tensors")
            alike = self._seen[source.number].layout == self._seen[out].layout
            free = self._root_number(root) not in self.live and self._seen[out].memory not in self._shared_memory
            if alike and free:
                self._bases[root] = self._bases.get(self._root(source.number), source.number)
                array, name = self._array(source.number), f"a{root}"
                self._line(f"{name} = {array}", {array}, {name})
                self._made_array(out)
                return
            self._write_call(op, node, at, self._own(node, at), grad=self._records(at))
            return
        if op.result not in (Result.TARGET, Result.NOTHING, Result.CHECK, Result.COPY) or op.record is not None:
            raise NoTape(f"{op.name} is called")
        if op.writes is not None:
            memories = {self._seen[ref.number].memory for ref in leaves_of(node.args[op.writes], Ref)}
            if not memories <= self._made_memory:
                self._line("wrote.append(True)", set(), set())
        if op is UPDATE and not self._own(node, at):
            self._write_update(node)
        else:
            self._write_call(op, node, at, self._own(node, at))

    def _write_update(self, node: Node) -> None:
        """The step of an optimizer, for rows of operands in their own order."""
        written, read, name, params, targets = node.args
        others = [place for place in range(len(targets) + len(read[0])) if place not in targets]
        order = [*targets, *others]
        rows, used = [], set[str]()
        for one, other in zip(written, read, strict=True):
            places = dict(zip(order, (*one, *other), strict=True))
            rows.append([self._tensor(places[place].number) for place in sorted(places)])
            used |= {*rows[-1]}
        self.rows += 1
        text = ", ".join(f"({', '.join(row)},)" for row in rows)
        held = ", ".join(self._hold(one) for one in (OPS[name], params, targets))
        op, params, targets = held.split(", ")
        self._line(f"update_rows({op}, [{text}], {params}, {targets}, '')", used, set())

    def _write_gradient(self, node: Node) -> None:
        """What adds to ``.grad``: the pass says whether there was a gradient."""
        leaf, gradient = node.args[0].number, node.args[1].number
        out = node.outputs.number
        if self._seen[out].earlier is not None or self._is_known(out) or self._before(out):
            present, more = self._tensor(out), self._tensor(gradient)
            if self._seen[out].memory not in self._made_memory:
                self._line("wrote.append(True)", set(), set())
            self.rows += 1
            self._line(f"add_to({present}, {more})", {present, more}, set())
            return
        root = self._root(out)
        if self._seen[out].memory == self._seen[gradient].memory:
            self._bases[root] = self._bases.get(self._root(gradient), gradient)
            array, name = self._array(gradient), f"a{root}"
            self._line(f"{name} = {array}", {array}, {name})
            self._made_array(out)
            return
        tensor, more, name = self._tensor(leaf), self._tensor(gradient), f"t{root}"
        self.rows += 1
        self._line(f"{name} = copied({tensor}, {more})", {tensor, more}, {name})
        self._made_tensor(out)

    def _before(self, value: int) -> bool:
        """Whether the program had shown the tensor of *value* before the stretch."""
        number = self._root_number(self._root(value))
        if number is None:
            return False
        return not any(number == made.number for call in self._calls[self._begin :] for made in made_by(call))


class Writer(Rows):
    """Writes a tape."""

    def __init__(self, recording: Recording, begin: int, end: int, alive: Sequence[int]) -> None:
        super().__init__(recording, begin)
        calls = [call for call in recording.calls[begin:end] if call.kind is Kind.PROMISED]
        self.inference = calls[0].flags[1]
        for call in calls:
            for made in made_by(call):
                if made.number in alive:
                    self.live[made.number] = made
        self._check(calls, begin, end)
        for at in range(begin, end):
            call = recording.calls[at]
            if call.kind is Kind.PROMISED:
                self._nodes += [(node, at) for node in recording.nodes_of(at)]
        self._wanted = {self._root(value) for value, number in recording.numbers.items() if number in self.live}
        if self.passing is not None:
            self.kept = self._read_by(self.passing)
            self._wanted |= {*self.kept}

    def _check(self, calls: list[Call], begin: int, end: int) -> None:
        if any(call.flags[1] is not self.inference for call in calls):
            raise NoTape("inference_mode begins or ends")
        passing = self._recording.passing if begin == 0 and end == len(self._recording.calls) else None
        for number, made in self.live.items():
            if made.name is None:
                continue
            if passing is not None and number in passing.roots and made.view is None:
                self.passing = passing
                continue
            made_at, spent_at = self._recording.spent.get(number, (-1, end))
            if not begin <= made_at <= spent_at < end:
                line = next(call.line for call in calls if any(one.number == number for one in made_by(call)))
                raise NoTape(f"{LEFT_HISTORY}, made at {line}, and no pass through it was recorded")
        for call in calls:
            if call.op in (BACKWARD, GRAD) and call.since < begin:
                raise NoTape("a backward pass goes back to before the stretch")

    def _end_rows(self) -> None:
        """A pass reads what is returned."""
        if self.passing is None:
            return
        names = []
        for root in self.kept:
            if self._root_number(root) in self.live or not self._is_known(root) or root in self._roots_of_inputs():
                self.shown.add(root)
                names.append(self._tensor(root))
                continue
            names.append(self._array(root))
            if root not in self._bases and self._seen[root].memory not in self._shared_memory:
                self.bare.add(root)
        memories = {self._seen[root].memory for root in self.kept}
        left = [root for root in self._tensors if self._root_number(root) in self.live]
        checked = [self._tensors[root] for root in self._roots_of_inputs() if self._seen[root].memory in memories]
        for root in left:  # without the history that is to hold them
            if self._seen[root].memory in memories:
                self._line(f"{self._tensors[root]} = {self._tensors[root]}._alias()", {self._tensors[root]}, set())
                checked.append(self._tensors[root])
        self._line(f"return [{', '.join(checked)}], [{', '.join(names)}]", {*names, *checked}, set())


class PassWriter(Rows):
    """Writes a pass, after the tape of *before*, whose values it reads."""

    def __init__(self, before: Writer) -> None:
        assert before.passing is not None
        super().__init__(before._recording, before._begin)
        self._pass, self._before_pass, self.kept = before.passing, before, before.kept
        self._nodes = [(node, 0) for node in self._recording.graph_nodes[slice(*self._pass.nodes)]]
        self._wanted = {self._root(value) for value in self._pass.results if value is not None}

    def _begin_rows(self) -> None:
        before, names = self._before_pass, []
        for root in self.kept:
            if root in before.shown:
                names.append(self._tensors.setdefault(root, f"t{root}"))
            else:
                names.append(self._arrays.setdefault(root, f"a{root}"))
                if root in before.bare:
                    self._made_memory.add(self._seen[root].memory)
        if names:
            self._line(f"{', '.join(names)}, = kept\nkept.clear()", set(), {*names})
        self._tensors.update({root: f"t{root}" for root in self._pass.seeds})

    def _end_rows(self) -> None:
        results = [None if value is None else self._root(value) for value in self._pass.results]
        memories = Counter([self._seen[root].memory for root in {*results} if root is not None])
        kept = {self._seen[root].memory for root in self.kept}
        names = []
        for root in results:
            if root is None:
                names.append("None")
                continue
            memory = self._seen[root].memory
            alone = memory in self._made_memory - kept and memories[memory] == 1 and root not in self._bases
            bare = root not in self._tensors
            names.append(self._tensor(root))
            if bare and not alone:  # an engine would take its memory for its own
                self._line(f"{names[-1]}._make_storage()", {names[-1]}, set())
        self._line(f"return [{', '.join(names)}]", {*names} - {"None"}, set())

    def _given(self) -> set[str]:
        return {self._tensors[root] for root in self._pass.seeds}

    def _head(self) -> list[str]:
        names = "".join(f"t{root}, " for root in self._pass.seeds)
        if self.inputs:
            raise NoTape("a pass uses a tensor that the program did not show")
        return ["def tape(kept, seeds):", f"    {names}= seeds"]

    def _records(self, at: int) -> bool:
        return False

    def _under_autocast(self, at: int) -> bool:
        return False

    def _own(self, node: Node, at: int) -> str:
        if leaves_of(node.args, Generator):
            raise NoTape("a pass draws random numbers")
        return ""

    def _varies(self, node: Node, at: int) -> bool:
        return False


def call_has_numbers(call: Call) -> bool:
    """Whether some numbers of a call may differ from run to run."""
    found: list[Any] = []
    mapped(call.args, found.append)
    return any(isinstance(leaf, Free) for leaf in found)


def _flat(outputs: Any) -> list[Ref]:
    return leaves_of(outputs, Ref) if outputs is not None else []


def _may_be_dropped(node: Node) -> bool:
    """Whether a node without whose results all can do has no other consequence, an error among them."""
    op = node.op
    if isinstance(op, Effect):
        return op.writes is None and op.record is None and op.result in (Result.ALIAS, Result.DETACHED)
    if op.kind == "view":
        return True
    return (
        op.kind == "primitive"
        and isinstance(op.structure, (Pointwise, Reduction))
        and not leaves_of(node.args, Generator)
    )


def _wrap(array: Any, type_: Any) -> Tensor:
    return Tensor._of(array, type_.nd if array.ndim else type_.zd)


def _give(run: Run, number: int, array: Any) -> Tensor:
    """The pending tensor of that number, which shows *array* from now on."""
    return _become(run, number, Tensor._of(array, run._known[number].tensor()._type))


def _become(run: Run, number: int, result: Tensor) -> Tensor:
    pending = run._known[number]
    if result._array.shape != pending.shape or result._array.strides != pending.strides:
        raise NoTape("a result lies in memory in another way than recorded")
    tensor: Any = pending.tensor()
    pending.array = result._array
    if tensor is None:
        return result
    result._type = real_type(result._type)
    fulfil(tensor, result)
    found: Tensor = tensor
    found._node = None
    return found


def _copied(leaf: Tensor, gradient: Tensor) -> Tensor:
    """A gradient that becomes that of *leaf*, copied: in the leaf's order in memory, or its own."""
    if gradient._array.strides != leaf._array.strides:
        return _laid_out_as(leaf, gradient)
    return _copy(gradient)
