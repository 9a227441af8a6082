"""Ours tried against software that is not ours: README.md."""
