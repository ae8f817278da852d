"""Sphinx configuration: Markdown pages, furo, the reference out of docstrings; building fetches nothing.

Pages for GitHub and for the site are the same files, so links between them are relative paths to .md files.
"""

import re
import sys
from pathlib import Path

import polyad

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "polyad"
author = "The polyad authors"
copyright = "The polyad authors. Apache License 2.0"
release = version = polyad.version.polyad

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "polyad_generated",
]
exclude_patterns = ["_build", "changes"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

# In docstrings `x` is code, as it is in Markdown.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_preserve_defaults = True

html_theme = "furo"
html_logo = html_favicon = "pictures/logo.svg"
html_title = f"polyad {release}"
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def escape_any_shape(app, what, name, obj, options, lines):
    """In a shape, as in (N, *), an asterisk is any number of dimensions; reStructuredText would begin emphasis."""
    lines[:] = [re.sub(r"(?<=[(, ])\*(?=[,)]|\w+\))", r"\\*", line) for line in lines]


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", escape_any_shape)
