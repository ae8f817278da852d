"""Attention.

ONNX defines its attention by a body of other operators, and that is what a program computes where a node uses more of
it than PyTorch's function has.
"""
