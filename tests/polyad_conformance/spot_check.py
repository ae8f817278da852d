"""A few seconds' look at each family of ops on a device: what ``polyad doctor --device DEVICE`` shows.

One sample an op and one dtype: values in all layouts, and the gradient. Each package of ops gets the same share of the
time. The whole suite is what proves a backend; this tells a user within seconds what is wrong with a machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, zip_longest

from polyad.backends import FamilyTest, cudnn
from polyad.base.dtypes import DType, float32

from .calls import Target, UnsupportedByDeclaration
from .checks.gradients import check_gradient, gradient_dtypes
from .checks.values import check_values
from .sample import Sample
from .samples import families


def spot_check(device: str, seconds: float = 10.0) -> list[FamilyTest]:
    """Test ops of every family on *device* until *seconds* have passed; the first op of each is tested in any case.

    An op that runs on the host for want of a kernel counts as tested: the listing says which these are.

    >>> [test.problems for test in spot_check("cpu", 0.0) if test.problems]
    []
    """
    declared = Target(device).dtypes
    leaves: dict[str, list[list[tuple[Sample, DType]]]] = {}
    for name, (samples, _) in families().items():
        leaves.setdefault(name.partition(".")[0], []).append(list(_firsts(samples, declared)))
    found = [FamilyTest(package, sum(map(len, listed))) for package, listed in leaves.items()]
    # A turn takes the next op of each module of the package.
    waiting = [filter(None, chain.from_iterable(zip_longest(*listed))) for listed in leaves.values()]
    left = list(zip(found, waiting))
    end = time.perf_counter() + seconds
    while left:
        entry = test, ops = min(left, key=lambda entry: entry[0].seconds)
        over = test.tested and time.perf_counter() >= end
        following = None if over else next(ops, None)
        if following is None:
            left.remove(entry)
        else:
            _look(test, *following, device)
    return found


def _look(test: FamilyTest, sample: Sample, dtype: DType, device: str) -> None:
    """Test one sample and write down in *test* how it went."""
    begin = time.perf_counter()
    try:
        with cudnn.flags(enabled=True, allow_tf32=False):
            check_values(sample, dtype, Target(device))
            if dtype in gradient_dtypes(sample):
                check_gradient(sample, dtype, Target(device))
    except UnsupportedByDeclaration:
        test.ops -= 1
    except Exception as error:
        test.problems[sample.op] = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        test.tested.append(sample.op)
    else:
        test.tested.append(sample.op)
    test.seconds += time.perf_counter() - begin


def _firsts(samples: list[Sample], declared: frozenset[DType]) -> Iterator[tuple[Sample, DType]]:
    """For each op the first sample that the device's dtypes allow, and the dtype: float32 where that is possible."""
    seen = set()
    for sample in samples:
        possible = [dtype for dtype in sample.dtypes if dtype in declared]
        if possible and sample.op not in seen:
            seen.add(sample.op)
            yield sample, float32 if float32 in possible else possible[-1]
