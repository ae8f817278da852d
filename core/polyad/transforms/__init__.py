"""Transforms of functions: how a call is carried out on tensors of vmap, jvp and grad. Users call `polyad.func`.

levels.py   a running transform: a mode that carries tensors of its own
wrapped.py  a transform's tensor: one whose memory is another tensor
batching/   vmap's rules: how each op works on a batch

Forward mode's level and rules are `polyad.autograd.forward_level` and the ``forward_rules`` beside it.
"""
