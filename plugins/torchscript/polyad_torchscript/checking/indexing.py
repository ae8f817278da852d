"""Subscripts: of lists, dicts, strings and tuples, and of tensors, which are chains of select, slice and index."""

from __future__ import annotations

import ast
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place, UnsupportedError
from ..types import types as t
from .matching import match_operator
from .values import Plain, TupleValue, Value

__all__ = ["Indexing"]


class Indexing:
    """The check of subscripts."""

    check: Any
    value: Any
    place: Any
    operator: Any
    constant: Any
    tuple_parts: Any
    resolver: Any

    def _value_Subscript(self, node: ast.Subscript) -> Value:
        place = self.place(node)
        base = self.value(node.value)
        if hasattr(base, "index"):
            return base.index(self, node.slice, place)
        elements = base.elements(self, place) if isinstance(base, TupleValue) else None
        if elements is not None:
            return self._of_values(elements, node.slice, place)
        object = base.expression(self, place)
        has = object.type
        if isinstance(has, t.TupleType):
            return self._of_tuple(object, node.slice, place)
        if has == t.TENSOR:
            return Plain(self.tensor_index(object, node.slice, place))
        if isinstance(has, t.ClassType):
            index = self.value(node.slice)
            return self.resolver.member(self, object, "__getitem__", place).call(self, [index], {}, place)
        if isinstance(node.slice, ast.Slice):
            return Plain(self._sliced(object, node.slice, place))
        if isinstance(has, t.UnionType):
            raise CompileError(f"script: '{has}' object is not subscriptable", place,
                               fix="rule None out before: assert x is not None")  # fmt: skip
        return Plain(self.operator(("aten::__getitem__",), [object, self.check(node.slice)], {}, place))

    def _of_values(self, elements: list[Value], node: ast.expr, place: Place) -> Value:
        if isinstance(node, ast.Slice):
            lower, upper, step = (
                None if one is None else self._fixed(one) for one in (node.lower, node.upper, node.step)
            )
            return TupleValue(elements[lower:upper:step])
        index = self._fixed(node)
        if not -len(elements) <= index < len(elements):
            raise CompileError(f"script: Index {index} out of range of {len(elements)} elements", place)
        return elements[index]

    def _fixed(self, node: ast.expr) -> int:
        """An index that must be known."""
        value = self.check(node)
        if isinstance(value, tree.Constant) and type(value.value) is int:
            return value.value
        raise CompileError("script: tuple index must be a compile time constant: an integer that is known",
                           self.place(node), fix="write the number, or use a list")  # fmt: skip

    def _of_tuple(self, object: tree.Expression, node: ast.expr, place: Place) -> Value:
        types = object.type.parts()
        if isinstance(node, ast.Slice):
            lower, upper, step = (
                None if one is None else self._fixed(one) for one in (node.lower, node.upper, node.step)
            )
            found = self.tuple_parts(object, list(range(len(types)))[lower:upper:step])
            return Plain(tree.TupleLiteral(t.TupleType(tuple([one.type for one in found])), place, found))
        value = self.check(node)
        if not isinstance(value, tree.Constant) and value.type == t.INT and len(set(types)) == 1:
            listed = tree.ListLiteral(t.ListType(types[0]), place, self.tuple_parts(object))
            return Plain(self.operator(("aten::__getitem__",), [listed, value], {}, place))
        index = self._fixed(node)
        if not -len(types) <= index < len(types):
            raise CompileError(f"script: tuple index out of range: {index} of {len(types)} elements", place)
        return Plain(self.tuple_parts(object, [index % len(types)])[0])

    def _sliced(self, object: tree.Expression, node: ast.Slice, place: Place) -> tree.Expression:
        parts = [
            self.constant(1 if name == "step" else None, place) if one is None else self.check(one)
            for name, one in (("lower", node.lower), ("upper", node.upper), ("step", node.step))
        ]
        return self.operator(("aten::slice",), [object, *parts], {}, place)

    def tensor_index(self, object: tree.Expression, node: ast.expr, place: Place) -> tree.Expression:
        """``object[node]`` of a tensor."""
        sliced, indices = self._chain(object, node, place)
        if not any(one is not None for one in indices):
            return sliced
        return match_operator("aten::index", [sliced, self._index_list(indices, place)], {}, place)

    def _index_list(self, indices: list[tree.Expression | None], place: Place) -> tree.Expression:
        parts = [self.constant(None, place) if one is None else one for one in indices]
        return tree.ListLiteral(t.ListType(t.optional(t.TENSOR)), place, parts)

    def _chain(
        self, object: tree.Expression, node: ast.expr, place: Place
    ) -> tuple[tree.Expression, list[tree.Expression | None]]:
        """What is left after numbers and slices have been taken, and the tensors that index it."""
        items = self._items(node)
        after = sum(not isinstance(one, tree.Constant) or one.value is not None for one in self._after_ellipsis(items))
        indices: list[tree.Expression | None] = []
        dim, sliced, met = 0, object, False

        def at(position: int) -> tree.Expression:
            return self.constant(position - after if met and position < after else position, place)

        remaining = after
        for item in items:
            if item is Ellipsis:
                met = True
                dim = -remaining
                continue
            if met:
                dim = -remaining
            position = self.constant(dim, place)
            if isinstance(item, ast.Slice):
                bounds = [self.constant(1 if k == 2 else None, place) if one is None else self.check(one)
                          for k, one in enumerate((item.lower, item.upper, item.step))]  # fmt: skip
                sliced = match_operator("aten::slice", [sliced, position, *bounds], {}, place)
                indices.append(None)
                dim += 1
                remaining -= met
            elif item.type == t.NONE:
                if met:
                    raise UnsupportedError(
                        "script: None after ... in an index isn't supported", place, fix="use unsqueeze"
                    )
                sliced = match_operator("aten::unsqueeze", [sliced, position], {}, place)
                indices.append(None)
                dim += 1
            elif item.type in (t.INT, t.BOOL):
                sliced = match_operator("aten::select", [sliced, position, item], {}, place)
                remaining -= met
            elif item.type == t.TENSOR or isinstance(item.type, t.ListType):
                made = item if item.type == t.TENSOR else match_operator("aten::tensor", [item], {}, place)
                if met:
                    raise UnsupportedError("script: a tensor after ... in an index isn't supported", place,
                                           fix="write : for each dimension before")  # fmt: skip
                indices.append(made)
                dim += 1
            else:
                raise CompileError(
                    f"script: unsupported operation: indexing tensor with unsupported index type "
                    f"'{item.type}': only ints, slices, None, lists and tensors are supported",
                    place,
                )
        while indices and indices[-1] is None:
            indices.pop()
        return sliced, indices

    def _after_ellipsis(self, items: list[Any]) -> list[Any]:
        return (
            items[items.index(Ellipsis) + 1 :]
            if Ellipsis in [one if one is Ellipsis else None for one in items]
            else []
        )

    def _items(self, node: ast.expr) -> list[Any]:
        """The parts of an index: slices as nodes, ``...``, and expressions."""
        found: list[Any] = []
        for one in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(one, ast.Slice):
                found.append(one)
            elif (isinstance(one, ast.Constant) and one.value is Ellipsis) or (
                isinstance(one, ast.Name) and one.id == "Ellipsis"
            ):
                found.append(Ellipsis)
            else:
                value = self.check(one)
                if isinstance(value.type, t.TupleType):
                    found += self.tuple_parts(value)
                else:
                    found.append(value)
        return found

    def store_in_tensor(
        self, object: tree.Expression, node: ast.expr, value: tree.Expression, place: Place
    ) -> tree.Expression:
        """``object[node] = value`` of a tensor."""
        sliced, indices = self._chain(object, node, place)
        if any(one is not None for one in indices):
            if value.type != t.TENSOR:
                value = self._as_tensor_like(value, sliced, place)
            return match_operator("aten::index_put_", [sliced, self._index_list(indices, place), value], {}, place)
        name = "aten::copy_" if value.type == t.TENSOR else "aten::fill_"
        return match_operator(name, [sliced, value], {}, place)

    def _as_tensor_like(self, value: tree.Expression, like: tree.Expression, place: Place) -> tree.Expression:
        dtype = match_operator("prim::dtype", [like], {}, place)
        device = match_operator("prim::device", [like], {}, place)
        return match_operator("aten::tensor", [value], {"dtype": dtype, "device": device}, place)
