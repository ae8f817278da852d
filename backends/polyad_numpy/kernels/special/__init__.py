"""Special functions, which NumPy has no ufuncs for."""
