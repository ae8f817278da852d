"""What ``polyad doctor`` says: versions, the listing of backends, and a short self-test of each device.

The self-test trains nothing and compares with nothing but arithmetic that it can do itself in Python: a small matrix
product, its gradients, a copy to the host and back, a strided copy. For a device that is asked for by name the
installed conformance suite looks at ops of every family as well.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ...devices.registry import get_default_device
from ...errors import PolyadError
from .listing import Listing, labelled, list_backends, text_of_listing
from .screen import console, show_tables


@dataclass(frozen=True, slots=True)
class SelfTest:
    """How the self-test of a device went; *problem* and *fix* are empty if it passed."""

    device: str
    ok: bool
    seconds: float
    problem: str = ""
    fix: str = ""


@dataclass(slots=True)
class FamilyTest:
    """How ops of one family went on a device.

    Attributes:
        family: the name of the ops' package, such as "pointwise".
        ops: how many of its ops the device's dtypes allow.
        tested: the ops that there was time for, in order.
        seconds: how long they took, the compilation of their kernels included.
        problems: what is wrong, by op: the first line of each failure.
    """

    family: str
    ops: int = 0
    tested: list[str] = field(default_factory=list)
    seconds: float = 0.0
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What `doctor` found. Prints as a text.

    Attributes:
        versions: of Python, the system, polyad and what it depends on.
        listing: what `list_backends` says.
        tests: a self-test for each device.
        families: ops of each family on the device that was asked for.
        default_device: where tensors go that are given no device; empty if `default_problem` says why there is none.
    """

    versions: dict[str, str]
    listing: Listing
    tests: tuple[SelfTest, ...]
    default_device: str = ""
    default_problem: str = ""
    families: tuple[FamilyTest, ...] = ()

    @property
    def problems(self) -> list[str]:
        """What is wrong, a line each."""
        found = [f"{backend.name}: {backend.problem}" for backend in self.listing if backend.problem]
        found += [f"plug-in {plugin.name}: {plugin.problem}" for plugin in self.listing.plugins if plugin.problem]
        found += [f"default device: {self.default_problem}"] if self.default_problem else []
        found += [f"{test.device}: {test.problem}" for test in self.tests if not test.ok]
        return found + [f"{op}: {problem}" for test in self.families for op, problem in test.problems.items()]

    @property
    def exit_status(self) -> int:
        """0 if everything works, else 1."""
        return 1 if self.problems or not self.tests else 0

    @property
    def verdict(self) -> str:
        """The last line of the report."""
        if not self.problems:
            return (
                f"all well: {len(self.tests)} device{'' if len(self.tests) == 1 else 's'} tested"
                if self.tests
                else "no device was found"
            )
        return f"{len(self.problems)} problem{'' if len(self.problems) == 1 else 's'}: see the fix lines above"

    def as_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers."""
        return {**asdict(self), "problems": self.problems, "exit_status": self.exit_status}

    def show(self) -> None:
        """Print it: tables on a terminal, plain text otherwise."""
        terminal = console()
        if terminal is None:
            sys.stdout.write(str(self) + "\n")
            return
        from rich.table import Table
        from rich.text import Text

        versions = Table("", "version", title="Versions", title_justify="left")
        for name, version in self.versions.items():
            versions.add_row(name, Text(version))
        terminal.print(versions)
        show_tables(terminal, self.listing, verbose=False)
        tests = Table(
            "device",
            "self-test",
            "seconds",
            "problem and fix",
            title="Self-test: matrix product, backward, copies",
            title_justify="left",
        )
        for test in self.tests:
            tests.add_row(
                test.device,
                Text("ok", "green") if test.ok else Text("FAILED", "bold red"),
                f"{test.seconds:.2f}",
                Text("\n".join(filter(None, (test.problem, test.fix)))),
            )
        terminal.print(tests)
        if self.families:
            families = Table("family", "ops tested", "seconds", "problems", title=_FAMILIES_TITLE, title_justify="left")
            for family in self.families:
                problems = "\n".join(f"{op}: {problem}" for op, problem in family.problems.items())
                families.add_row(
                    family.family,
                    f"{len(family.tested)} of {family.ops}",
                    f"{family.seconds:.1f}",
                    Text(problems, "bold red") if problems else Text("none", "green"),
                )
            terminal.print(families)
        terminal.print(Text(f"default device: {self.default_device or self.default_problem}"))
        terminal.print(Text(self.verdict, "green" if self.exit_status == 0 else "bold red"))

    def __str__(self) -> str:
        tests = []
        for test in self.tests:
            tests.append(labelled(test.device, f"ok in {test.seconds:.2f} s" if test.ok else f"FAILED: {test.problem}"))
            if test.fix:
                tests.append(labelled("fix", test.fix))
        families = []
        for family in self.families:
            seen = f"{len(family.tested)} of {family.ops} ops in {family.seconds:.1f} s"
            families.append(labelled(family.family, f"{'FAILED' if family.problems else 'ok'}: {seen}"))
            families += [labelled("", f"{op}: {problem}") for op, problem in family.problems.items()]
        parts = [
            "\n".join(["versions", *(labelled(name, version) for name, version in self.versions.items())]),
            text_of_listing(self.listing),
            f"default device: {self.default_device or self.default_problem}",
            "\n".join(["self-test (matrix product, backward, copies)", *tests]),
            *(["\n".join([_FAMILIES_TITLE, *families])] if families else []),
            self.verdict,
        ]
        return "\n\n".join(parts)


def doctor(device: str | None = None, *, seconds: float = 10.0) -> DoctorReport:
    """Versions, every backend and plug-in, and a self-test of every device that was found.

    With *device* the report is about that device alone, and for about *seconds* ops of every family are tested on it:
    an op's first sample of the conformance suite, values and gradient, in float32 where it can be. That needs
    ``polyad[test]``.

    >>> import polyad
    >>> polyad.backends.doctor().tests[0].device
    'cpu'
    >>> polyad.backends.doctor("cpu", seconds=0.1).problems
    []
    """
    listing = list_backends()
    names = [found.name for backend in listing for found in backend.devices]
    if device is not None:
        names, listing = [device], _of_device(listing, device.partition(":")[0])
    tests = tuple(map(_self_test, names))
    families: tuple[FamilyTest, ...] = ()
    if device is not None and tests[0].ok:
        try:
            families = tuple(importlib.import_module(_SPOT_CHECK).spot_check(device, seconds))
        except ModuleNotFoundError as error:
            problem = f"the ops of its families were not tested: {error.name} is not installed"
            tests = (replace(tests[0], ok=False, problem=problem, fix="pip install 'polyad[test]'"),)
    default, problem = "", ""
    try:
        default = str(get_default_device())
    except PolyadError as error:
        problem = " ".join(str(error).split())
    return DoctorReport(_versions(), listing, tests, default, problem, families)


_SPOT_CHECK = "polyad_conformance.spot_check"
_FAMILIES_TITLE = "ops of each family (values and gradients, by the conformance suite)"


def _of_device(listing: Listing, kind: str) -> Listing:
    """What concerns devices of that kind: their backend, and the plug-ins with kernels for them."""
    backends = tuple(backend for backend in listing if backend.name == kind) or listing.backends
    plugins = tuple(one for one in listing.plugins if one.problem or any(kernel[0] == kind for kernel in one.kernels))
    return replace(listing, backends=backends, plugins=plugins)


def _versions() -> dict[str, str]:
    from ..._version import __version__

    versions = {
        "polyad": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    for package in ("numpy", "ml_dtypes", "pluggy", "rich", "pyopencl", "cupy"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            if package not in ("pyopencl", "cupy"):
                versions[package] = "missing: pip install --force-reinstall polyad"
    return versions


def _self_test(device: str) -> SelfTest:
    start = time.perf_counter()
    problem, fix = "", ""
    try:
        wrong = _exercise(device)
        if wrong:
            problem, fix = (
                f"{wrong} gave a wrong result",
                f"run the suite for details: polyad conformance {device.partition(':')[0]}",
            )
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        fix = getattr(error, "fix", None) or f"run the suite for details: polyad conformance {device.partition(':')[0]}"
    return SelfTest(device, not problem, time.perf_counter() - start, problem, fix)


def _exercise(device: str) -> str:
    """Name the first step whose result is wrong, if any. All numbers are small and whole, so results are exact."""
    from ...devices.fallback import using_policy
    from ...history.grad_mode import enable_grad
    from ...ops.creation.factories import tensor

    left, right = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, -1.0], [2.0, 0.0], [-3.0, 4.0]]
    product = [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*right, strict=True)] for row in left
    ]
    with enable_grad(), using_policy("allow"):
        x = tensor(left, device=device, requires_grad=True)
        w = tensor(right, device=device, requires_grad=True)
        if x.detach().tolist() != left:
            return "a copy to the device and back"
        y = x @ w
        if y.tolist() != product:
            return "a matrix product"
        (y * y).sum().backward()
        # The gradient of sum((x w)^2) is 2 x w w' for x, and 2 x' x w for w.
        if x.grad is None or x.grad.tolist() != [
            [sum(2 * p * r for p, r in zip(row, weights, strict=True)) for weights in right] for row in product
        ]:
            return "a gradient"
        if w.grad is None or w.grad.tolist() != [
            [sum(2 * product[i][j] * left[i][k] for i in range(2)) for j in range(2)] for k in range(3)
        ]:
            return "a gradient"
        if x.detach().transpose(0, 1).contiguous().tolist() != [list(column) for column in zip(*left, strict=True)]:
            return "a strided copy"
    return ""
