"""asv benchmarks of polyad.

To add one: a class derived from `backends.PerBackend` whose methods begin with ``time_`` or ``track_``.
"""
