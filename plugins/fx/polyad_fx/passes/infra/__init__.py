"""Passes as objects, and what runs a list of them."""
