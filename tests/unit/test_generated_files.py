"""What editors read is what the declarations say."""

import polyad.ops  # the declarations
from polyad.ops import stubs


def test_generated_files_are_fresh() -> None:
    assert stubs.main(["--check"]) == 0, "run python -m polyad.ops.stubs"


def test_every_public_function_is_in_the_namespace() -> None:
    from polyad.dispatch.op import PUBLIC

    assert not [name for name, public in PUBLIC.items() if getattr(polyad, name) is not public.call]
