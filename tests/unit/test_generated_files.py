"""What editors read is what the declarations say."""

import polyad.nn.functional
import polyad.ops  # the declarations
from polyad.dispatch.op import PUBLIC
from polyad.ops.declaring import stubs


def test_generated_files_are_fresh() -> None:
    assert stubs.main(["--check"]) == 0, "run python -m polyad.ops.declaring.stubs"


def test_every_public_function_is_in_the_namespace() -> None:
    def shown(path: str) -> object:
        found: object = polyad
        for part in path.split("."):
            found = getattr(found, part)
        return found

    assert not [path for path, public in PUBLIC.items() if shown(path) is not public.call]
