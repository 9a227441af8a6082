"""Passwords of accounts that exist for a test."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class FewRounds(PBKDF2PasswordHasher):
    """As in production, but for the number of rounds, which take most of the time of a sign-in."""

    iterations = 100
