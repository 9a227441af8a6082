"""Version of the numbers that this package computes."""

VERSION = 1
"""Raise it whenever any number changes: stored and cached numbers of other versions are then not taken over."""
