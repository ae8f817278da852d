"""Traces: captured graphs as programs.

tracing.py      what is captured, and compared afterwards
program.py      a program of graphs: a class for each submodule
regions.py      which nodes each call of a submodule made
body.py         the lines of a method
spelling.py     how each op is written, layers.py what layers compute, text.py literals
functions.py    functions that readers without polyad's ops need
"""
