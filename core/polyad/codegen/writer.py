"""From expressions to statements: every node of the graph becomes a variable, written once however often it is used.

A complex value is two variables, float16 and bfloat16 are float variables, bool is a byte of 0 or 1. All variables have
as many lanes as the kernel.

`Writer.functions` gathers the functions that the statements call, to be written before the kernel.
"""

from __future__ import annotations

import math
import re

from ..base import dtypes
from ..base.dtypes import BOOL, COMPLEX, FLOATING, DType, bfloat16, bool_, float16, float32, int32
from ..errors import DTypeError, NotSupported
from .complex_numbers import LOWERED
from .dialects import Dialect, bfloat_functions
from .expression import Apply, Expression, Iota, Literal, Local, Operand, Part, Scalar
from .formulas import FUNCTIONS, PREDICATES, formula

HALVES = (float16, bfloat16)

STREAM = """\
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#define STREAM(v, p) __builtin_nontemporal_store(v, p)
#endif
#endif
#ifndef STREAM
#define STREAM(v, p) (*(p) = (v))
#endif
"""
"""A store past the caches, where the compiler has such a store: Clang, on which most OpenCL compilers are built."""

_SIGNED = {1: dtypes.int8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}


def computed_in(dtype: DType) -> DType:
    """The dtype of the variables that hold *dtype*: float32 for halves, its parts' for complex."""
    return float32 if dtype in HALVES else dtype.to_real()


def letter_of(dtype: DType) -> str:
    """The letter under which formulas know a real dtype."""
    return "b" if dtype is bool_ else "f" if dtype.category == FLOATING else "i" if dtype.is_signed else "u"


def has_formula(op: str, dtype: DType) -> bool:
    """Whether there is a formula of *op*'s own for operands of *dtype*: then a single op is a kernel.

    >>> import polyad
    >>> has_formula("exp", polyad.complex64), has_formula("fmax", polyad.complex64), has_formula("gelu", polyad.float32)
    (True, False, False)
    """
    return op in LOWERED if dtype.category == COMPLEX else formula(op, letter_of(dtype)) is not None


