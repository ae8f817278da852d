"""Device "tier0": memory, and not one kernel. What runs on it runs on the host, as far as the user allows, counted.

plugin.py    hooks
backend.py   the ten methods that every backend must have
"""
