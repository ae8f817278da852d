"""polyad.vision is a plug-in: without it these tests have nothing to test."""

import pytest

pytest.importorskip("polyad.vision", reason="the plug-in vision is not installed")
