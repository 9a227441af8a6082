"""Attacks that once worked, made again: one module each, which says what was possible and what holds now."""
