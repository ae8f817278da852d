"""Weights and models that others published: shown as ``polyad.hub``, with the names of PyTorch's hub.

No file runs code when it is loaded, and nothing is downloaded behind your back: over http only by
`load_state_dict_from_url`, from the Hugging Face Hub only by its own package.

files.py     state dicts from files, folders and URLs
hubconf.py   entry points of a folder with a ``hubconf.py``, which is code that you trust
"""

from .files import (
    get_dir, load_folder, load_state_dict_from_file, load_state_dict_from_url, from_pretrained, set_dir,
)  # fmt: skip
from .hubconf import help, list, load

__all__ = [
    "from_pretrained", "get_dir", "help", "list", "load", "load_folder", "load_state_dict_from_file",
    "load_state_dict_from_url", "set_dir",
]  # fmt: skip
