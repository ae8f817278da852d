"""How `polyad.autograd.gradcheck` compares: derivatives by backward, or by forward mode, with differences.

Everything is compared as a map of real numbers: a complex element is its two parts. In these terms a gradient is the
transposed Jacobian times a cotangent, whatever the function's dtypes, so one comparison serves real and complex
functions, holomorphic or not.

Inputs are changed in place, an element at a time, and put back: a function that reaches its inputs by another way, such
as the parameters of a module it holds, sees the change.

To add a check, write a method of `Check` that raises GradcheckError, and call it in ``run``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..base import provided
from ..base.dtypes import FLOATING, float64
from ..base.memory_formats import strided
from ..base.shapes_and_strides import has_internal_overlap
from ..base.state import warn_user
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, ShapeError, TransformError
from ..history.grad_mode import enable_grad, no_grad
from ..history.node import Node
from ..ops.creation.factories import zeros, zeros_like
from ..ops.pointwise.complex_numbers import view_as_complex, view_as_real
from ..ops.random.sampling import rand
from ..ops.shaping.joining import stack
from ..random import Generator
from ..tensor import Tensor
from ..transforms.batching import map_first
from .entries import one_hot
from .forward_level import ForwardLevel
from .gradients import grad

__all__ = ["Check", "GradcheckError", "Settings", "as_tuple", "by_values", "call", "differentiable", "is_checked"]

SEED = 5489
"""Random directions are the same in each run, so that a check does not fail now and then."""


class GradcheckError(AutogradError):
    """A gradient that is wrong: not the function's, of the wrong dtype, or a different gradient each time."""

    __module__ = "polyad.autograd.gradcheck"


class Settings(NamedTuple):
    """What is checked, and how strictly: the arguments of `polyad.autograd.gradcheck` of these names."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool
    check_batched_grad: bool = False
    check_batched_forward_grad: bool = False


def as_tuple(values: Any) -> tuple[Any, ...]:
    """The arguments of a call, which may be given as one tensor."""
    return (values,) if isinstance(values, Tensor) else tuple(values)


def is_checked(value: Any) -> bool:
    """Whether an argument is differentiated."""
    return isinstance(value, Tensor) and value.requires_grad


def call(op: str, func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    """All outputs of the function, as a list."""
    with enable_grad():
        result = func(*args)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    for number, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            raise ArgumentTypeError(
                f"{op}: output {number} of the function is {type(output).__name__}, not a tensor",
                operands={f"output {number}": output},
                fix="check a function that returns tensors",
            )
    return [output if output.layout is strided else output.to_dense() for output in outputs]


def by_values(func: Callable[..., Any], inputs: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """*func* and its arguments, where a sparse tensor is told by its values: these alone are changed."""
    args = as_tuple(inputs)
    sparse = {
        place: (arg.layout, *provided.sparse_parts(arg))
        for place, arg in enumerate(args)
        if isinstance(arg, Tensor) and arg.layout is not strided
    }
    if not sparse:
        return func, args

    def of_values(*values: Any) -> Any:
        given = list(values)
        for place, (layout, parts, size, coalesced) in sparse.items():
            given[place] = provided.sparse_tensor(layout, (*parts[:-1], values[place]), size, coalesced)
        return func(*given)

    values = list(args)
    for place, (_, parts, _, _) in sparse.items():
        values[place] = parts[-1].detach().clone().requires_grad_(args[place].requires_grad)
    return of_values, tuple(values)


def differentiable(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Those of *outputs* that have gradients."""
    return [output for output in outputs if output.requires_grad]


# ------------------------------------------------------------------------------------------- tensors as real numbers


def _parts(tensor: Tensor) -> Tensor:
    """The elements of *tensor* as a vector of real numbers, both parts of each complex element."""
    flat = tensor.detach().resolve_conj().reshape(-1)
    return view_as_real(flat).reshape(-1) if flat.dtype.is_complex else flat


def _from_parts(parts: Tensor, like: Tensor) -> Tensor:
    if like.dtype.is_complex:
        parts = view_as_complex(parts.reshape(-1, 2))
    return parts.reshape(tuple(like.shape))


def _count(tensor: Tensor) -> int:
    return tensor.numel() * (2 if tensor.dtype.is_complex else 1)


