"""Reading and writing the user's files, and errors that say what to do.

trouble.py     what the operating system refuses, in the house style; paths that can be none
reading.py     a file open for reading; how much a packed file may grow to
writing.py     writes that replace a file whole or not at all, and leave nothing behind
remote.py      the same by URL
json_text.py   JSON of which nobody says that it is small, flat or honest
compiled.py    the folders in which devices keep what they compiled

Invariant: every OSError about a file of the user's leaves here as the same builtin type, in the house style, with
``errno`` and ``filename`` set.
"""

from __future__ import annotations

from .json_text import parsed, read_json
from .reading import opened, unpacked_at_most
from .remote import beside, is_remote, local_path
from .trouble import FileForbidden, FileIsDirectory, FileMissing, FileTrouble, checked_path, trouble
from .writing import replacing

__all__ = [
    "FileForbidden", "FileIsDirectory", "FileMissing", "FileTrouble", "checked_path", "opened", "parsed", "read_json",
    "replacing", "trouble", "unpacked_at_most", "beside", "is_remote", "local_path",
]  # fmt: skip
