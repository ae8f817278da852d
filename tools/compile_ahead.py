"""Compile what typical programs need, for a wheel that brings it: ``python tools/compile_ahead.py FOLDER``.

What is typical is not listed: the training steps of ``benchmarks/peers`` run, the layers of the conformance suite, and
each op that has a native kernel, called as programs call it. What the plug-in gives to the compiler meanwhile is noted,
and compiled again for each level of processors in `polyad_native.ahead`. Set POLYAD_KERNELS_AHEAD to the folder to
build a wheel with it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from platform import machine
from typing import Any

import polyad
import polyad_native.ahead
from polyad import bfloat16, float32, float64, int64
from polyad.backend.c_compiler import Libraries
from polyad.base import provided
from polyad.dispatch.catalogue import OPS
from polyad.errors import PolyadError
from polyad_conformance.checks.modules import as_tensors, draw, tensors_in
from polyad_conformance.modules import ModuleSample, module_samples
from polyad_native.choosing import LEAST
from polyad_native.compiler import VECTOR_TEST, libraries, vector_math
from polyad_native.measured import least_elements

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "peers"))
from programs import PROGRAMS
from workloads import OPS as WORKLOADS, OPTIMIZERS, TRAINING

Noted = dict[str, tuple[str, tuple[str, ...], str]]
"""By key: a source, its flags, and what it is for."""


def noting(noted: Noted) -> Callable[..., bytes]:
    """In place of `Libraries.compiled`: keeps what it is asked for in *noted*."""
    compiled = Libraries.compiled

    def note(self: Libraries, source: str, what: str, extra: tuple[str, ...] = (), *soon: Any) -> bytes:
        flags = (*self.flags, *extra)
        if not what.startswith("a test"):  # of the compiler
            noted[polyad_native.ahead.key(source, flags)] = source, flags, what
        return compiled(self, source, what, extra, *soon)

    return note


def calls() -> Iterator[Callable[[], Any]]:
    """What programs call: programs, workloads, layers, and each op by the ways in which its name can be called."""
    for program in PROGRAMS.values():
        yield lambda program=program: program(polyad)
    for workload in (*TRAINING.values(), *WORKLOADS.values(), *OPTIMIZERS.values()):
        step = workload(polyad)
        yield step
        yield step
        yield lambda step=step: in_bfloat16(step)
    for sample in module_samples():
        yield lambda sample=sample: layer(sample)
    functional = polyad.nn.functional
    for name, primitive in generated():
        function = getattr(polyad, name, None) or getattr(functional, name, None)
        for dtype in (float32, bfloat16, float64, int64) if function is not None else ():
            real = dtype in (float32, bfloat16)
            if not real and not primitive:
                continue
            x = polyad.rand(64, 64).mul(4).to(dtype)
            for operands in ((x,), (x, x), (x, 2), (x, x[0])) if dtype is float32 else ((x,), (x, x)):
                yield lambda function=function, operands=operands: function(*operands)
                if real:
                    yield lambda function=function, operands=operands: gradient(function, operands)
    x = polyad.rand(64, 64)
    for dtype in (polyad.bfloat16, polyad.float16, float64, int64, polyad.bool):
        y = x.to(dtype)
        yield lambda y=y: y.to(float32)
        yield lambda y=y: y + y
        yield lambda y=y: y @ y
    for name in ("sum", "mean", "amax", "amin", "var"):
        for dims in ((0,), (1,), (0, 1)):
            yield lambda name=name, dims=dims: getattr(x, name)(dims)
    for name in ("softmax", "log_softmax"):
        for dim in (0, 1):
            yield lambda name=name, dim=dim: getattr(x, name)(dim)


def generated() -> Iterator[tuple[str, bool]]:
    """The ops whose kernels are generated, and whether they have no body."""
    for name in sorted(OPS.names()):
        kind = provided.generated_kind(name)
        if kind and least_elements(name, kind) is not None:
            yield name, kind == "primitive"


def in_bfloat16(step: Callable[[], Any]) -> None:
    """A step by autocast."""
    with polyad.autocast("cpu", bfloat16):
        step()


def layer(sample: ModuleSample) -> None:
    """A layer forward and backward."""
    inputs = as_tensors(draw(sample, sample.inputs, 0), float32, "cpu", requires_grad=sample.gradient)
    for result in tensors_in(sample.run(polyad, sample.build(polyad), inputs)):
        if result.requires_grad:
            result.sum().backward(retain_graph=True)


def gradient(function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    """Backward through *function*."""
    first, *others = (x.detach().clone().requires_grad_() if isinstance(x, polyad.Tensor) else x for x in operands)
    function(first, *others).sum().backward()


def main() -> None:
    """Fill the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    os.environ[LEAST] = "0"  # whatever the sizes
    noted: Noted = {}
    Libraries.compiled = noting(noted)  # type: ignore[method-assign]
    began = time.perf_counter()
    for call in calls():
        with suppress(PolyadError, TypeError, AttributeError):  # a way in which this op is not called
            call()
    levels = polyad_native.ahead.LEVELS[machine()]
    print(f"{len(noted)} sources noted in {time.perf_counter() - began:.0f} s; compiling for {', '.join(levels)}")

    native = libraries()
    test, flags, what = VECTOR_TEST, (*native.flags, *vector_math()), "the trial"
    jobs = [(*job, f"{name}.so") for name, job in noted.items()] + [(test, flags, what, polyad_native.ahead.TRIAL)]

    def compile(level: str, job: tuple[str, tuple[str, ...], str, str]) -> int:
        source, flags, what, name = job
        target = [f"-march={level}" if flag.startswith(("-march=", "-mcpu=")) else flag for flag in flags]
        return (folder / level / name).write_bytes(native.built(source, (*target, "-s"), what))

    began = time.perf_counter()
    for level in levels:
        (folder / level).mkdir(parents=True)
        (folder / level / polyad_native.ahead.FLAGS).write_text(" ".join(vector_math()), encoding="utf-8")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            sizes = list(pool.map(lambda job: compile(level, job), jobs))  # noqa: B023 - done before the next level
        print(f"{level}: {len(sizes)} libraries, {sum(sizes) / 1e6:.1f} MB, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
