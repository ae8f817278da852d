"""Settings of all tests of polyad itself."""

from hypothesis import settings

# Examples are the same in every run, and none fails for being slow on a busy machine.
settings.register_profile("polyad", deadline=None, derandomize=True)
settings.load_profile("polyad")

# Read for examples, it would be importable as the CuPy that it stands in for.
collect_ignore = ["backends/cupy/src/standin_cudnn", "backends/cupy/src/standin_cupy"]
