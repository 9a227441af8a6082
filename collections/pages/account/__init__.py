"""Signing in and out, one's own password, and one's own API tokens."""
