"""Files that nobody vouches for: mutants of good files, given to every reader of polyad.

    python -m fuzz.files --count 20000 --seed 0 --reader npz        (with tests/ on PYTHONPATH)

mutations.py    bytes, JSON, zip archives and arrays' headers made wrong
readers.py      each reader, its good files, its own mutations, and what it may raise
running.py      a process that reads, watched by a process that counts findings

A finding is an exception that the reader does not document, an error that does not name the file, more than a gigabyte
of memory, more than five seconds, or the death of the process. A mutant is known by reader, seed and number: it is made
again with `--only NUMBER`.

To add a reader, add a row to `readers.READERS`.
"""