def _unit(like: Tensor, number: int) -> Tensor:
    """A tensor like *like* whose real part number *number* is 1, all others 0."""
    if not like.dtype.is_complex:
        return one_hot(like, number)
    return one_hot(like, number // 2) * (1j if number % 2 else 1)


def _place(like: Tensor, number: int) -> str:
    """The index of real part *number*, as a user would write it: ``[0, 2]``, ``[1].imag``."""
    part = ""
    if like.dtype.is_complex:
        number, imaginary = divmod(number, 2)
        part = ".imag" if imaginary else ".real"
    index: list[int] = []
    for size in reversed(tuple(like.shape)):
        number, position = divmod(number, size)
        index.insert(0, position)
    return (f"[{', '.join(map(str, index))}]" if index else "") + part


class Check:
    """One comparison: the function, its arguments, and those of them that are differentiated.

    Attributes:
        inputs: the arguments to differentiate, with *names* such as ``input 1``.
    """

    def __init__(self, settings: Settings, func: Callable[..., Any], inputs: Any) -> None:
        self.settings, self.func, self.args = settings, func, as_tuple(inputs)
        self.inputs: list[Tensor] = []
        self.numbers: list[int] = []
        for number, value in enumerate(self.args):
            if not is_checked(value):
                continue
            self.inputs.append(value)
            self.numbers.append(number)
            if value.dtype.to_real() is not float64:
                warn_user(
                    f"gradcheck: input {number} is {value.dtype.name}; finite differences need float64 or complex128, "
                    "so the check will likely fail",
                    UserWarning,
                )
            if has_internal_overlap(value._array.shape, value._array.strides):
                raise ShapeError(
                    f"gradcheck: several elements of input {number} are one place in memory, none can be changed alone",
                    operands={f"input {number}": value},
                    fix="pass input.contiguous() or input.clone()",
                )
        if not self.inputs:
            raise ArgumentError(
                "gradcheck: no input requires a gradient", fix="pass tensors with requires_grad=True, as float64"
            )

    def run(self) -> None:
        """Raise GradcheckError unless all agrees."""
        results = self.call()
        outputs = [(number, output) for number, output in enumerate(results) if output.requires_grad]
        if not outputs:
            self.check_constant(results)
            return
        if self.settings.check_backward_ad:
            if self.settings.check_undefined_grad:
                self.check_undefined(results)
            if self.settings.check_grad_dtypes:
                self.check_dtypes([output for _, output in outputs])
                outputs = [(number, self.call()[number]) for number, _ in outputs]
            self.check_repeatable([output for _, output in outputs])
        wanted = [number for number, _ in outputs]
        (self.compare_fast if self.settings.fast_mode else self.compare)(wanted)
        if self.settings.check_batched_grad:
            self.check_batched(wanted)
        if self.settings.check_batched_forward_grad:
            self.check_batched_forward(wanted)

    def call(self) -> list[Tensor]:
        """The function's outputs."""
        return call("gradcheck", self.func, self.args)

    def values(self, wanted: Sequence[int]) -> list[Tensor]:
        """Copies of the values of the outputs with these numbers, as real vectors."""
        results = self.call()
        return [_parts(results[number]).clone() for number in wanted]

    # -------------------------------------------------------------------------------------------- finite differences

    def differences(self, k: int, wanted: Sequence[int]) -> list[Tensor]:
        """The numerical Jacobians of the outputs *wanted* by input *k*, each (output parts, input parts)."""
        entry = self.inputs[k]
        columns = []
        for number in range(_count(entry)):
            columns.append(self.directional(k, _unit(entry, number), wanted))
        outputs = self.values(wanted) if not columns else columns[0]
        return [
            stack([column[j] for column in columns], 1) if columns else zeros((len(vector), 0), dtype=vector.dtype)
            for j, vector in enumerate(outputs)
        ]

    def directional(self, k: int, direction: Tensor, wanted: Sequence[int]) -> list[Tensor]:
        """The numerical derivative of the outputs along *direction* of input *k*, by central differences."""
        entry, eps = self.inputs[k], self.settings.eps
        memory = entry.data  # writes to it are not noticed by backward
        before = memory.clone()
        found = []
        try:
            for sign in (1, -1):
                with no_grad():
                    memory.copy_(before + direction * (sign * eps))
                found.append(self.values(wanted))
        finally:
            with no_grad():
                memory.copy_(before)
        return [(up - down) / (2 * eps) for up, down in zip(*found, strict=True)]

    # ----------------------------------------------------------------------------------------------------- comparing

    def compare(self, wanted: Sequence[int]) -> None:
        """Compare all entries of all Jacobians."""
        numerical = [self.differences(k, wanted) for k in range(len(self.inputs))]
        if self.settings.check_backward_ad:
            self.compare_all(numerical, self.backward_jacobians(wanted), wanted, "analytical")
        if self.settings.check_forward_ad:
            self.compare_all(numerical, self.forward_jacobians(wanted), wanted, "forward mode")

    def compare_all(
        self, numerical: list[list[Tensor]], found: list[list[Tensor]], wanted: Sequence[int], label: str
    ) -> None:
        for j, number in enumerate(wanted):
            for k in range(len(self.inputs)):
                if not self.near(found[k][j], numerical[k][j]):
                    raise self.mismatch(number, k, found[k][j], numerical[k][j], label)

    def near(self, found: Tensor, numerical: Tensor) -> bool:
        """Whether all entries agree within the tolerance; nan agrees with nothing."""
        return bool(self.off(found, numerical).logical_not().all().item())

    def off(self, found: Tensor, numerical: Tensor) -> Tensor:
        allowed = self.settings.atol + self.settings.rtol * numerical.abs()
        return ((found - numerical).abs() <= allowed).logical_not()

    def backward_jacobians(self, wanted: Sequence[int]) -> list[list[Tensor]]:
        """By input and output, the Jacobians that backward gives, a row a backward pass."""
        results = self.call()
        jacobians: list[list[Tensor]] = [[] for _ in self.inputs]
        for number in wanted:
            output = results[number]
            rows = [self.pull([output], [_unit(output, part)]) for part in range(_count(output))]
            for k, entry in enumerate(self.inputs):
                dtype = output.dtype.to_real()
                jacobians[k].append(
                    stack([_parts(row[k]).to(dtype) for row in rows], 0)
                    if rows
                    else zeros((0, _count(entry)), dtype=dtype, device=output.device)
                )
        return jacobians

    def pull(self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor]) -> list[Tensor]:
        """One backward pass: the gradient of each input, zeros where there is none."""
        found = grad(outputs, self.inputs, cotangents, retain_graph=True, allow_unused=True)
        return [
            zeros_like(entry) if gradient is None else gradient
            for gradient, entry in zip(found, self.inputs, strict=True)
        ]

    def forward_jacobians(self, wanted: Sequence[int]) -> list[list[Tensor]]:
        """By input and output, the Jacobians that forward mode gives, a column a call."""
        results = self.call()
        jacobians: list[list[Tensor]] = []
        for k, entry in enumerate(self.inputs):
            columns = []
            for part in range(_count(entry)):
                columns.append(self.push(k, _unit(entry, part)))
            jacobians.append(
                [
                    stack([_parts(column[number]) for column in columns], 1)
                    if columns
                    else zeros((_count(results[number]), 0), dtype=results[number].dtype.to_real())
                    for number in wanted
                ]
            )
        return jacobians

    def push(self, k: int, tangent: Tensor) -> list[Tensor]:
        """The tangents of all outputs where input *k* has *tangent*, zeros where there is none."""
        level = ForwardLevel()
        # The function may reach its inputs by another way, so it is the inputs themselves that have tangents.
        level.set(self.inputs[k], tangent)
        try:
            with level:
                results = self.call()
            found = [level.tangent(output) for output in results]
        finally:
            level.clear()
        return [zeros_like(output) if part is None else part for part, output in zip(found, results, strict=True)]

    def compare_fast(self, wanted: Sequence[int]) -> None:
        """Compare, for each output and input, one number: a random row vector times the Jacobian times a random vector.

        With weights u and v an error allowed in each entry allows ``atol * sum |u| * sum |v|`` in the number.
        """
        results = self.call()
        rows = {number: _direction(results[number], 2) for number in wanted}
        columns = [_direction(entry, 1) for entry in self.inputs]
        for k in range(len(self.inputs)):
            numerical = self.directional(k, columns[k], wanted)
            pushed = self.push(k, columns[k]) if self.settings.check_forward_ad else None
            for j, number in enumerate(wanted):
                output, u = results[number], _parts(rows[number])
                expected = _dot(numerical[j], u)
                scale = float(u.abs().sum().item()) * float(_parts(columns[k]).abs().sum().item())
                allowed = self.settings.atol * scale + self.settings.rtol * abs(expected)
                if self.settings.check_backward_ad:
                    found = _dot(_parts(self.pull([output], [rows[number]])[k]), _parts(columns[k]))
                    if not abs(found - expected) <= allowed:
                        raise self.explained(number, k, found, expected, "analytical")
                if pushed is not None:
                    found = _dot(_parts(pushed[number]), u)
                    if not abs(found - expected) <= allowed:
                        raise self.explained(number, k, found, expected, "forward mode")

    def explained(self, number: int, k: int, found: float, expected: float, label: str) -> GradcheckError:
        """The error for a wrong combination: about the wrong entry, if comparing all of them finds it."""
        numerical = self.differences(k, [number])[0]
        jacobians = self.backward_jacobians if label == "analytical" else self.forward_jacobians
        entries = jacobians([number])[k][0]
        if not self.near(entries, numerical):
            return self.mismatch(number, k, entries, numerical, label)
        return GradcheckError(
            f"gradcheck: Jacobian mismatch for output {number} with respect to input {self.numbers[k]} in fast mode",
            operands=self.shown(number, k),
            notes={"numerical": f"{expected:.9g}", label: f"{found:.9g}"},
            fix="no entry alone is off by more than the tolerance; pass fast_mode=False, or a larger rtol",
        )

    def shown(self, number: int, k: int) -> dict[str, Any]:
        """The operands of a message."""
        return {f"output {number}": self.call()[number], f"input {self.numbers[k]}": self.inputs[k]}

    def mismatch(self, number: int, k: int, found: Tensor, numerical: Tensor, label: str) -> GradcheckError:
        """The error about the worst entry of a Jacobian."""
        output, entry = self.call()[number], self.inputs[k]
        off = self.off(found, numerical)
        distance = (found - numerical).abs()
        distance = distance.masked_fill(off.logical_not(), -1.0).masked_fill(distance.isnan(), float("inf"))
        row, column = divmod(int(distance.argmax().item()), numerical.shape[1])
        notes = {
            "worst": f"output {number}{_place(output, row)} by input {self.numbers[k]}{_place(entry, column)}: "
            f"{label} {float(found[row, column].item()):.9g}, numerical {float(numerical[row, column].item()):.9g}",
            "wrong": f"{int(off.sum().item())} of {off.numel()} entries",
        }
        hint = self.hint(number, found, numerical, entry)
        if hint:
            notes["pattern"] = hint
        return GradcheckError(
            f"gradcheck: Jacobian mismatch for output {number} with respect to input {self.numbers[k]}",
            operands=self.shown(number, k),
            notes=notes,
            fix=f"correct the {'jvp' if label == 'forward mode' else 'backward formula'}; entries may be off by "
            f"{self.settings.atol:g} + {self.settings.rtol:g} times the numerical value",
        )

    def hint(self, number: int, found: Tensor, numerical: Tensor, entry: Tensor) -> str:
        """What the wrong Jacobian has to do with the right one, if it is something simple."""
        first, second = self.values([number])[0], self.values([number])[0]
        if not bool(((first == second) | first.isnan()).all().item()):
            return "the function itself gives another result each time, so finite differences mean nothing"
        if bool((found == 0).all().item()):
            return "the gradient is zero everywhere: detach(), .data or no_grad() on the way?"
        size = float((numerical * numerical).sum().item())
        ratio = float((found * numerical).sum().item()) / size if size else 0.0
        if ratio and self.near(found / ratio, numerical):
            return f"the gradient is {ratio:.6g} times what it should be"
        if entry.dtype.is_complex:
            signs = numerical.new_tensor([-1.0 if place % 2 else 1.0 for place in range(max(numerical.shape))])
            turned = found * signs[: found.shape[1]]
            if self.near(turned, numerical):
                return "the gradient is the conjugate of what it should be"
            if found.shape[0] == 2 * self.call()[number].numel():
                turned = turned * signs[: found.shape[0]].reshape(-1, 1)
                if self.near(turned, numerical):
                    return "a factor of the gradient is the conjugate of what it should be: conj() missing or too many"
        return ""

    # ------------------------------------------------------------------------------------------------- other checks

    def check_constant(self, results: Sequence[Tensor]) -> None:
        """Outputs that require no gradient must not change with the inputs."""
        wanted = [number for number, output in enumerate(results) if output.dtype.category >= FLOATING]
        for k in range(len(self.inputs)):
            for number, numerical in zip(wanted, self.differences(k, wanted) if wanted else (), strict=True):
                if not self.near(zeros_like(numerical), numerical):
                    raise GradcheckError(
                        f"gradcheck: output {number} requires no gradient, yet changes with input {self.numbers[k]}: "
                        "Numerical gradient for function expected to be zero",
                        operands=self.shown(number, k),
                        fix="look for detach(), .data or no_grad() on the way",
                    )

    def check_repeatable(self, outputs: Sequence[Tensor]) -> None:
        """Two backward passes over the same graph must give the same result."""
        for number, output in enumerate(outputs):
            cotangent = _direction(output, 2)
            first, second = (self.pull([output], [cotangent]) for _ in range(2))
            for k, (gradient, repeated) in enumerate(zip(first, second, strict=True)):
                if not gradient.numel():
                    continue
                same = (gradient == repeated) | (gradient.isnan() & repeated.isnan())
                apart = (gradient - repeated).abs().masked_fill(same, 0)
                worst = float(apart.max().item())
                if not worst <= self.settings.nondet_tol:
                    raise GradcheckError(
                        "gradcheck: Backward is not reentrant: run twice on the same values, it gives two gradients of "
                        f"input {self.numbers[k]}",
                        operands={f"output {number}": output, f"input {self.numbers[k]}": self.inputs[k]},
                        notes={"apart": f"{worst:.3g}, allowed nondet_tol {self.settings.nondet_tol:g}"},
                        fix="look for random numbers or changed state in backward; pass nondet_tol= for atomic sums",
                    )

    def check_undefined(self, results: Sequence[Tensor]) -> None:
        """With gradients of zero for some outputs, and none for the others, all gradients are zero."""
        numbers = [number for number, output in enumerate(results) if output.requires_grad]
        if len(numbers) < 2:
            return  # backward is not called for an output that no gradient arrives at
        patterns = [[number] for number in numbers] + [
            [other for other in numbers if other != number] for number in numbers
        ]
        for given in patterns:
            without = ", ".join(str(number) for number in numbers if number not in given)
            outputs = [results[number] for number in given]
            message = f"gradcheck: backward does not do without a gradient of output {without}"
            fix = "handle None among the arguments of backward, or leave set_materialize_grads(True)"
            try:
                found = self.pull(outputs, [zeros_like(output) for output in outputs])
            except Exception as error:
                raise GradcheckError(
                    f"{message}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", fix=fix
                ) from error
            for k, gradient in enumerate(found):
                if not bool((gradient == 0).all().item()):
                    raise GradcheckError(
                        f"{message}: from gradients of zero for the others comes gradient that is not zero",
                        operands={f"gradient of input {self.numbers[k]}": gradient},
                        fix=fix,
                    )

    def check_batched(self, wanted: Sequence[int]) -> None:
        """A batch of incoming gradients, mapped by vmap, must give what one after the other gives."""
        results = self.call()
        for number in wanted:
            output = results[number]
            cotangents = [_direction(output, stream) for stream in (2, 3)]

            def pulled(cotangent: Tensor | None, output: Tensor = output) -> list[Tensor]:
                assert cotangent is not None
                return self.pull([output], [cotangent])

            found = self.mapped(pulled, cotangents, f"gradients of output {number}", "backward")
            self.compare_batches(found, [pulled(cotangent) for cotangent in cotangents], "gradients", number)

    def check_batched_forward(self, wanted: Sequence[int]) -> None:
        """A batch of tangents, mapped by vmap, must give what one after the other gives."""
        for k, entry in enumerate(self.inputs):
            tangents = [_direction(entry, stream) for stream in (1, 3)]

            def pushed(tangent: Tensor | None, k: int = k) -> list[Tensor]:
                assert tangent is not None
                found = self.push(k, tangent)
                return [found[number] for number in wanted]

            found = self.mapped(pushed, tangents, f"tangents of input {self.numbers[k]}", "jvp")
            self.compare_batches(found, [pushed(tangent) for tangent in tangents], "tangents", self.numbers[k])

    def mapped(
        self, function: Callable[[Tensor | None], list[Tensor]], given: list[Tensor], what: str, where: str
    ) -> list[Tensor]:
        try:
            found = map_first("gradcheck", function, [stack(given)], len(given))
        except TransformError as error:
            raise GradcheckError(
                f"gradcheck: {what} cannot be computed for a batch: {error.message}",
                notes=error.lines,
                fix=f"write {where} in ops on whole tensors, without reading data; or pass False for batched checks",
            ) from error
        return [batch for batch in found if batch is not None]

    def compare_batches(self, found: list[Tensor], alone: list[list[Tensor]], what: str, number: int) -> None:
        for position, batch in enumerate(found):
            single = stack([sample[position] for sample in alone])
            if not self.near(batch, single):
                raise GradcheckError(
                    f"gradcheck: a batch of {what} gives something else under vmap than one after the other",
                    operands={"batched": batch, "one after the other": single},
                    notes={"number": f"{what} {number}, result {position}"},
                    fix="look for a vmap of a Function's own, or for a batching rule, that is wrong",
                )

    def check_dtypes(self, outputs: Sequence[Tensor]) -> None:
        """What formulas give the inputs must have the inputs' precision; the engine would cast it and hide it."""
        wrong: list[tuple[str, int, Tensor]] = []
        targets = {entry._node: k for k, entry in enumerate(self.inputs) if entry._node is not None}
        _watch(outputs, targets, wrong)
        for output in outputs:
            self.pull([output], [_direction(output, 2)])
        for name, k, part in wrong:
            raise GradcheckError(
                f"gradcheck: {name} gives input {self.numbers[k]} a gradient of another precision",
                operands={"gradient": part, f"input {self.numbers[k]}": self.inputs[k]},
                fix=f"compute it as {self.inputs[k].dtype}",
            )


