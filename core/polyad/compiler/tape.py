"""A stretch of a recorded run as one function: kernels called on arrays, without dispatch and without history.

The function is generated source. A kernel that follows from the dtypes alone is called with arrays; all else is called
with tensors, as the run would call it. Values that nothing shows and nothing reads are not computed, and an array is
let go of after its last use.

A stretch has a tape only if that leaves what the calls themselves would leave: the history of all that is still shown
afterwards has been used up by backward passes inside of the stretch, and what passes go back to begins in it.

Invariant: a tape that fails before it has written to memory from outside has changed nothing.
"""

from __future__ import annotations

import linecache
import math
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..autograd.accumulation import ACCUMULATE_GRAD, _add_to, _laid_out_as
from ..autograd.gradients import BACKWARD, GRAD
from ..base.state import NO_MODES, UNDER_INFERENCE, state, warn_once
from ..devices import registry
from ..dispatch.abstract import new_array
from ..dispatch.effects import Effect, Result
from ..dispatch.op import OPS, Op
from ..dispatch.plan import find_plan, fused_unless_gradient
from ..dispatch.structure import Pointwise, Reduction
from ..graph.graph import GRAD_OF, Node
from ..graph.structure import Ref, leaves_of, replace
from ..history.node import spent_node
from ..ops.memory.copying import _copy
from ..optim.update import UPDATE, update_rows
from ..random.generator import Generator
from ..tensor import Tensor
from ..tensor.pending import PendingArray, fulfil, real_type
from ..tensor.tensor import SET_GRAD
from .fusion import Group, Values, grouped, kernel_of
from .recording import Call, Free, Kind, Made, Recording, made_by, mapped

if TYPE_CHECKING:
    from .matching import Run

MOST_TAPES = 16
"""So many tapes are kept for a recording; what is left over runs by its calls."""


class NoTape(Exception):
    """Why a stretch has no tape."""


def give_up(recording: Recording, begin: int, end: int, reason: str) -> None:
    """Have no tape for a stretch any more, since one failed where the calls themselves did not."""
    for key in list(recording.tapes):
        if key[:2] == (begin, end):
            recording.tapes[key] = reason


def tape_for(recording: Recording, begin: int, end: int, alive: tuple[int, ...]) -> tuple[Tape | None, str]:
    """The tape of the calls from *begin* to *end*, after which the tensors *alive* are shown; or why there is none."""
    key = begin, end, alive
    found = recording.tapes.get(key)
    if found is None:
        if len(recording.tapes) >= MOST_TAPES:
            return None, "the stretches of the run differ each time"
        try:
            found = Tape(recording, begin, end, alive)
        except NoTape as reason:
            found = str(reason)
        except Exception as error:  # the calls themselves are always right
            found = f"it could not be written: {type(error).__name__}: {error}"
            warn_once("tape", found, f"compile: a stretch of the program runs op by op: {found}", UserWarning)
        recording.tapes[key] = found
    return (None, found) if isinstance(found, str) else (found, "")


LARGE = 1 << 14
"""Elements from which a shared kernel saves more than it costs to compare its calls."""


class Tape:
    """A stretch of a run.

    Attributes:
        source: the text of the function.
        rows: how many calls it makes.
        fused: how many ops share a kernel with others.
        gains: whether it leaves work out: ops on large tensors share kernels, or a backward pass needs no history.
        inputs: numbers of the tensors that it reads or writes and has not made.
    """

    def __init__(self, recording: Recording, begin: int, end: int, alive: tuple[int, ...]) -> None:
        writer = _Writer(recording, begin, end, alive)
        self.source, scope = writer.written()
        self.rows, self.fused = writer.rows, writer.fused
        self.gains = writer.gains or any(call.op in (BACKWARD, GRAD) for call in recording.calls[begin:end])
        self.inputs, self.inference = writer.inputs, writer.inference
        self._histories = [
            (made.number, made.name, made.shape, made.kind) for made in writer.live.values() if made.name is not None
        ]
        name = f"polyad-tape:{id(self)}"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        weakref.finalize(self, linecache.cache.pop, name, None)
        exec(compile(self.source, name, "exec"), scope)
        self._function: Callable[..., Any] = scope["tape"]

    def run(self, run: Run) -> str:
        """Carry the calls out; says why if that cannot be done, and nothing has been changed then."""
        tensors = [run._tensor(number) for number in self.inputs]
        if any(tensor is None or tensor._array.__class__ is PendingArray for tensor in tensors):
            return "a tensor that it reads is gone"
        wrote: list[bool] = []
        state.grad_enabled, state.autocast = False, None
        state.modes = state.no_modes = UNDER_INFERENCE if self.inference else NO_MODES
        try:
            self._function(run, tensors, run._args, wrote)
        except Exception as error:
            if wrote:
                raise
            return f"a kernel failed: {type(error).__name__}: {error}"  # the calls themselves say what is wrong
        for number, name, shape, type_ in self._histories:
            tensor = run._tensor(number)
            if tensor is not None:
                tensor._node = spent_node(name, shape, type_)
        return ""


