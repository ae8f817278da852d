"""Freed memory is kept for the next array, unless the user has decided otherwise."""

import os
import resource
import subprocess
import sys

import pytest

from polyad_numpy import allocator

PROGRAM = """
import resource
import polyad

x = polyad.ones(1 << 20)


def chain():
    a = x * 2
    b = a + 1
    c = b * a
    return c - b


for _ in range(5):
    chain()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    chain()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(**variables: str) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment | variables, capture_output=True, text=True, check=True
    )
    return int(run.stdout)


@pytest.mark.skipif(not hasattr(resource, "getrusage"), reason="page faults are not counted here")
def test_arrays_of_a_chain_of_ops_reuse_memory() -> None:
    if not allocator.keep_freed_memory():
        pytest.skip("malloc is not glibc's, or the user has set it")
    pages_of_one_array = 4 * (1 << 20) // resource.getpagesize()
    assert page_faults() < pages_of_one_array
    assert page_faults(POLYAD_KEEP_FREED_MEMORY="0") > 10 * pages_of_one_array


@pytest.mark.parametrize("name", [allocator.SWITCH, "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_the_user_decides(name, monkeypatch) -> None:
    monkeypatch.setenv(name, "0")
    assert not allocator.keep_freed_memory()
