"""What tests ask the stand-in for: to fail, to be wrong, to have no plan."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Wanted:
    """How the library behaves.

    Attributes:
        missing: whether there is no library behind the frontend.
        wrong: is added to what is computed.
        failing: the words of the error with which every run fails.
        unsupported: what has no plan: names of operations.
        digits: the bits behind the point that TF32 keeps.
        done: the operations that were run.
    """

    missing: bool = False
    wrong: float = 0.0
    failing: str = ""
    unsupported: tuple[str, ...] = ()
    digits: int = 10
    version: int = 92800
    done: list[str] = field(default_factory=list)


wanted = Wanted()


def asked() -> Wanted:
    """`wanted`; raises as the frontend does where there is no library."""
    if wanted.missing:
        raise RuntimeError("Unable to find symbol cudnnGetVersion")
    return wanted