class _Writer:
    """Writes a tape."""

    def __init__(self, recording: Recording, begin: int, end: int, alive: Sequence[int]) -> None:
        self._recording, self._begin, self._seen = recording, begin, recording.seen
        self._calls = recording.calls
        self.live: dict[int, Made] = {}
        calls = [call for call in recording.calls[begin:end] if call.kind is Kind.PROMISED]
        self.inference = calls[0].flags[1]
        for call in calls:
            for made in made_by(call):
                if made.number in alive:
                    self.live[made.number] = made
        self._check(calls, begin, end)
        self._nodes: list[tuple[Node, int]] = []
        for at in range(begin, end):
            call = recording.calls[at]
            if call.kind is Kind.PROMISED:
                self._nodes += [(node, at) for node in recording.nodes_of(at)]
        self.inputs: list[int] = []
        self.rows = self.fused = 0
        self.gains = False
        self._lines: list[tuple[str, set[str], set[str]]] = []
        self._scope: dict[str, Any] = {
            "state": state, "Tensor": Tensor, "new": object.__new__, "give": _give, "become": _become, "wrap": _wrap,
            "copied": _copied, "add_to": _add_to,
            "update_rows": update_rows,
        }  # fmt: skip
        self._arrays: dict[int, str] = {}
        self._tensors: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._bases: dict[int, int] = {}  # of views and aliases, what begins their memory
        self._made_memory: set[int] = set()
        self._shared_memory: set[int] = set()  # written, or shown by views that are left

    def _check(self, calls: list[Call], begin: int, end: int) -> None:
        if any(call.autocast for call in calls):
            raise NoTape("the calls are made under autocast")
        if any(call.flags[1] is not self.inference for call in calls):
            raise NoTape("inference_mode begins or ends")
        for number, made in self.live.items():
            if made.name is None:
                continue
            made_at, spent_at = self._recording.spent.get(number, (-1, end))
            if not begin <= made_at <= spent_at < end:
                line = next(call.line for call in calls if any(one.number == number for one in made_by(call)))
                raise NoTape(f"a tensor with history is left, made at {line}: backward is not called before the end")
        for call in calls:
            if call.op in (BACKWARD, GRAD) and call.since < begin:
                raise NoTape("a backward pass goes back to before the stretch")

    # ------------------------------------------------------------------------------------------------ the whole

    def written(self) -> tuple[str, dict[str, Any]]:
        """The source, and what it is run with."""
        nodes = self._needed()
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
        values = Values(self._root, self._seen, self._type)
        left = {self._root(value) for value, number in self._recording.numbers.items() if number in self.live}
        for item in grouped(nodes, values, left, self._varies):
            kernel = kernel_of(item, values) if isinstance(item, Group) else None
            if isinstance(item, Group) and kernel is not None:
                self._write_group(item, kernel)
                continue
            for node, at in item.nodes if isinstance(item, Group) else (item,):
                self._write(node, at)
        if not self.rows:
            raise NoTape("nothing is computed")
        return self._text(), self._scope

    def _text(self) -> str:
        last: dict[str, int] = {}
        for at, (_, used, made) in enumerate(self._lines):
            for name in used | made:
                last[name] = at
        given = {self._tensors[root] for root in self._roots_of_inputs()}
        lines = ["def tape(run, given, args, wrote):"]
        if self.inputs:
            lines.append("    " + "".join(f"t{self._input_name(n)}, " for n in self.inputs) + "= given")
        for at, (text, used, made) in enumerate(self._lines):
            lines += ["    " + line for line in text.split("\n")]
            gone = sorted(name for name in used | made if last[name] == at and name not in given)
            if gone:
                lines.append("    " + " = ".join(gone) + " = None")
        return "\n".join(lines) + "\n"

    def _roots_of_inputs(self) -> list[int]:
        return [root for root in self._tensors if self._recording.numbers.get(root) in self.inputs]

    def _input_name(self, number: int) -> str:
        return next(self._tensors[root][1:] for root in self._tensors if self._recording.numbers.get(root) == number)

    def _needed(self) -> list[tuple[Node, int]]:
        """The nodes without those whose results nobody needs, if they cannot raise."""
        needed = {self._root(value) for value, number in self._recording.numbers.items() if number in self.live}
        found = []
        for node, at in reversed(self._nodes):
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
            self._write_call(node.op, node, at, self._own(node, at), grad=self._calls[at].flags[0])
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
            self._write_call(op, node, at, self._own(node, at), grad=self._calls[at].flags[0])
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
