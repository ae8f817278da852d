"""Makes pytest import the library before it collects one of its modules.

pytest's importlib mode executes a module again if importing its package has executed it already, and an op may not be
declared twice; with the package in place it takes the modules that are there.
"""

import polyad  # noqa: F401
