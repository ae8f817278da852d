"""Fuzzers: what polyad does with calls, programs and files that nobody would write.

    python -m fuzz.calls --device cpu --count 50000 --seed 0        random calls of everything that is public
    python -m fuzz.calls --count 1 --first 1157 --seed 0            one of them again
    python -m fuzz.programs --device cpu --count 2000 --seed 0      random programs, each run in several ways
    python -m fuzz.graph_passes --count 2000 --seed 0               graphs of such programs through every pass
    python -m fuzz.files --count 20000 --seed 0                     mutated files

Each prints a table of its findings by sort, with the shortest reproduction of each, and exits with 1 if there are any.
`nox -s fuzz` runs them; the folder ``tests`` must be on the path (an editable install puts it there). A slice of each
with a fixed seed runs in the default tests.

    values.py      the words of a call: tensors of every dtype, shape and layout, hostile objects
    targets.py     what is called, and a call of each that works: taken from the conformance samples
    generation.py  from such a call to random ones
    judgement.py   makes one call and says what is wrong with how it ended
    worker.py      the process in which calls are made, since some of them may kill it
    calls.py       the command: sends calls to a worker, watches its time, shortens what it finds
    programs.py    the command: random programs

A call is kept as the source of its parts, so that what is printed can be pasted. To have more values tried, add their
source to `values.HOSTILE`; a new public function needs nothing here.
"""
