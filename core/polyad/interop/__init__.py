"""Where polyad meets other libraries' data: the only modules of core that import NumPy."""
