"""The check of programs: Python's syntax tree to the typed tree.

scopes.py        the names that blocks set, and how branches join
values.py        what a name can mean
matching.py      overloads, and conversions of arguments
expressions.py   expressions; indexing.py subscripts, refinement.py conditions
statements.py    statements and functions
builtins.py      functions of the language; written.py those whose arguments are types or names
"""
