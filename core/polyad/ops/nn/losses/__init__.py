"""Losses: how far predictions are from targets, as a single number or a number for each element.

A loss of elements does not broadcast its target: an (N, 1) prediction beside an (N,) target raises, where PyTorch warns
and computes an (N, N) loss. Losses of vectors (`triplet_margin_loss`, ...) broadcast batches as PyTorch's do. Class
numbers outside their range raise an IndexError where they are read.

All take PyTorch's ``size_average`` and ``reduce``, which it has deprecated, in the place of ``reduction``.

To add a loss, declare it in the module where it belongs: classification.py (class numbers), binary.py (each element a
yes or no), regression.py (numbers), ranking.py (margins between scores or distances), sequence.py.
"""
