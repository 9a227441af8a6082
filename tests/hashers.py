"""Passwords of accounts that exist for a test."""

from accounts.hashing import SharingPasswordHasher


class FewRounds(SharingPasswordHasher):
    """As in production, but for the number of rounds, which take most of the time of a sign-in."""

    iterations = 100