def _watch(outputs: Sequence[Tensor], targets: dict[Node, int], wrong: list[tuple[str, int, Tensor]]) -> None:
    """Make the graph's formulas note gradients for *targets* that are of another precision than these are."""

    def noting(node: Node, target: Any, formula: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*values: Any) -> Any:
            result = formula(*values)
            pairs = zip(target, result, strict=False) if isinstance(target, list) else ((target, result),)
            for receiver, part in pairs:
                if (
                    receiver in targets
                    and part is not None
                    and part.dtype.to_real() is not receiver.type.dtype.to_real()
                ):
                    wrong.append((_name_of(node), targets[receiver], part))
            return result

        return noted

    stack_ = [output._node for output in outputs if output._node is not None]
    seen: set[Node] = set()
    while stack_:
        node = stack_.pop()
        if node in seen or node in targets:
            continue
        seen.add(node)
        stack_ += node.targets()
        if node.calls:
            node.calls[:] = [(target, noting(node, target, formula), saved) for target, formula, saved in node.calls]


def _name_of(node: Node) -> str:
    name: Any = node.name
    return str(name() if callable(name) else name)


def _direction(like: Tensor, stream: int) -> Tensor:
    """A random tensor like *like*, of length 1, with no part near zero; a different tensor for each *stream*.

    Rows and columns must differ: a direction times an antisymmetric error times the same direction is zero.
    """
    generator = Generator(like.device).manual_seed(SEED + stream)
    dtype = like.dtype.to_real()
    draw = rand((2, _count(like)), generator=generator, dtype=dtype, device=like.device)
    parts = (draw[0] + 0.5) * ((draw[1] < 0.5).to(dtype) * 2 - 1)
    return _from_parts(parts / (parts * parts).sum().sqrt(), like)


def _dot(left: Tensor, right: Tensor) -> float:
    return float((left * right.to(left.dtype)).sum().item())
