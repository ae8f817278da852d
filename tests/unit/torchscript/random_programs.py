"""Random programs of TorchScript's language: `program` writes one, `compare` runs it as a script and as Python.

Run as a file it tries as many as it is told, from a first seed: ``python random_programs.py 20000 0``.
"""

from __future__ import annotations

import random
import sys
import typing
from typing import Any

from polyad import jit

_ARGUMENTS = {"a": "int", "b": "int", "x": "float", "flag": "bool", "items": "List[int]", "word": "str"}


class _Writer:
    """Writes the lines of one program.

    Attributes:
        scopes: the variables of each open block, by type; those of outer blocks are seen inside.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.scopes: list[dict[str, str]] = [dict(_ARGUMENTS)]
        self.count = 0
        self.budget = self.random.randint(6, 24)

    def known(self, kind: str) -> list[str]:
        return [name for scope in self.scopes for name, one in scope.items() if one == kind]

    def value(self, kind: str, depth: int = 0) -> str:
        pick = self.random
        if depth > 2 or pick.random() < 0.35:
            names = self.known(kind)
            if names and pick.random() < 0.8:
                return pick.choice(names)
            return {
                "int": str(pick.randint(-9, 9)),
                "float": str(pick.randint(-8, 8) / 4),
                "bool": pick.choice(["True", "False"]),
                "str": repr(pick.choice(["", "a", "bc", "word"])),
                "List[int]": "[1, 2, 3]",
            }[kind]
        part = lambda other: self.value(other, depth + 1)  # noqa: E731 - short in the table below
        table: dict[str, list[Any]] = {
            "int": [
                lambda: f"({part('int')} {pick.choice('+-')} {part('int')})",
                lambda: f"({part('int')} * {pick.randint(-3, 3)})",
                lambda: f"({part('int')} // {pick.choice([-3, 2, 5])})",
                lambda: f"({part('int')} % {pick.choice([-4, 3, 7])})",
                lambda: f"len({part('List[int]')})",
                lambda: f"len({part('str')})",
                lambda: f"int({part('float')})",
                lambda: f"({part('int')} if {part('bool')} else {part('int')})",
                lambda: f"abs({part('int')})",
                lambda: f"{pick.choice(['min', 'max'])}({part('int')}, {part('int')})",
                lambda: f"int({part('bool')})",
                lambda: f"sum({part('List[int]')})",
                lambda: f"(-{part('int')})",
            ],
            "float": [
                lambda: f"({part('float')} {pick.choice('+-*')} {part('float')})",
                lambda: f"({part('int')} / {pick.choice([2, -4])})",
                lambda: f"float({part('int')})",
                lambda: f"({part('float')} + {part('int')})",
                lambda: f"abs({part('float')})",
            ],
            "bool": [
                lambda: f"({part('int')} {pick.choice(['<', '<=', '==', '!=', '>', '>='])} {part('int')})",
                lambda: f"({part('bool')} {pick.choice(['and', 'or'])} {part('bool')})",
                lambda: f"(not {part('bool')})",
                lambda: f"({part('int')} in {part('List[int]')})",
                lambda: f"({part('str')} == {part('str')})",
                lambda: f"({part('float')} < {part('float')} <= {part('float')})",
            ],
            "str": [
                lambda: f"({part('str')} + {part('str')})",
                lambda: f"str({part('int')})",
                lambda: f"{part('str')}.upper()",
                lambda: f"({part('str')} if {part('bool')} else {part('str')})",
                lambda: f"{part('str')}[1:]",
                lambda: "f'{" + pick.choice(self.known("int")) + "}-{" + pick.choice(self.known("str")) + "}'",
            ],
            "List[int]": [
                lambda: f"[{part('int')}, {part('int')}]",
                lambda: f"({part('List[int]')} + {part('List[int]')})",
                lambda: f"{part('List[int]')}[{pick.randint(0, 2)}:]",
                lambda: f"{part('List[int]')}[::-1]",
                lambda: f"[k + {part('int')} for k in {part('List[int]')} if k > {pick.randint(-3, 3)}]",
                lambda: f"sorted({part('List[int]')})",
            ],
        }
        return pick.choice(table[kind])()

    def write(self, line: str) -> None:
        self.lines.append("    " * len(self.scopes) + line)

    def block(self, in_loop: bool) -> None:
        self.scopes.append({})
        for _ in range(self.random.randint(1, 3)):
            self.statement(in_loop)
        self.scopes.pop()

    def statement(self, in_loop: bool) -> None:
        pick = self.random
        self.budget -= 1
        choice = pick.random()
        if choice < 0.45 or self.budget < 0 or len(self.scopes) > 3:
            self.assignment()
        elif choice < 0.65:
            self.write(f"if {self.value('bool')}:")
            self.block(in_loop)
            if in_loop and pick.random() < 0.3:
                self.lines.append("    " * (len(self.scopes) + 1) + pick.choice(["break", "continue"]))
            elif pick.random() < 0.2:
                self.lines.append("    " * (len(self.scopes) + 1) + f"return {self.result()}")
            if pick.random() < 0.5:
                self.write("else:")
                self.block(in_loop)
        elif choice < 0.85:
            self.loop()
        else:
            name = pick.choice(self.known("List[int]"))
            self.write(f"{name} = {name}[:6]")
            self.write(f"{name}.append({self.value('int')} % 1000)")

    def loop(self) -> None:
        self.count += 1
        name = f"i{self.count}"
        kind = self.random.random()
        if kind < 0.3:
            self.write(f"{name} = 0")
            self.write(f"while {name} < {self.random.randint(1, 4)}:")
            self.lines.append("    " * (len(self.scopes) + 1) + f"{name} += 1")
            self.scopes[-1][f"{name}"] = "none"  # nothing else may set it
            self.block(True)
            return
        over = (
            f"range({self.random.randint(0, 4)})"
            if kind < 0.7
            else f"{self.random.choice(self.known('List[int]'))}[:4]"
        )
        self.write(f"for {name} in {over}:")
        self.block(True)

    def assignment(self) -> None:
        kind = self.random.choice(["int", "int", "float", "bool", "str", "List[int]"])
        names = self.known(kind)
        if names and self.random.random() < 0.6:
            name = self.random.choice(names)
        else:
            self.count += 1
            name = f"v{self.count}"
        value = self.value(kind)
        limit = {"int": f"({value}) % 100003", "str": f"({value})[:20]", "List[int]": f"({value})[:12]"}.get(
            kind, value
        )
        self.write(f"{name} = {limit}")
        if not any(name in scope for scope in self.scopes):
            self.scopes[-1][name] = kind

    def result(self) -> str:
        return ", ".join(self.random.choice(self.known(kind)) for kind in ("int", "float", "bool", "str", "List[int]"))


def program(seed: int) -> str:
    """A function ``f`` as text."""
    writer = _Writer(seed)
    for _ in range(writer.random.randint(2, 6)):
        writer.statement(False)
    writer.write(f"return {writer.result()}")
    arguments = ", ".join(f"{name}: {kind}" for name, kind in _ARGUMENTS.items())
    return "\n".join([f"def f({arguments}) -> Tuple[int, float, bool, str, List[int]]:", *writer.lines, ""])


def outcome(function: Any, *given: Any) -> Any:
    """What a function gives, or the kind of what it raises: an infinity or a NaN cannot be made an int."""
    try:
        return function(*given)
    except (OverflowError, ValueError) as error:
        return OverflowError if isinstance(error, OverflowError) else ValueError


def compare(seed: int) -> None:
    """Raises AssertionError, with the program, if Python gives another result than the script."""
    text = program(seed)
    names: dict[str, Any] = {"List": typing.List, "Tuple": typing.Tuple}  # noqa: UP006 - as programs are written
    exec(text, names)
    scripted = jit.CompilationUnit(text).f
    pick = random.Random(seed)
    for _ in range(3):
        given = (pick.randint(-20, 20), pick.randint(0, 9), pick.randint(-9, 9) / 2, pick.random() < 0.5)
        items = [pick.randint(-5, 5) for _ in range(pick.randint(0, 4))]
        word = pick.choice(["", "q", "torch"])
        wanted, found = [outcome(f, *given, list(items), word) for f in (names["f"], scripted)]
        assert repr(found) == repr(wanted), f"{text}\n{given, items, word}\nscript {found}\nPython {wanted}"


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        compare(number)
    print(f"{count} programs agree")
