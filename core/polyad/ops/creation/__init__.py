"""Tensors from sizes, numbers and other people's data: zeros, arange, eye, tensor."""
