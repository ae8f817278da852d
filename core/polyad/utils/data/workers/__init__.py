"""Worker processes that read samples: what a loader with ``num_workers`` above 0 has behind it.

transport.py   messages between processes, their large parts in memory that both see
process.py     what runs in a worker
starting.py    how they are started
server.py      a fork server that does not import the main module
preloaded.py   what a fork server imports
pool.py        the workers as the loader's process sees them: started, asked, waited for, ended
failures.py    the errors of workers
info.py        what a worker knows of itself

Invariants: a worker has one connection, to its loader, and nothing else by which the two wait for each other: no lock
and no queue that a killed process could leave behind closed. A worker ends when its connection does, for whatever
reason that happens. Memory for batches has no name in any folder, so the system takes it back with the last process
that has it.
"""
