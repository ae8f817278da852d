"""``python -m polyad.backends``: list the installed backends and plug-ins, and what is wrong with them."""

from __future__ import annotations

import argparse
import json
import sys

from ..inspection.diagnosis.listing import list_backends
from ..inspection.diagnosis.screen import show_listing


def main(argv: list[str] | None = None) -> int:
    """Print the listing and return 0: that a backend does not work is news, not a failure of the listing."""
    parser = argparse.ArgumentParser(
        prog="python -m polyad.backends",
        description="List the installed backends, the devices they find, what these can do, and what is wrong.",
    )
    parser.add_argument("--json", action="store_true", help="print it for programs")
    parser.add_argument(
        "--verbose", action="store_true", help="name every missing and fused kernel, and show tracebacks of what failed"
    )
    parser.add_argument(
        "--no-load", action="store_true", help="import only hook modules: say what is installed, not whether it works"
    )
    options = parser.parse_args(argv)
    listing = list_backends(load=not options.no_load)
    if options.json:
        print(json.dumps(listing.as_dict(), indent=2))
    else:
        show_listing(listing, options.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
