"""A checked function as Python's bytecode: `compile_function` gives a function that runs at Python's speed.

The code is made from the tree alone: calls of operators, functions and methods that were resolved, attributes that were
checked. Names that the code needs are put into its globals under names that no program can have. Lines are those of the
source, so a traceback shows what the user wrote.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from ..language import tree
from ..operators.schemas import NO_DEFAULT
from ..types import types as t
from . import values
from .operators import ATTRIBUTES, METHODS, implementation

__all__ = ["Writer", "compile_function", "identifier"]

_BINARY: dict[str, type[ast.operator]] = {
    "aten::add": ast.Add, "aten::sub": ast.Sub, "aten::mul": ast.Mult, "aten::div": ast.Div,
    "aten::floordiv": ast.FloorDiv, "aten::remainder": ast.Mod,
    "aten::__and__": ast.BitAnd, "aten::__or__": ast.BitOr, "aten::__xor__": ast.BitXor,
    "aten::__lshift__": ast.LShift, "aten::__rshift__": ast.RShift, "aten::matmul": ast.MatMult,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "aten::eq": ast.Eq, "aten::ne": ast.NotEq, "aten::lt": ast.Lt, "aten::le": ast.LtE, "aten::gt": ast.Gt,
    "aten::ge": ast.GtE, "aten::__is__": ast.Is, "aten::__isnot__": ast.IsNot,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {
    "aten::neg": ast.USub,
    "aten::__not__": ast.Not,
    "aten::bitwise_not": ast.Invert,
}
_CAST_FUNCTIONS: dict[str, Any] = {
    "aten::Int": int,
    "aten::Float": float,
    "aten::Bool": bool,
    "aten::len": len,
    "aten::str": str,
}


def compile_function(function: tree.Function, writer: Any = None) -> Any:
    """A Python function that does what *function* says; *writer* is the class that writes it."""
    writing: Writer = (writer or Writer)(function)
    made = writing.definition(function)
    module = ast.fix_missing_locations(ast.Module([made], []))
    code = compile(module, function.place.source.file, "exec")
    exec(code, writing.names)  # made from a checked tree, see above
    return writing.names[made.name]


def identifier(name: str) -> str:
    """A name of a program as one of Python's."""
    if name.isidentifier() and name not in _KEYWORDS:
        return name
    return "_named_" + "".join([c if c.isalnum() else f"_{ord(c):x}_" for c in name])


_KEYWORDS = frozenset({"None", "True", "False", "and", "as", "assert", "async", "await", "break", "class", "continue",
                       "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
                       "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
                       "with", "yield"})  # fmt: skip


