"""polyad.hub is a plug-in: without it these tests have nothing to test."""

import pytest

pytest.importorskip("polyad.hub", reason="the plug-in hub is not installed")
