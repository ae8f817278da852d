"""``python -m polyad.distributed.launch``: PyTorch's older launcher, which also passes ``--local-rank`` to the
program.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .run import launch, parser

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run what *argv* says, as `polyad.distributed.run`; the exit code."""
    options = parser("python -m polyad.distributed.launch")
    options.add_argument("--use-env", "--use_env", action="store_true", help="the rank is in the environment alone")
    chosen = options.parse_args(argv)
    if chosen.use_env:
        return launch(chosen)
    # Before the program's own arguments, where PyTorch puts it.
    given, chosen.program_args = list(chosen.program_args), []
    return launch(chosen, lambda local_rank: [f"--local-rank={local_rank}", *given])


if __name__ == "__main__":
    sys.exit(main())
