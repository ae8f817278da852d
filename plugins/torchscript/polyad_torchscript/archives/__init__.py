"""TorchScript archives, PyTorch's and polyad's own, read and written. Nothing that a file holds is run to load it.

container.py    the file: texts, pickles, what is beside
objects.py      what pickles hold: objects of the program's classes, as data
names.py        what names mean in the texts; functions.py ops of polyad's that programs have as text
unit.py         the texts, checked
building.py     the module that a program makes
describing.py   the program of a module; scripted.py of one that was scripted
writing.py      a program as a file's members
files.py        save and load
"""
