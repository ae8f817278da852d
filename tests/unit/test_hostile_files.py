"""A slice of the fuzzer of files: `python -m fuzz.files` reads many more, and larger ones."""

import os
import signal
import sys

import pytest

from fuzz.files.readers import READERS
from fuzz.files.running import Tally, findings, outcome

COUNT = 100


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_read_or_refused(name):
    if name == "tuning":
        pytest.importorskip("pyopencl")
    tally = Tally()
    assert list(findings(READERS[name], 0, range(COUNT), tally)) == []
    assert tally.read + tally.refused == COUNT
    assert tally.refused or name == "tuning"


class Wrong:
    """A reader that does what none may."""

    raises = (ValueError,)
    names_the_file = True

    def __init__(self, read):
        self.read = read


def fail(error):
    raise error


@pytest.mark.parametrize(
    ("read", "sort"),
    [
        (lambda path: fail(KeyError("a")), "KeyError"),
        (lambda path: fail(ValueError("something")), "names no file: ValueError"),
        (lambda path: bytearray(3 << 30), "takes over 1 GB"),
        (lambda path: fail(ValueError(f"{path} is wrong")), "refused"),
        (lambda path: path.read_bytes(), "read"),
    ],
    ids=["exception", "name", "memory", "refused", "read"],
)
def test_the_fuzzer_tells_what_is_wrong(read, sort, tmp_path):
    if sort == "takes over 1 GB" and sys.platform != "linux":
        pytest.skip("memory is limited on Linux only")
    assert outcome(Wrong(read), b"", tmp_path)[0].startswith(sort)


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_the_fuzzer_goes_on_after_the_death_of_a_reader(monkeypatch):
    from fuzz.files import running

    def outcome(reader, mutant, folder):
        if mutant == b"1":
            os.kill(os.getpid(), signal.SIGKILL)
        return "read", 0.0

    class Numbers:
        name = "numbers"

        def mutant(self, seed, number):
            return str(number).encode()

    monkeypatch.setattr(running, "outcome", outcome)
    monkeypatch.setitem(running.READERS, "numbers", Numbers())
    tally = Tally()
    found = list(findings(Numbers(), 0, range(4), tally))
    assert [(finding.sort, finding.number) for finding in found] == [("dies of SIGKILL", 1)]
    assert tally.read == 3


def test_mutants_follow_from_seed_and_number():
    reader = READERS["npz"]
    assert reader.mutant(3, 7) == reader.mutant(3, 7)
    assert len({reader.mutant(3, number) for number in range(20)}) > 15
