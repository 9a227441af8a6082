"""Guarantees, and the computations that they come from."""
