"""Tables of numbers that composites in core and kernels of backends share, a module a family of ops.

All are generated, by the scripts in tools/; none imports anything of polyad.
"""
