"""NVIDIA's libraries that no check without a GPU can run. Each is used only where it was proved on the user's machine.

accuracy.py  how far what a fast way computed is from the safe one's
proofs.py    comparing a fast way with the safe one, and keeping what came out
wheels.py    what brings a library that was not found
cublaslt.py  matrix products in all layouts, without copies
cudnn.py     graphs of operations: convolutions, attention
"""
