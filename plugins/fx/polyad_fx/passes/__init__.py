"""Passes over graphs: shapes of nodes, modules split in parts."""
