"""Expressions: what a fused kernel computes, as a graph of ops by their declared names.

Dtypes have been promoted before: an op's arguments all have the dtype that dispatch would cast them to, and casts are
explicit. float16 and bfloat16 are how numbers lie in memory: inside of an expression they are computed in float32 and
rounded once, when they are stored.

Arithmetic on expressions builds expressions, and numbers become literals of the other side's dtype:

>>> import polyad
>>> x = Operand(0, polyad.float32)
>>> (x * x + 1).dtype
polyad.float32
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from weakref import WeakValueDictionary

from ..base.dtypes import DType, bool_, int64
from ..errors import DTypeError, NotSupported
from .formulas import OPS, PREDICATES

Number = bool | int | float | complex

CACHED = 512
"""How many results a function of expressions caches: a body lowered for new layouts builds what it built before."""


class Expression:
    """A value at each place of the iteration space; `dtype` is its dtype."""

    __slots__ = ()

    dtype: DType

    def __add__(self, other: Expression | Number) -> Apply:
        return _combined("add", self, self._like(other))

    def __radd__(self, other: Number) -> Apply:
        return _combined("add", self._like(other), self)

    def __sub__(self, other: Expression | Number) -> Apply:
        return _combined("sub", self, self._like(other))

    def __rsub__(self, other: Number) -> Apply:
        return _combined("sub", self._like(other), self)

    def __mul__(self, other: Expression | Number) -> Apply:
        return _combined("mul", self, self._like(other))

    def __rmul__(self, other: Number) -> Apply:
        return _combined("mul", self._like(other), self)

    def __truediv__(self, other: Expression | Number) -> Apply:
        return _combined("div", self, self._like(other))

    def __rtruediv__(self, other: Number) -> Apply:
        return _combined("div", self._like(other), self)

    def __neg__(self) -> Apply:
        return apply("neg", self)

    def __lt__(self, other: Expression | Number) -> Apply:
        return _combined("lt", self, self._like(other))

    def __le__(self, other: Expression | Number) -> Apply:
        return _combined("le", self, self._like(other))

    def __gt__(self, other: Expression | Number) -> Apply:
        return _combined("gt", self, self._like(other))

    def __ge__(self, other: Expression | Number) -> Apply:
        return _combined("ge", self, self._like(other))

    def literal(self, value: Number) -> Literal:
        """A number of this expression's dtype."""
        return Literal(value, self.dtype)

    def _like(self, other: Expression | Number) -> Expression:
        return other if isinstance(other, Expression) else Literal(other, self.dtype)


@dataclass(frozen=True, slots=True)
class Operand(Expression):
    """The element of tensor operand number *position* at the current place."""

    position: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Iota(Expression):
    """A number that counts the iteration space instead of an element in memory: offset + sum of index * stride.

    It takes part as operand number *position*, with strides and an offset but no memory.
    """

    position: int
    dtype: DType = int64


@dataclass(frozen=True, slots=True)
class Scalar(Expression):
    """Number *position* among those that the kernel gets as arguments: another value needs no other kernel."""

    position: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class RowValue(Expression):
    """What stage *position* of a row-wise kernel gave for the present row."""

    position: int
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """A number written into the source: equal to another if the same is written, so that 0.0 and -0.0 differ."""

    value: Number
    dtype: DType
    _written: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_written", repr(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (self._written, self.dtype) == (other._written, other.dtype)

    def __hash__(self) -> int:
        return hash((self._written, self.dtype))


