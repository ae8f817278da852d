"""Settings of all tests of polyad itself."""

from hypothesis import settings

# Examples are the same in every run, and none fails for being slow on a busy machine.
settings.register_profile("polyad", deadline=None, derandomize=True)
settings.load_profile("polyad")
