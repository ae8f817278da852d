"""The operators of TorchScript.

schemas.py   their signatures, read from schemas.txt
native.py    signatures of polyad's functions that are no operators
"""
