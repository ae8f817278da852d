"""Tables of numbers that composites in core and kernels of backends share, a module a family of ops.

Those of special functions are generated, by the scripts in tools/. None imports anything of polyad.
"""
