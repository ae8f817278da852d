"""The suite that is installed with polyad, against this device. Once every primitive has a kernel, drop the option."""

from polyad.cli import main


def test_conformance():
    assert main(["conformance", "template", "--allow-fallback"]) == 0
