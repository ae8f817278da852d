"""The types of TorchScript: what they are, which is a part of which, and how they are written.

Every type is a frozen value: equal types are equal. `Optional` is the union with `NONE`. Numbers that stand for
something (dtypes, layouts, memory formats) have types of their own, which are parts of ``int``, as PyTorch's archives
write them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ANY",
    "BOOL",
    "COMPLEX",
    "DEVICE",
    "DTYPE",
    "FLOAT",
    "GENERATOR",
    "INT",
    "LAYOUT",
    "MEMORY_FORMAT",
    "NEVER",
    "NONE",
    "NUMBER",
    "STR",
    "STREAM",
    "TENSOR",
    "Basic",
    "ClassType",
    "DictType",
    "EnumType",
    "FunctionType",
    "FutureType",
    "InterfaceType",
    "ListType",
    "TupleType",
    "Type",
    "UnionType",
    "Variable",
    "declared_name",
    "is_optional",
    "is_subtype",
    "optional",
    "unify",
    "union",
    "without_none",
]


class Type:
    """A type; ``str()`` of it is how TorchScript writes it."""

    def kind(self) -> str:
        """PyTorch's name of its kind, ``ListType``."""
        return type(self).__name__

    @property
    def annotation_str(self) -> str:
        """How it is written in an annotation."""
        return str(self)

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether each value of it is one of *other*."""
        return is_subtype(self, other)

    def parts(self) -> tuple[Type, ...]:
        """The types that it is made of."""
        return ()


@dataclass(frozen=True)
class Basic(Type):
    """A type without parts, by its name."""

    name: str

    def kind(self) -> str:
        """``IntType`` of ``int``."""
        return _KINDS.get(self.name, f"{self.name}Type")

    def __str__(self) -> str:
        return self.name


TENSOR, INT, FLOAT, BOOL, STR, NONE, COMPLEX, NUMBER, ANY, DEVICE, GENERATOR, STREAM = map(
    Basic,
    ("Tensor", "int", "float", "bool", "str", "NoneType", "complex", "Scalar", "Any", "Device", "Generator", "Stream"),
)
DTYPE, LAYOUT, MEMORY_FORMAT = map(Basic, ("dtype", "layout", "memory_format"))
ENUM = Basic("Enum")
"""Any enumeration."""
NEVER = Basic("NoReturn")
"""What an expression gives that never gives anything."""

_KINDS = {"int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "complex": "ComplexType",
          "Scalar": "NumberType", "Device": "DeviceObjType", "NoneType": "NoneType"}  # fmt: skip
_AS_INT = (DTYPE, LAYOUT, MEMORY_FORMAT)


@dataclass(frozen=True)
class ListType(Type):
    """``List[element]``."""

    element: Type

    def __str__(self) -> str:
        return f"List[{self.element}]"

    def getElementType(self) -> Type:
        """The type of an element."""
        return self.element

    def parts(self) -> tuple[Type, ...]:
        return (self.element,)


@dataclass(frozen=True)
class FutureType(Type):
    """``Future[value]``, of `jit.fork`."""

    value: Type

    def __str__(self) -> str:
        return f"Future[{self.value}]"

    def parts(self) -> tuple[Type, ...]:
        return (self.value,)


@dataclass(frozen=True)
class DictType(Type):
    """``Dict[key, value]``."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"Dict[{self.key}, {self.value}]"

    def getKeyType(self) -> Type:
        """The type of a key."""
        return self.key

    def getValueType(self) -> Type:
        """The type of a value."""
        return self.value

    def parts(self) -> tuple[Type, ...]:
        return (self.key, self.value)


