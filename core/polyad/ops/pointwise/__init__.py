"""Ops whose every element comes from the elements at its own place: add, exp, where, real."""
