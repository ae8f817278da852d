"""How much of an array is worked on at a time."""

CHUNK = 1 << 16
"""Elements in a chunk: many enough that a call's overhead is small beside it, few enough for the last cache level."""
