"""What is scripted: functions, classes, modules, and what the names of Python mean in them.

resolving.py    the names of a Python function
namespaces.py   polyad's own functions and modules among them
program.py      what has been scripted
functions.py    `ScriptFunction` and methods
classes.py      classes and interfaces
recursive.py    modules; containers.py submodules as programs see them
marks.py        what decorators leave
"""
