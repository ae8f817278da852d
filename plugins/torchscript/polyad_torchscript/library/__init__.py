"""`polyad.nn` in the language of programs: what scripted modules call, in operators that PyTorch has as well.

attention.py    attention of several heads, transformers
functional.py   functions of `polyad.nn.functional`: activations, dropout, normalisation, embeddings
images.py       windows, sizes, grids, poolings
losses.py       losses
tensors.py      functions of `polyad`
table.py        which function is which program
layers.py       ``forward`` of layers whose own uses more of Python than programs can

To add one, write it as a program under its name; `tests` compare it with polyad's own.
"""
