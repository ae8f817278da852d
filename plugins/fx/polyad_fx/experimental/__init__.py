"""The ops that a call makes, as a graph."""
