"""Oblivious HTTP (RFC 9458): a `relay` in front, and a `gateway` at the end."""
