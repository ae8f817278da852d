"""Activation functions: rectifiers, functions made of straight lines, smooth ones, and softmax.

Each is a composite whose gradient is a composite of its own (``relu_backward``, ``softmax_backward``, ...), so that a
backend can do either in a single pass; what their bodies say is what a fused kernel must give. Functions that PyTorch
keeps in ``nn.functional`` alone are in that namespace here. Where PyTorch has a parameter ``inplace``, it has the same
meaning: the result is written into *input*.

To add an activation: declare the composite, its ``_backward`` composite and the gradients of both in the module where
it belongs; then the layer in ``polyad/nn``.
"""
