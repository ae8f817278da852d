"""What ``polyad doctor`` says: versions, the listing of backends, and a short self-test of each device.

The self-test trains nothing and compares with nothing but arithmetic that it can do itself in Python: a small matrix
product, its gradients, a copy to the host and back, a strided copy.
"""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from ..backend.registry import get_default_device
from ..errors import PolyadError
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


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What `doctor` found. Prints as a text.

    Attributes:
        versions: of Python, the system, polyad and what it depends on.
        listing: what `list_backends` says.
        tests: a self-test for each device.
        default_device: where tensors go that are given no device; empty if `default_problem` says why there is none.
    """

    versions: dict[str, str]
    listing: Listing
    tests: tuple[SelfTest, ...]
    default_device: str = ""
    default_problem: str = ""

    @property
    def problems(self) -> list[str]:
        """What is wrong, a line each."""
        found = [f"{backend.name}: {backend.problem}" for backend in self.listing if backend.problem]
        found += [f"plug-in {plugin.name}: {plugin.problem}" for plugin in self.listing.plugins if plugin.problem]
        found += [f"default device: {self.default_problem}"] if self.default_problem else []
        return found + [f"{test.device}: {test.problem}" for test in self.tests if not test.ok]

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
        terminal.print(Text(f"default device: {self.default_device or self.default_problem}"))
        terminal.print(Text(self.verdict, "green" if self.exit_status == 0 else "bold red"))

    def __str__(self) -> str:
        tests = []
        for test in self.tests:
            tests.append(labelled(test.device, f"ok in {test.seconds:.2f} s" if test.ok else f"FAILED: {test.problem}"))
            if test.fix:
                tests.append(labelled("fix", test.fix))
        parts = [
            "\n".join(["versions", *(labelled(name, version) for name, version in self.versions.items())]),
            text_of_listing(self.listing),
            f"default device: {self.default_device or self.default_problem}",
            "\n".join(["self-test (matrix product, backward, copies)", *tests]),
            self.verdict,
        ]
        return "\n\n".join(parts)


def doctor() -> DoctorReport:
    """Versions, every backend and plug-in, and a self-test of every device that was found.

    >>> import polyad
    >>> polyad.backends.doctor().tests[0].device
    'cpu'
    """
    listing = list_backends()
    tests = tuple(_self_test(device.name) for backend in listing for device in backend.devices)
    try:
        return DoctorReport(_versions(), listing, tests, default_device=str(get_default_device()))
    except PolyadError as error:
        return DoctorReport(_versions(), listing, tests, default_problem=" ".join(str(error).split()))


def _versions() -> dict[str, str]:
    from .._version import __version__

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
    from ..backend.fallback import using_policy
    from ..history.grad_mode import enable_grad
    from ..ops.creation.factories import tensor

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