class Writer:
    """Writes statements in *dialect* for values of *lanes* lanes."""

    def __init__(
        self, dialect: Dialect, lanes: int, functions: dict[str, str] | None = None, prefix: str = "t"
    ) -> None:
        self.dialect = dialect
        self.lanes = lanes
        self.functions: dict[str, str] = {} if functions is None else functions
        self.lines: list[str] = []
        self.known: dict[Expression, tuple[str, ...]] = {}
        self._prefix = prefix
        self._count = 0

    # ------------------------------------------------------------------------------------------------ types

    def type_of(self, dtype: DType) -> str:
        """The type of a variable that holds *dtype* (or a part of it)."""
        own = computed_in(dtype)
        if own not in self.dialect.types:
            raise DTypeError(f"codegen: {self.dialect.name} has no {own.name}", fix="cast to a dtype it has")
        return self.dialect.lanes_of(self.dialect.types[own], self.lanes)

    def constant(self, value: bool | int | float, dtype: DType) -> str:
        """*value* in every lane."""
        type_name, own = self.type_of(dtype), computed_in(dtype)
        if own.category < FLOATING:
            text = str(int(value)) if value != -(2**63) else "(-9223372036854775807 - 1)"
        else:
            value, suffix = float(value), "f" if own is float32 else ""
            if math.isnan(value) or math.isinf(value):
                # Division says NaN and infinity in every dialect without a header.
                text = f"({'-' if value < 0 else ''}{'0' if math.isnan(value) else '1'}.0{suffix} / 0.0{suffix})"
            else:
                text = f"{value!r}{suffix}"
        return f"(({type_name})({text}))"

    # ------------------------------------------------------------------------------------------------ values

    def declare(self, dtype: DType, text: str) -> str:
        """A new variable of *dtype* that holds *text*."""
        name = f"{self._prefix}{self._count}"
        self._count += 1
        self.lines.append(f"const {self.type_of(dtype)} {name} = {text};")
        return name

    def value(self, expression: Expression) -> tuple[str, ...]:
        """The variables of *expression*: one, or two if it is complex."""
        found = self.known.get(expression)
        if found is not None:
            return found
        # Not by recursion: expressions are as deep as the bodies that they stand for are long.
        waiting = [expression]
        while waiting:
            node = waiting[-1]
            parts = node.arguments if isinstance(node, Apply) else (node.whole,) if isinstance(node, Part) else ()
            behind = [part for part in parts if isinstance(part, (Apply, Part)) and part not in self.known]
            if node not in self.known and not behind:
                self.known[node] = self._written(node)
            if behind:
                waiting += reversed(behind)
            else:
                waiting.pop()
        return self.known[expression]

    def _written(self, expression: Expression) -> tuple[str, ...]:
        dtype = expression.dtype
        if isinstance(expression, Part):
            return (self.value(expression.whole)[expression.index],)
        if isinstance(expression, Local):
            return expression.names
        if isinstance(expression, Literal):
            if dtype.category == COMPLEX:
                whole = complex(expression.value)
                return self.constant(whole.real, dtype), self.constant(whole.imag, dtype)
            assert not isinstance(expression.value, complex)
            return (self.constant(expression.value, dtype),)
        if isinstance(expression, Apply):
            if dtype.category == COMPLEX or any(a.dtype.category == COMPLEX for a in expression.arguments):
                return self._complex(expression)
            return (self._real(expression),)
        assert isinstance(expression, (Operand, Iota, Scalar))
        raise AssertionError(f"codegen: {expression} has no variable")  # the kernel's frame declares them

    def _real(self, applied: Apply) -> str:
        arguments = [self.value(argument)[0] for argument in applied.arguments]
        op, dtype = applied.op, applied.dtype
        if op == "cast":
            return self.convert(arguments[0], applied.arguments[0].dtype, dtype)
        own = applied.arguments[-1].dtype
        if op == "where":
            return self.declare(dtype, f"{self.mask(arguments[0], dtype)} ? {arguments[1]} : {arguments[2]}")
        template = formula(op, letter_of(own))
        if template is None:
            raise DTypeError(
                f"codegen: {op} of {own.name}", fix='promote it first: apply("cast", x, dtype=polyad.float32)'
            )
        if self.lanes > 1 and computed_in(own) is float32:
            template = self.dialect.formulas.get(op, template)
        text = self.filled(template, own, *arguments)
        return self.from_mask(text) if op in PREDICATES else self.declare(dtype, text)

    def _complex(self, applied: Apply) -> tuple[str, ...]:
        op, dtype, arguments = applied.op, applied.dtype, applied.arguments
        if op == "cast":
            source = arguments[0]
            parts = self.value(source)
            if dtype.category == COMPLEX:
                real = self.convert(parts[0], source.dtype.to_real(), dtype.to_real())
                if len(parts) == 1:
                    return real, self.constant(0.0, dtype)
                return real, self.convert(parts[1], source.dtype.to_real(), dtype.to_real())
            if dtype.category == BOOL:
                zero = self.constant(0.0, source.dtype)
                return (self.from_mask(f"({parts[0]} != {zero}) | ({parts[1]} != {zero})"),)
            return (self.convert(parts[0], source.dtype.to_real(), dtype),)
        if op == "where":
            condition, a, b = (self.value(argument) for argument in arguments)
            mask = self.mask(condition[0], dtype)
            return tuple(self.declare(dtype, f"{mask} ? {a[part]} : {b[part]}") for part in (0, 1))
        if op not in LOWERED:
            raise NotSupported(f"codegen: {op} of {arguments[0].dtype.name}", fix="use the real and imaginary parts")
        made_of = LOWERED[op](*((Part(argument, 0), Part(argument, 1)) for argument in arguments))
        parts_made = made_of if isinstance(made_of, tuple) else (made_of,)
        return tuple(self.value(part)[0] for part in parts_made)

    # ------------------------------------------------------------------------------------------------ masks and casts

    def mask(self, name: str, dtype: DType) -> str:
        """The bool variable *name* as the condition of a choice between values of *dtype*."""
        if self.lanes == 1:
            return f"({name} != 0)"
        type_name = self.type_of(_SIGNED[computed_in(dtype).itemsize])
        return f"({self._cast(type_name, name)} != ({type_name})(0))"

    def from_mask(self, text: str) -> str:
        """A bool variable from a comparison."""
        if self.lanes == 1:
            return self.declare(bool_, f"({text}) ? 1 : 0")
        type_name = self.type_of(bool_)
        return self.declare(bool_, f"{self._cast(type_name, text)} & ({type_name})(1)")

    def convert(self, name: str, source: DType, into: DType) -> str:
        """The real variable *name* in another dtype: towards zero from floating to integer, bool is whether != 0."""
        if into.category == BOOL:
            return name if source.category == BOOL else self.from_mask(f"{name} != {self.constant(0, source)}")
        if computed_in(source) is computed_in(into):
            return name
        wraps = source.category == FLOATING and into.itemsize < 4 and into.category < FLOATING
        if wraps or (source.category == BOOL and into.category == FLOATING):
            # By way of int32: numbers outside of a small integer's range wrap, and compilers make vector instructions
            # of a bool's conversion.
            name, source = self.declare(int32, self._converted(name, int32)), int32
        return self.declare(into, self._converted(name, into))

    def _converted(self, name: str, into: DType) -> str:
        return self._cast(self.type_of(into), name)

    def _cast(self, type_name: str, value: str) -> str:
        return self.dialect.spelled(self.dialect.convert, self.lanes, type=type_name, value=value)

    # ------------------------------------------------------------------------------------------------ formulas

    def filled(self, template: str, dtype: DType, *arguments: str) -> str:
        """A formula with its marks replaced."""
        own = computed_in(dtype)
        text = template
        for position, argument in enumerate(arguments):
            text = text.replace(f"{{{position}}}", argument)
        if "<" in text:
            text = text.replace("<T>", self.type_of(own)).replace("<B>", str(8 * own.itemsize))
            text = text.replace("<I>", self.type_of(_SIGNED[own.itemsize]))
            text = text.replace("<L>", f"{self.dialect.turns}\n    " if self.dialect.turns else "")
        if "$" in text:
            suffix = self.dialect.suffixes.get(own, "")
            text = re.sub(r"\$(\w+)\(", lambda found: f"{found[1]}{suffix}(", text)
        if "@" not in text:
            return text
        return re.sub(r"@(\w+)\(", lambda found: f"{self._function(found[1], own)}(", text)

    def _function(self, name: str, dtype: DType) -> str:
        spelled, own = f"{name}_{dtype.name}_{self.lanes}", f"{name}_{dtype.name}"
        if own in self.dialect.functions and self.lanes == 1:
            return self.dialect.functions[own]
        if spelled not in self.functions:
            parameters, body = FUNCTIONS[name]
            parameters, body = FUNCTIONS.get(own, (parameters, body))
            parameters, body = self.filled(parameters, dtype), self.filled(body, dtype)
            type_name = self.type_of(dtype)
            self.functions[spelled] = f"{self.dialect.function}{type_name} {spelled}({parameters}) {{\n    {body}\n}}\n"
        return spelled

    # ------------------------------------------------------------------------------------------------ memory

    def load(self, dtype: DType, pointer: str, stride: str, count: str) -> tuple[str, ...]:
        """Variables with *count* elements from *pointer* on, *stride* elements apart; lanes beyond repeat the first.

        A *stride* that is "1" or "0", or a *count* that is the number of lanes, and no variable, makes shorter code.
        """
        memory = dtype.to_real()
        if dtype.category == COMPLEX:
            parts = [f"{pointer} + {part}" for part in (0, 1)]
            if self.lanes == 1:
                return tuple(self.declare(memory, self._scalar_load(memory, part)) for part in parts)
            call = self._load_function(memory)
            return tuple(self.declare(memory, f"{call}({part}, 2 * ({stride}), {count})") for part in parts)
        if self.lanes == 1:
            text = self._scalar_load(memory, pointer)
        elif stride == "0":
            text = f"({self.type_of(dtype)})({self._scalar_load(memory, pointer)})"
        elif stride == "1" and count == str(self.lanes):
            text = self._vector_load(memory, pointer)
        elif stride == "1":
            text = f"{self._dense_load_function(memory)}({pointer}, {count})"
        else:
            text = f"{self._load_function(memory)}({pointer}, {stride}, {count})"
        return (self.declare(dtype, text),)

    def store(
        self, dtype: DType, value: tuple[str, ...], pointer: str, stride: str, count: str, stream: bool = False
    ) -> list[str]:
        """Statements that write *count* lanes; as for `load`, a *stride* of "1" makes shorter code, and it may *stream*
        past the caches to a *pointer* that is aligned to vectors.
        """
        memory = dtype.to_real()
        lines = []
        for part, name in enumerate(value):
            place = f"{pointer} + {part}" if part else pointer
            if self.lanes == 1:
                lines.append(self._scalar_store(memory, name, place))
            elif stride == "1" and len(value) == 1:
                lines.append(f"{self._dense_store_function(memory, stream)}({name}, {place}, {count});")
            else:
                apart = f"2 * ({stride})" if len(value) == 2 else stride
                lines.append(f"{self._store_function(memory)}({name}, {place}, {apart}, {count});")
        return lines

    def _scalar_load(self, dtype: DType, pointer: str) -> str:
        if dtype is bfloat16:
            return f"{self._bfloat('from', 1)}(*({pointer}))"
        return self.dialect.spelled(self.dialect.loads.get(dtype, "*({place})"), 1, place=pointer)

    def _scalar_store(self, dtype: DType, name: str, pointer: str) -> str:
        if dtype is bfloat16:
            return f"*({pointer}) = {self._bfloat('to', 1)}({name});"
        pattern = self.dialect.stores.get(dtype, "*({place}) = {value}")
        return f"{self.dialect.spelled(pattern, 1, place=pointer, value=name)};"

    def _bfloat(self, way: str, lanes: int) -> str:
        spelled = f"{way}_bfloat_{lanes}"
        self.functions.setdefault(spelled, bfloat_functions(self.dialect, lanes)[spelled])
        return spelled

    def _load_function(self, dtype: DType) -> str:
        spelled = f"load_{dtype.name}_{self.lanes}"
        if spelled not in self.functions:
            n, type_name, memory = self.lanes, self.type_of(dtype), self.dialect.types[dtype]
            scalar = Writer(self.dialect, 1, self.functions)
            # Lanes beyond the last element repeat the first, which is there.
            lanes = [scalar._scalar_load(dtype, f"p + s * (m > {k} ? {k} : 0)") for k in range(1, n)]
            gathered = ", ".join([scalar._scalar_load(dtype, "p"), *lanes])
            self.functions[spelled] = (
                f"{self.dialect.function}{type_name} {spelled}(const {self.dialect.address}{memory} *p, "
                f"const {self.dialect.wide} s, const int m) {{\n"
                f"    if (s == 1 && m == {n}) return {self._vector_load(dtype, 'p')};\n"
                f"    if (s == 0) return ({type_name})({scalar._scalar_load(dtype, 'p')});\n"
                f"    return ({type_name})({gathered});\n}}\n"
            )
        return spelled

    def _store_function(self, dtype: DType) -> str:
        spelled = f"store_{dtype.name}_{self.lanes}"
        if spelled not in self.functions:
            n, type_name, memory = self.lanes, self.type_of(dtype), self.dialect.types[dtype]
            scalar = Writer(self.dialect, 1, self.functions)
            spread = [
                f"    if (m > {k}) {{ {scalar._scalar_store(dtype, f'v.s{k:x}', f'p + {k} * s')} }}\n" for k in range(n)
            ]
            self.functions[spelled] = (
                f"{self.dialect.function}void {spelled}(const {type_name} v, {self.dialect.address}{memory} *p, "
                f"const {self.dialect.wide} s, const int m) {{\n"
                f"    if (s == 1 && m == {n}) {{ {self._vector_store(dtype, 'p')}; return; }}\n"
                + "".join(spread)
                + "}\n"
            )
        return spelled

    def _dense_load_function(self, dtype: DType) -> str:
        spelled = f"load_dense_{dtype.name}_{self.lanes}"
        if spelled not in self.functions:
            n, type_name, memory = self.lanes, self.type_of(dtype), self.dialect.types[dtype]
            bits = self.variable(dtype)
            address, private = self.dialect.address, f"(const {memory} *)part"
            self.functions[spelled] = (
                f"{self.dialect.function}{type_name} {spelled}(const {address}{memory} *p, const int m) {{\n"
                f"    if (m == {n}) return {self._vector_load(dtype, 'p')};\n"
                f"    const {address}{bits} *q = (const {address}{bits} *)p;\n"
                f"    {bits} part[{n}];\n"
                f"    for (int k = 0; k < {n}; ++k) part[k] = q[k < m ? k : 0];\n"
                f"    return {self._vector_load(dtype, private, '')};\n}}\n"
            )
        return spelled

    def _dense_store_function(self, dtype: DType, stream: bool) -> str:
        spelled = f"{'stream' if stream else 'store'}_dense_{dtype.name}_{self.lanes}"
        if spelled not in self.functions:
            n, type_name, memory = self.lanes, self.type_of(dtype), self.dialect.types[dtype]
            bits = self.variable(dtype)
            address = self.dialect.address
            if stream and dtype is not float16:
                self.functions.setdefault("STREAM", STREAM)
                whole = f"STREAM({self._as_stored(dtype)}, ({address}{self._stored_vector(dtype)} *)p)"
            else:
                whole = self._vector_store(dtype, "p")
            self.functions[spelled] = (
                f"{self.dialect.function}void {spelled}(const {type_name} v, {address}{memory} *p, const int m) {{\n"
                f"    if (m == {n}) {{ {whole}; return; }}\n"
                f"    {address}{bits} *q = ({address}{bits} *)p;\n"
                f"    {bits} part[{n}];\n"
                f"    {self._vector_store(dtype, f'({memory} *)part', '')};\n"
                f"    for (int k = 0; k < m; ++k) q[k] = part[k];\n}}\n"
            )
        return spelled

    def _vector_load(self, dtype: DType, pointer: str, address: str | None = None) -> str:
        if dtype is float16:
            return self.dialect.spelled(self.dialect.loads[dtype], self.lanes, place=pointer)
        whole = f"((const {self.packed(dtype, address)} *)({pointer}))->v"
        return f"{self._bfloat('from', self.lanes)}({whole})" if dtype is bfloat16 else whole

    def _vector_store(self, dtype: DType, pointer: str, address: str | None = None) -> str:
        if dtype is float16:
            return self.dialect.spelled(self.dialect.stores[dtype], self.lanes, place=pointer, value="v")
        return f"(({self.packed(dtype, address)} *)({pointer}))->v = {self._as_stored(dtype)}"

    def _as_stored(self, dtype: DType) -> str:
        """The variable v as a `_stored_vector`."""
        return f"{self._bfloat('to', self.lanes)}(v)" if dtype is bfloat16 else "v"

    def _stored_vector(self, dtype: DType) -> str:
        """The type of a vector of *dtype* in memory; float16 goes through functions of its own."""
        return self.dialect.lanes_of(self.variable(dtype), self.lanes)

    def variable(self, dtype: DType) -> str:
        """The type of a variable that holds *dtype* as it lies in memory: there may be no variables of type half."""
        return self.dialect.types[bfloat16 if dtype is float16 else dtype]

    def packed(self, dtype: DType, address: str | None) -> str:
        """The type of a vector of *dtype* in memory that need not be aligned."""
        vector = self._stored_vector(dtype)
        spelled = f"Packed_{vector}"
        self.functions.setdefault(spelled, self.dialect.packed.format(type=vector, name=spelled))
        return f"{self.dialect.address if address is None else address}{spelled}"
