"""Settings of all tests of polyad itself."""

import os

from hypothesis import settings

# What a process says on stderr does not depend on what earlier ones left compiled.
os.environ.setdefault("POLYAD_COMPILE_NOTICE", "0")

# Examples are the same in every run, and none fails for being slow on a busy machine.
settings.register_profile("polyad", deadline=None, derandomize=True)
settings.load_profile("polyad")

# Read for examples, it would be importable as the CuPy that it stands in for.
collect_ignore = ["backends/cupy/src/standin_cudnn", "backends/cupy/src/standin_cupy"]
