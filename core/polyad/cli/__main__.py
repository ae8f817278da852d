"""``python -m polyad.cli``: the ``polyad`` command of this very interpreter."""

import sys

from .main import main

sys.exit(main())