@dataclass(frozen=True, slots=True)
class Local(Expression):
    """A variable of the kernel around the expression, such as an accumulator; *names* are two for complex ones."""

    names: tuple[str, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Part(Expression):
    """The real (0) or imaginary (1) part of a complex expression."""

    whole: Expression
    index: int

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.whole.dtype.to_real()


class Apply(Expression):
    """Op *op* applied to arguments, giving *dtype*. Immutable; of equal ones there is one.

    So equality is identity: a graph whose nodes are shared would be walked along every path to compare it. Threads that
    build the same at the same moment may have one each; then a kernel is compiled twice.
    """

    __slots__ = ("__weakref__", "_hash", "arguments", "dtype", "op")

    op: str
    arguments: tuple[Expression, ...]
    _hash: int

    def __new__(cls, op: str, arguments: tuple[Expression, ...], dtype: DType) -> Apply:
        """The application, which may be there already."""
        key = op, arguments, dtype
        found = _applied.get(key)
        if found is None:
            found = super().__new__(cls)
            found.op, found.arguments, found.dtype, found._hash = op, arguments, dtype, hash(key)
            found = _applied.setdefault(key, found)
        return found

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Apply({self.op!r}, {self.arguments!r}, {self.dtype!r})"


_applied: WeakValueDictionary[tuple[str, tuple[Expression, ...], DType], Apply] = WeakValueDictionary()


def _combined(op: str, a: Expression, b: Expression) -> Apply:
    """*op*, an operator, of two expressions: `apply`, but for its search where nothing can be wrong."""
    if a.dtype is not b.dtype:
        return apply(op, a, b)
    return Apply(op, (a, b), bool_ if op in PREDICATES else a.dtype)


@lru_cache(CACHED)
def apply(op: str, *arguments: Expression, dtype: DType | None = None) -> Apply:
    """*op* of *arguments*; the result dtype follows from the op unless it is a cast.

    Raises NotImplementedError for an op the generator has no formula for, RuntimeError for arguments of several dtypes.

    >>> import polyad
    >>> from polyad.codegen import Operand, apply
    >>> x = Operand(0, polyad.float32)
    >>> apply("mul", x, apply("exp", x)).dtype
    polyad.float32
    """
    if op not in OPS:
        raise NotSupported(
            f"codegen: no formula for {op}",
            fix=f"use one of {', '.join(sorted(OPS))}, or run it as a kernel of its own",
        )
    values = arguments[1:] if op == "where" else arguments
    if len({argument.dtype for argument in values}) != 1:
        found = ", ".join(argument.dtype.name for argument in values)
        raise DTypeError(
            f"codegen: {op} gets arguments of several dtypes: {found}",
            fix='promote them first: apply("cast", x, dtype=...)',
        )
    if op == "cast":
        if dtype is None:
            raise DTypeError("codegen: cast needs a dtype", fix='write apply("cast", x, dtype=polyad.float32)')
        return Apply(op, arguments, dtype)
    own = values[0].dtype
    return Apply(op, arguments, bool_ if op in PREDICATES else own.to_real() if op == "abs" else own)


def cast(expression: Expression, dtype: DType) -> Expression:
    """*expression* in *dtype*."""
    return expression if expression.dtype is dtype else apply("cast", expression, dtype=dtype)


def where(condition: Expression, chosen: Expression | Number, other: Expression | Number) -> Apply:
    """*chosen* where *condition*, *other* elsewhere; either may be a number."""
    if not isinstance(chosen, Expression):
        assert isinstance(other, Expression)
        chosen = Literal(chosen, other.dtype)
    return apply("where", condition, chosen, chosen._like(other))


def inside(node: Expression) -> tuple[Expression, ...]:
    """What *node* is made of; nothing for leaves."""
    return node.arguments if isinstance(node, Apply) else (node.whole,) if isinstance(node, Part) else ()


def nodes_of(*expressions: Expression) -> list[Expression]:
    """Every expression that occurs in *expressions*, each once."""
    found: dict[Expression, None] = {}
    waiting = list(expressions)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting.extend(inside(node))
    return list(found)


def arguments_first(expressions: Sequence[Expression], known: Mapping[Expression, object]) -> Iterator[Expression]:
    """What occurs in *expressions* and is not *known*, each after what it is made of. Who iterates makes each known."""
    waiting = list(expressions)
    while waiting:
        node = waiting[-1]
        if missing := [] if node in known else [each for each in inside(node) if each not in known]:
            waiting += missing
        elif waiting.pop() not in known:
            yield node


def invariant_parts(expressions: Sequence[Expression], varies: Callable[[Expression], bool]) -> list[Expression]:
    """The largest parts of *expressions* of which nothing *varies*."""
    varying: dict[Expression, bool] = {}
    for node in arguments_first(expressions, varying):
        varying[node] = varies(node) or any(varying[each] for each in inside(node))
    found: dict[Expression, None] = {}
    waiting = list(expressions)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting.extend(inside(node) if varying[node] else ())
    return [node for node in found if not varying[node]]


@lru_cache(CACHED)
def leaves_of(*expressions: Expression) -> tuple[Expression, ...]:
    """Every operand, iota, scalar, row value and literal that occurs, each once."""
    return tuple([node for node in nodes_of(*expressions) if not inside(node)])


def substituted(expressions: Sequence[Expression], replaced: Mapping[Expression, Expression]) -> list[Expression]:
    """*expressions* with some of their parts replaced by others of the same dtype."""
    return list(_substituted(tuple(expressions), tuple(replaced.items())))


@lru_cache(CACHED)
def _substituted(
    expressions: tuple[Expression, ...], replaced: tuple[tuple[Expression, Expression], ...]
) -> tuple[Expression, ...]:
    known: dict[Expression, Expression] = dict(replaced)
    for node in arguments_first(expressions, known):
        parts = tuple([known[each] for each in inside(node)])
        if isinstance(node, Apply):
            known[node] = Apply(node.op, parts, node.dtype)
        else:
            known[node] = Part(parts[0], node.index) if isinstance(node, Part) else node
    return tuple([known[expression] for expression in expressions])


def dtypes_of(*expressions: Expression) -> set[DType]:
    """Every dtype in which something is loaded or computed."""
    return {node.dtype for node in nodes_of(*expressions)}
