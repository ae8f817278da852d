"""The ``polyad`` command. :mod:`.main` has the parser; each command has a module of its own.

To add a command, write a module with ``add_parser(commands)`` that sets ``run`` on its parser, and name it in
``COMMANDS`` of :mod:`.main`. A command that starts another program sets ``passes_on`` to that program's name, and finds
what follows ``--`` in ``arguments.after_dashes``.
"""

from .main import main

__all__ = ["main"]
