"""The typed tree as what runs.

generate.py    Python's bytecode of a function
operators.py   what carries out an operator
values.py      types at run time, errors, instances
futures.py     results of `jit.fork`
"""
