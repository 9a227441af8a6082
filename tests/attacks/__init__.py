"""Attacks on an installation, one module each: README.md."""