@dataclass(frozen=True)
class TupleType(Type):
    """``Tuple[...]``; with names of its elements and a name of its own it is a NamedTuple.

    Attributes:
        elements: their types.
        name: the qualified name of a NamedTuple.
        fields: its names.
        python: the class.
        defaults: of its last fields.
    """

    elements: tuple[Type, ...]
    name: str | None = None
    fields: tuple[str, ...] = field(default=(), compare=False)
    python: Any = field(default=None, compare=False)
    defaults: tuple[Any, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        return f"Tuple[{', '.join(map(str, self.elements))}]" if self.elements else "Tuple[()]"

    def parts(self) -> tuple[Type, ...]:
        return self.elements


@dataclass(frozen=True)
class UnionType(Type):
    """A value of one of *members*, of which none is a part of another; made by `union`."""

    members: tuple[Type, ...]

    def __str__(self) -> str:
        if len(self.members) == 2 and NONE in self.members:
            return f"Optional[{without_none(self)}]"
        return f"Union[{', '.join(map(str, self.members))}]"

    def kind(self) -> str:
        """``OptionalType`` of two of which one is None."""
        return "OptionalType" if len(self.members) == 2 and NONE in self.members else "UnionType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnionType) and set(self.members) == set(other.members)

    def __hash__(self) -> int:
        return hash(frozenset(self.members))

    def parts(self) -> tuple[Type, ...]:
        return self.members


@dataclass(frozen=True)
class EnumType(Type):
    """An enumeration, whose values are all of one type."""

    name: str
    value: Type
    python: Any = field(compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FunctionType(Type):
    """A function that is known: a value of it is the function."""

    name: str

    def __str__(self) -> str:
        return f"Function[{self.name}]"


@dataclass(frozen=True)
class Variable(Type):
    """A type that a schema leaves open, by its letter."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class ClassType(Type):
    """A class, or a module: attributes with types, and methods. Each is its own type.

    Attributes:
        name: the qualified name, ``__torch__.Pair``.
        attributes: the types of what an instance has.
        methods: what is called by name, each with a signature.
        python: the class that instances are of.
        is_module: whether instances are modules.
        constants: attributes that never change, with their values.
        parameters, buffers: the names of a module's.
        properties: names with getter and setter.
        failures: why a name of the Python class is no attribute, for messages.
    """

    name: str
    attributes: dict[str, Type] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)
    python: Any = None
    is_module: bool = False
    constants: dict[str, Any] = field(default_factory=dict)
    parameters: list[str] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    properties: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    find_method: Any = None

    def __str__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, Any]) -> ClassType:
        return self  # instances that are copied have the same type

    def method(self, name: str) -> Any:
        """The method, compiled if need be, None if there is none."""
        found = self.methods.get(name)
        if found is None and self.find_method is not None:
            found = self.find_method(name)
        return found


@dataclass(eq=False)
class InterfaceType(Type):
    """What a class must be able to do: methods with signatures.

    Attributes:
        methods: by name, each a `language.tree.Signature`.
        is_module: whether only modules fit.
    """

    name: str
    methods: dict[str, Any] = field(default_factory=dict)
    is_module: bool = False
    python: Any = None

    def __str__(self) -> str:
        return self.name


def union(types: Iterable[Type]) -> Type:
    """The type of a value of one of *types*.

    >>> str(union([INT, NONE])), str(union([INT, INT]))
    ('Optional[int]', 'int')
    """
    found: list[Type] = []
    for one in types:
        for member in one.members if isinstance(one, UnionType) else (one,):
            if member is NEVER or any(is_subtype(member, other) for other in found):
                continue
            found = [other for other in found if not is_subtype(other, member)] + [member]
    if not found:
        return NEVER
    return found[0] if len(found) == 1 else UnionType(tuple(sorted(found, key=_rank_in_union)))


def _rank_in_union(type: Type) -> int:
    """Where a type stands in a union, as PyTorch writes them."""
    kinds = (
        "EnumType",
        "TensorType",
        "TupleType",
        "ListType",
        "DictType",
        "NumberType",
        "FloatType",
        "ComplexType",
        "FutureType",
        "IntType",
        "NoneType",
        "StringType",
        "GeneratorType",
        "BoolType",
        "DeviceObjType",
    )
    kind = type.kind()
    return kinds.index(kind) if kind in kinds else len(kinds)


def optional(type: Type) -> Type:
    """*type* or None."""
    return union([type, NONE])


def is_optional(type: Type) -> bool:
    """Whether a value may be None."""
    return type in (NONE, ANY) or (isinstance(type, UnionType) and NONE in type.members)


def without_none(type: Type) -> Type:
    """*type* of a value that is not None."""
    if isinstance(type, UnionType):
        return union([member for member in type.members if member != NONE])
    return type


def is_subtype(one: Type, other: Type) -> bool:
    """Whether each value of *one* is a value of *other*. Lists and dicts fit only equal ones: they can be written to.

    >>> is_subtype(INT, optional(INT)), is_subtype(ListType(INT), ListType(optional(INT)))
    (True, False)
    """
    if one == other or other == ANY or one is NEVER:
        return True
    if isinstance(one, UnionType):
        return all(is_subtype(member, other) for member in one.members)
    if isinstance(other, UnionType):
        return any(is_subtype(one, member) for member in other.members)
    if other == NUMBER:
        return one in (INT, FLOAT, COMPLEX)
    if other == INT:
        return one in _AS_INT
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        if other.name is not None or len(one.elements) != len(other.elements):
            return False
        return all(map(is_subtype, one.elements, other.elements))
    if isinstance(other, InterfaceType):
        return _implements(one, other)
    return isinstance(one, EnumType) and other == ENUM


def _implements(one: Type, interface: InterfaceType) -> bool:
    if isinstance(one, ClassType):
        if interface.is_module and not one.is_module:
            return False
        find: Any = one.method
    elif isinstance(one, InterfaceType):
        find = one.methods.get
    else:
        return False
    for name, wanted in interface.methods.items():
        has = find(name)
        if has is None or not getattr(has, "signature", has).fits(getattr(wanted, "signature", wanted)):
            return False
    return True


def unify(one: Type, other: Type) -> Type | None:
    """The type of what is one or the other, None if there is none short of a union.

    >>> str(unify(INT, NONE)), unify(INT, TENSOR)
    ('Optional[int]', None)
    """
    if is_subtype(one, other):
        return other
    if is_subtype(other, one):
        return one
    if NONE in (one, other):
        return optional(other if one == NONE else one)
    if (isinstance(one, UnionType) and NONE in one.members) or (isinstance(other, UnionType) and NONE in other.members):
        inner = unify(without_none(one), without_none(other))
        return None if inner is None else optional(inner)
    if isinstance(one, TupleType) and isinstance(other, TupleType) and len(one.elements) == len(other.elements):
        found = [unify(a, b) for a, b in zip(one.elements, other.elements)]
        return None if None in found else TupleType(tuple(found))  # type: ignore[arg-type]
    return None


def declared_name(type: Type) -> str:
    """A type as graphs and declarations of operators have it.

    >>> declared_name(optional(ListType(INT)))
    'int[]?'
    """
    if isinstance(type, ListType):
        return f"{declared_name(type.element)}[]"
    if isinstance(type, UnionType):
        if len(type.members) == 2 and NONE in type.members:
            return f"{declared_name(without_none(type))}?"
        return f"Union({', '.join(map(declared_name, type.members))})"
    if isinstance(type, TupleType) and type.name is None:
        return f"({', '.join(map(declared_name, type.elements))})"
    if isinstance(type, (DictType, FutureType)):
        word = "Dict" if isinstance(type, DictType) else "Future"
        return f"{word}({', '.join(map(declared_name, type.parts()))})"
    return str(type)
