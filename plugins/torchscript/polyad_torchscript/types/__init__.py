"""The types of TorchScript programs.

types.py         the types, and which is a part of which
annotations.py   the types that Python's annotations mean
"""
