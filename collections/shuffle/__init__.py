"""Shuffled collections: a `shuffler` that mixes messages, and an `analyzer` that counts them."""
