"""Activation functions, each in one go and with as few temporaries as NumPy allows."""
