"""Version of the numbers that this package computes."""

VERSION = 5
"""Raise it whenever any number changes: what is remembered of other versions is not taken over."""
