"""Pooling: a number from each window of an image, over one to three spatial dimensions.

    maximum       max_pool1d to 3d
    average       avg_pool1d to 3d, lp_pool1d to 3d
    adaptive      windows chosen so that the result has a given size
    fractional    windows at random places
    unpooling     maxima put back where they were

Canonical form: input (N, C, *spatial); kernel, stride, padding and dilation have a number for each spatial dimension.
Of equal maxima the first in row-major order is taken, and the last NaN if there is any.
"""
