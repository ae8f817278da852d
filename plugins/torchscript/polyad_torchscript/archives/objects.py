"""What the pickles of an archive hold besides tensors and plain values: objects of the program's classes.

A pickle names classes of the program (``__torch__.Net``), and functions of PyTorch's that say the types of lists and
dicts. An object of such a class becomes a `ScriptObject`: the name and the state, from which the program makes its
module later. So nothing that a pickle names is looked up outside of the archive.
"""

from __future__ import annotations

from typing import Any

from polyad.serialization.pickles import CalledWithOne, Known, Pending, PickleError

__all__ = ["PROGRAM", "TYPED", "NamedValue", "ScriptClasses", "ScriptObject", "Typed"]

PROGRAM = "__torch__"
"""The package that holds a program's classes and functions."""
MOST_MISSING = 100


class ScriptObject:
    """An object of a class of the program's.

    Attributes:
        name: the qualified name of its class.
        state: its attributes by name, or whatever its class says with ``__getstate__``.
    """

    def __init__(self, name: str, state: Any = None) -> None:
        self.name, self.state = name, state


class NamedValue:
    """A value of a class of the program's that is called to make it: a member of an enumeration, a NamedTuple."""

    def __init__(self, name: str, arguments: tuple[Any, ...]) -> None:
        self.name, self.arguments = name, arguments


class Typed:
    """A list or dict to be written, with its type as TorchScript writes it."""

    def __init__(self, value: Any, type_text: str) -> None:
        self.value, self.type_text = value, type_text


class _ClassName(CalledWithOne):
    """A class of the program's, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name


class ScriptClasses:
    """What an archive's pickles may name beside the known: classes of the program.

    Attributes:
        is_checked: whether the archive has been gone through once.
        missing: names of other classes and functions.
        used: the names of the program's classes.
    """

    def __init__(self) -> None:
        self.is_checked = False
        self.missing: dict[str, None] = {}
        self.used: dict[str, None] = {}

    def named(self, module: str, name: str) -> Any:
        """What stands for a class."""
        if module == PROGRAM or module.startswith(f"{PROGRAM}."):
            self.used[f"{module}.{name}"] = None
            return _ClassName(f"{module}.{name}")
        if len(self.missing) > MOST_MISSING:
            raise PickleError(f"it needs {module}.{name}, which is code of another program")
        self.missing[f"{module}.{name}"] = None
        return Pending()

    def make(self, function: Any, arguments: tuple[Any, ...], new: bool) -> Any:
        """The object of a class; what cannot be made is noted in `missing`."""
        if isinstance(function, Pending):
            return Pending()
        if not isinstance(function, _ClassName):
            raise PickleError("it calls what is no class of its program")
        if not new:
            return NamedValue(function.name, arguments)
        if arguments:
            raise PickleError(f"it gives arguments to {function.name}, which takes none")
        return ScriptObject(function.name)

    def made(self, target: Any) -> bool:
        """Whether `make` gave it."""
        return isinstance(target, (ScriptObject, NamedValue))

    def set_state(self, target: Any, state: Any) -> None:
        """Give an object its state, once."""
        if not isinstance(target, ScriptObject) or target.state is not None:
            raise PickleError("it gives a state to what takes none")
        target.state = state

    def check(self) -> None:
        """Raise PickleError if there were other names."""
        if not self.missing:
            return
        names = list(self.missing)
        quantised = [name for name in names if "qtensor" in name or "quantized" in name or "PackedParams" in name]
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        what = "holds quantised tensors" if quantised else "names"
        error = PickleError(f"it {what} ({shown}), which polyad does not have" if quantised else f"it names {shown}")
        error.fix = (
            "save the model before it is quantised" if quantised else "use another copy: this is no TorchScript archive"
        )
        raise error


def _tagged(value: Any, type_text: Any) -> Any:
    """A list or dict with its type, which the class of the object that holds it says, too."""
    if type(type_text) is not str:
        raise PickleError("it has a type that is no text")
    return value


def _list_of_values(value: Any) -> Any:
    if type(value) not in (list, tuple):
        raise PickleError(f"it makes a list of {type(value).__name__}")
    return list(value)


_TAG = _tagged
_LISTS = {name: (lambda value: _list_of_values(value)) for name in ("intlist", "doublelist", "boollist", "tensorlist")}

TYPED: dict[str, Any] = {
    "torch.jit._pickle.restore_type_tag": Known(_TAG, _TAG),
    **{f"torch.jit._pickle.build_{name}": Known(build, build) for name, build in _LISTS.items()},
}
"""What a pickle may name of PyTorch's: functions that say the type of what they are given."""