class Writer:
    """Writes one function.

    Attributes:
        names: the globals of the code.
    """

    def __init__(self, function: tree.Function) -> None:
        self.names: dict[str, Any] = {"__name__": function.qualified or function.name, "__builtins__": {}}
        self._known: dict[int, str] = {}
        self._kept: list[Any] = []

    def held(self, value: Any, word: str = "value") -> ast.expr:
        """A name for *value* in the globals."""
        name = self._known.get(id(value))
        if name is None:
            name = f"_ts_{word}_{len(self._known)}"
            self._known[id(value)] = name
            self._kept.append(value)
            self.names[name] = value
        return ast.Name(name, ast.Load())

    def call(self, function: Any, *given: ast.expr, word: str = "call") -> ast.expr:
        """A call of something in the globals."""
        return ast.Call(self.held(function, word), list(given), [])

    # ----------------------------------------------------------------------------------------------- statements

    def definition(self, function: tree.Function) -> ast.FunctionDef:
        """The definition of *function*."""
        arguments = function.signature.arguments
        positional = [ast.arg(identifier(one.name)) for one in arguments if not one.keyword_only]
        named = [ast.arg(identifier(one.name)) for one in arguments if one.keyword_only]
        defaults = [
            self.default(one.default) for one in arguments if not one.keyword_only and one.default is not NO_DEFAULT
        ]
        named_defaults = [
            None if one.default is NO_DEFAULT else self.default(one.default) for one in arguments if one.keyword_only
        ]
        made = ast.FunctionDef(
            identifier(function.name),
            ast.arguments([], positional, None, named, named_defaults, None, defaults),
            self.block(function.body) or [ast.Pass()], [],
        )  # fmt: skip
        made.lineno = made.end_lineno = function.place.file_line
        made.col_offset = made.end_col_offset = 0
        made.type_params = []  # type: ignore[attr-defined]
        return made

    def default(self, value: Any) -> ast.expr:
        """The default of an argument."""
        return (
            ast.Constant(value) if type(value) in (int, float, bool, str, type(None)) else self.held(value, "default")
        )

    def block(self, statements: list[tree.Statement]) -> list[ast.stmt]:
        """Statements, at least one."""
        found: list[ast.stmt] = []
        for statement in statements:
            for one in self.statement(statement):
                self._locate(one, statement.place.file_line)
                found.append(one)
        return found

    def _locate(self, node: ast.AST, line: int) -> None:
        """Give *node* and what is in it that has no line the line."""
        if isinstance(node, (ast.stmt, ast.expr)) and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
        for child in ast.iter_child_nodes(node):
            self._locate(child, getattr(node, "lineno", line))

    def statement(self, one: tree.Statement) -> list[ast.stmt]:
        """A statement as Python's."""
        return getattr(self, f"_statement_{type(one).__name__}")(one)

    def _statement_Assign(self, one: tree.Assign) -> list[ast.stmt]:
        return [ast.Assign([self.target(one.target)], self.expression(one.value))]

    def target(self, target: tree.Target) -> ast.expr:
        """What is assigned to."""
        if isinstance(target, tree.NameTarget):
            return ast.Name(identifier(target.name), ast.Store())
        if isinstance(target, tree.TupleTarget):
            parts = [self.target(part) for part in target.elements]
            if target.starred is not None:
                parts[target.starred] = ast.Starred(parts[target.starred], ast.Store())
            return ast.Tuple(parts, ast.Store())
        if isinstance(target, tree.AttributeTarget):
            return ast.Attribute(self.expression(target.object), target.name, ast.Store())
        assert isinstance(target, tree.ElementTarget)
        object, index = [self.expression(part) for part in target.arguments]
        return ast.Subscript(object, index, ast.Store())

    def _statement_Evaluate(self, one: tree.Evaluate) -> list[ast.stmt]:
        return [ast.Expr(self.expression(one.value))]

    def _statement_If(self, one: tree.If) -> list[ast.stmt]:
        return [ast.If(self.expression(one.condition), self.block(one.then) or [ast.Pass()], self.block(one.other))]

    def _statement_While(self, one: tree.While) -> list[ast.stmt]:
        return [ast.While(self.expression(one.condition), self.block(one.body) or [ast.Pass()], [])]

    def _statement_For(self, one: tree.For) -> list[ast.stmt]:
        return [ast.For(self.target(one.target), self.iterable(one.iterable), self.block(one.body) or [ast.Pass()], [])]

    def _statement_Break(self, one: tree.Break) -> list[ast.stmt]:
        return [ast.Break()]

    def _statement_Continue(self, one: tree.Continue) -> list[ast.stmt]:
        return [ast.Continue()]

    def _statement_Return(self, one: tree.Return) -> list[ast.stmt]:
        return [ast.Return(None if one.value is None else self.expression(one.value))]

    def _statement_Raise(self, one: tree.Raise) -> list[ast.stmt]:
        message = ast.Constant("") if one.message is None else self.expression(one.message)
        return [ast.Raise(self.call(values.error_of(one.kind), message, word="error"))]

    def _statement_Assert(self, one: tree.Assert) -> list[ast.stmt]:
        message = ast.Constant("") if one.message is None else self.expression(one.message)
        raised = ast.Raise(self.call(values.error_of(AssertionError), message, word="error"))
        return [ast.If(ast.UnaryOp(ast.Not(), self.expression(one.condition)), [raised], [])]

    def _statement_Define(self, one: tree.Define) -> list[ast.stmt]:
        return [self.definition(one.function)]

    def _statement_With(self, one: tree.With) -> list[ast.stmt]:
        item = ast.withitem(
            self.expression(one.context), ast.Name(identifier(one.name), ast.Store()) if one.name else None
        )
        return [ast.With([item], self.block(one.body) or [ast.Pass()])]

    def _statement_Delete(self, one: tree.Delete) -> list[ast.stmt]:
        return [ast.Delete([ast.Name(identifier(one.name), ast.Del())])]

    def iterable(self, iterable: tree.Iterable_) -> ast.expr:
        """What a loop goes over."""
        if iterable.kind in ("zip", "enumerate"):
            parts = [
                self.iterable(part) if isinstance(part, tree.Iterable_) else self.expression(part)
                for part in iterable.parts
            ]
            return self.call(zip if iterable.kind == "zip" else enumerate, *parts, word=iterable.kind)
        parts = [self.expression(part) for part in iterable.parts]
        if iterable.kind == "range":
            return self.call(range, *parts, word="range")
        if iterable.kind == "dict":
            return self.call(list, *parts, word="list")
        if iterable.kind == "tensor":
            return ast.Call(ast.Attribute(parts[0], "unbind", ast.Load()), [], [])
        if iterable.kind == "sequence":
            return self.call(values.items_of, *parts, word="items")
        return parts[0]

    # ---------------------------------------------------------------------------------------------- expressions

    def expression(self, one: tree.Expression) -> ast.expr:
        """An expression as Python's."""
        made: ast.expr = getattr(self, f"_{type(one).__name__}")(one)
        if not hasattr(made, "lineno"):
            made.lineno = made.end_lineno = one.place.file_line
            made.col_offset = made.end_col_offset = 0
        return made

    def _Constant(self, one: tree.Constant) -> ast.expr:
        if one.value is None or type(one.value) in (int, float, bool, str, complex):
            return ast.Constant(one.value)
        return self.held(one.value, "constant")

    def _Local(self, one: tree.Local) -> ast.expr:
        return ast.Name(identifier(one.name), ast.Load())

    def _Bind(self, one: tree.Bind) -> ast.expr:
        return ast.NamedExpr(ast.Name(identifier(one.name), ast.Store()), self.expression(one.object))

    def _ListOf(self, one: tree.ListOf) -> ast.expr:
        return self.call(list, self.expression(one.object), word="list")

    def _Attribute(self, one: tree.Attribute) -> ast.expr:
        return ast.Attribute(self.expression(one.object), one.name, ast.Load())

    def _Element(self, one: tree.Element) -> ast.expr:
        return ast.Subscript(self.expression(one.object), ast.Constant(one.index), ast.Load())

    def _Convert(self, one: tree.Convert) -> ast.expr:
        return self.expression(one.object)

    def _Uninitialized(self, one: tree.Uninitialized) -> ast.expr:
        return ast.Constant(None)

    def _ListLiteral(self, one: tree.ListLiteral) -> ast.expr:
        return ast.List([self.expression(part) for part in one.elements], ast.Load())

    def _TupleLiteral(self, one: tree.TupleLiteral) -> ast.expr:
        return ast.Tuple([self.expression(part) for part in one.elements], ast.Load())

    def _DictLiteral(self, one: tree.DictLiteral) -> ast.expr:
        return ast.Dict([self.expression(part) for part in one.keys], [self.expression(part) for part in one.values])

    def _Comprehension(self, one: tree.Comprehension) -> ast.expr:
        iterable = self.iterable(one.iterable)
        loop = ast.comprehension(
            self.target(one.target), iterable, [self.expression(part) for part in one.conditions], 0
        )
        if one.key is None:
            return ast.ListComp(self.expression(one.element), [loop])
        return ast.DictComp(self.expression(one.key), self.expression(one.element), [loop])

    def _Choice(self, one: tree.Choice) -> ast.expr:
        return ast.IfExp(*[self.expression(part) for part in (one.condition, one.then, one.other)])

    def _Logical(self, one: tree.Logical) -> ast.expr:
        return ast.BoolOp(
            ast.And() if one.word == "and" else ast.Or(), [self.expression(one.left), self.expression(one.right)]
        )

    def _IsInstance(self, one: tree.IsInstance) -> ast.expr:
        return self.call(values.instance_test(one.types), self.expression(one.object), word="is")

    def _Fork(self, one: tree.Fork) -> ast.expr:
        return self.call(values.Future, self.expression(one.call), word="future")

    def _FunctionCall(self, one: tree.FunctionCall) -> ast.expr:
        given = [self.expression(part) for part in one.arguments]
        if getattr(one.function, "is_inner", False):
            return ast.Call(ast.Name(identifier(one.function.name), ast.Load()), given, [])
        return self.call(one.function.run, *given, word=_word_of(one.function.name))

    def _MethodCall(self, one: tree.MethodCall) -> ast.expr:
        object = self.expression(one.object)
        given = [self.expression(part) for part in one.arguments]
        has = one.object.type
        if one.name == "forward" and getattr(has, "is_module", False):
            run = getattr(one.method, "run", None) if isinstance(has, t.ClassType) else None
            if run is None:
                return ast.Call(object, given, [])
            return self.call(values.forward_caller(run), object, *given, word=_word_of(one.name))
        if isinstance(has, t.ClassType):
            return self.call(one.method.run, object, *given, word=_word_of(one.name))
        return self.call(values.method_caller(one.name), object, *given, word=_word_of(one.name))

    def _Construct(self, one: tree.Construct) -> ast.expr:
        given = [self.expression(part) for part in one.arguments]
        if isinstance(one.of, t.TupleType):
            return self.call(one.of.python, *given, word="class")
        return self.call(values.constructor(one.of), *given, word="class")

    def _Create(self, one: tree.Create) -> ast.expr:
        return self.call(one.type.python.__new__, self.held(one.type.python, "class"), word="new")  # type: ignore[attr-defined]

    def _PythonCall(self, one: tree.PythonCall) -> ast.expr:
        return self._named_call(one, "python")

    def _NativeCall(self, one: tree.NativeCall) -> ast.expr:
        return self._named_call(one, "native")

    def _named_call(self, one: Any, word: str) -> ast.expr:
        keywords = [ast.keyword(name, self.expression(value)) for name, value in one.named.items()]
        return ast.Call(self.held(one.function, word), [self.expression(part) for part in one.arguments], keywords)

    def _Operator(self, one: tree.Operator) -> ast.expr:
        name = one.schema.name
        given = one.arguments
        if name in _BINARY and _are_given(given, 2):
            left, right = self._operands(given)
            return ast.BinOp(left, _BINARY[name](), right)
        if name in _COMPARE and _are_given(given, 2):
            left, right = self._operands(given)
            return ast.Compare(left, [_COMPARE[name]()], [right])
        if name in _UNARY and len(given) == 1:
            return ast.UnaryOp(_UNARY[name](), self.expression(given[0]))  # type: ignore[arg-type]
        if name in _CAST_FUNCTIONS and len(given) == 1:
            return self.call(_CAST_FUNCTIONS[name], self.expression(given[0]), word=_CAST_FUNCTIONS[name].__name__)  # type: ignore[arg-type]
        if name in ATTRIBUTES:
            read = ast.Attribute(self.expression(given[0]), ATTRIBUTES[name], ast.Load())  # type: ignore[arg-type]
            return self.call(values.number_of, read, word="number") if one.numbered else read
        first = given[0].type if given and given[0] is not None else None
        if first is not None and (first == t.STR or isinstance(first, (t.ListType, t.DictType))):
            found = self._of_container(name, given)
            if found is not None:
                return found
        return self._function(one)

    def _operands(self, given: list[tree.Expression | None]) -> list[ast.expr]:
        """Two operands, of which a number that stands for a dtype becomes one if the other is a dtype."""
        kinds = [one.type for one in given[:2]]  # type: ignore[union-attr]
        return [
            self.call(values.as_dtype, self.expression(one), word="dtype")
            if one.type == t.INT and t.DTYPE in kinds else self.expression(one)
            for one in given[:2] if one is not None
        ]  # fmt: skip

    def _of_container(self, name: str, given: list[tree.Expression | None]) -> ast.expr | None:
        short = name.partition("::")[2]
        if short in ("__getitem__", "slice", "__contains__"):
            object, *rest = [ast.Constant(None) if one is None else self.expression(one) for one in given]
            if short == "__getitem__":
                return ast.Subscript(object, rest[0], ast.Load())
            if short == "__contains__":
                return ast.Compare(rest[0], [ast.In()], [object])
            return ast.Subscript(object, ast.Slice(*(rest + [ast.Constant(None)] * (3 - len(rest)))), ast.Load())
        if short in METHODS and given[0] is not None:
            rest = [self.expression(one) for one in given[1:] if one is not None]
            if None not in given[1 : 1 + len(rest)]:
                return ast.Call(ast.Attribute(self.expression(given[0]), short, ast.Load()), rest, [])
            return ast.Call(
                ast.Attribute(self.expression(given[0]), short, ast.Load()), [], self._keywords_of_text(short, given)
            )
        return None

    def _keywords_of_text(self, name: str, given: list[tree.Expression | None]) -> list[ast.keyword]:
        names = {"split": ("sep", "maxsplit"), "rsplit": ("sep", "maxsplit")}.get(name, ())
        return [ast.keyword(key, self.expression(one)) for key, one in zip(names, given[1:]) if one is not None]

    def _function(self, one: tree.Operator) -> ast.expr:
        function = implementation(one.schema)
        assert function is not None, one.schema
        positional: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        gap = False
        for position, value in enumerate(one.arguments):
            if value is None:
                gap = True
                continue
            argument = one.schema.arguments[position] if position < len(one.schema.arguments) else None
            made = self._argument(value, argument)
            if argument is not None and (gap or argument.keyword_only):
                keywords.append(ast.keyword(_parameter(function, position, argument.name), made))
            else:
                positional.append(made)
        return ast.Call(self.held(function, _word_of(one.schema.name.partition("::")[2])), positional, keywords)

    def _argument(self, value: tree.Expression, argument: Any) -> ast.expr:
        """An argument; numbers of an archive that stand for a dtype, a layout or a memory format become these."""
        made = self.expression(value)
        wanted = None if argument is None else t.without_none(argument.type)
        convert = values.NUMBERED.get(wanted)  # type: ignore[arg-type]
        if convert is None or value.type in (wanted, t.NONE):
            return made
        if isinstance(value, tree.Constant):
            return self.held(convert(value.value), "constant")
        return self.call(convert, made, word="constant")


def _are_given(given: list[tree.Expression | None], count: int) -> bool:
    return all(one is not None for one in given[:count]) and all(one is None for one in given[count:])


def _parameter(function: Any, position: int, name: str) -> str:
    """What *function* calls the argument that a declaration has at *position* and calls *name*."""
    parameters = inspect.signature(function).parameters
    if name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return name
    return list(parameters)[position]


def _word_of(name: str) -> str:
    return "".join([c for c in name if c.isalnum() or c == "_"]) or "call"
